# SPDX-License-Identifier: MIT
"""float32 RNN, GRU and LSTM: the products of a step as fully connected layers, 16 sums at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.contract.call import Call, computed
from aidge_build.contract.kernel_kit.recurrent import real_rows, real_spec, recurrent_call
from aidge_build.contract.kernel_kit.recurrent_layer import Driver, Section, sections, source_of, sums_of
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands

from ..core.conditions import MVE
from .curve import NAME, curve_text
from .strip import FIELDS, SLACK, WIDE, Strip, stream_of


def _driver(strips: Sequence[Strip]) -> Driver:
    def product(number: int, section: Section) -> str:
        source, count = source_of(section)
        return (
            f"aidge_helium_row_strip_float32(strip, {source}, numbers, {count}, {section.gates} * hidden);\n                "
            f"{strips[number].name}(strip, {section.sums}, stream + places->starts[{number}]);"
        )

    return Driver(
        prefix="aidge_helium",
        form="_".join(["float32", *dict.fromkeys(strip.suffix for strip in strips)]),
        element="float",
        stream="float",
        take="aidge_helium_strip_float32 *const strip = (aidge_helium_strip_float32 *)scratch;\n                "
        "(void)memcpy(x, data + time * shape->x_time + batch * shape->x_batch, (uint32_t)shape->inputs * sizeof *x);",
        x_floats="shape->inputs",
        keep="",
        curve=NAME,
        product=product,
        head=len(FIELDS),
    )


@kernel(("RNN", "GRU", "LSTM"), real_spec(MVE))
class RecurrentFloat32(KernelNode):
    @classmethod
    def demands(cls, view) -> Demands:
        operator = view.operator
        return Demands(scratch_bytes=4 * (view.inputs[0].dims[2] + operator.hidden + sums_of(operator) + len(FIELDS)))

    def call(self) -> Call:
        strips = [Strip.of(1, len(part.biases[0]), False, False, WIDE) for part in sections(self.operator)]
        texts = (*dict.fromkeys(strip.text() for strip in strips), curve_text())
        return recurrent_call(
            self,
            _driver(strips),
            self._stream,
            ("float32/recurrent.h",),
            texts,
            facts=computed("16 sums"),
        )

    def _stream(self, section: Section, direction: int) -> numpy.ndarray:
        return numpy.concatenate([stream_of(*real_rows(self, section, direction), WIDE), SLACK])
