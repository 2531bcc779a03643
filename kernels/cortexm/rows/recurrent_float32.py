# SPDX-License-Identifier: MIT
"""float32 RNN, GRU and LSTM: the products of a step as fully connected layers, weights streamed once, 8 sums at a time."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Call, computed
from aidge_build.contract.kernel_kit.recurrent import real_rows, real_spec, recurrent_call
from aidge_build.contract.kernel_kit.recurrent_layer import Driver, Section, source_of, sums_of
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands

from ..core.curve import NAME, curve_text
from ..core.float32 import Limits, stream_of
from ..sums.fc_float32 import OUTPUTS, row_text


def _product(number: int, section: Section) -> str:
    source, count = source_of(section)
    return (
        f"aidge_cortexm_row_of_fc_float32({source}, {section.sums}, stream + places->starts[{number}], "
        f"{count}, stream + places->starts[{number + 1}], numbers);"
    )


DRIVER = Driver(
    prefix="aidge_cortexm",
    form="float32",
    element="float",
    stream="int32_t",
    take="aidge_cortexm_copy_floats(x, data + time * shape->x_time + batch * shape->x_batch, shape->inputs);",
    x_floats="shape->inputs",
    keep="",
    curve=NAME,
    product=_product,
    copy="aidge_cortexm_copy_floats",
)


@kernel(("RNN", "GRU", "LSTM"), real_spec(frozenset({"dsp", "fpu"})))
class RecurrentFloat32(KernelNode):
    assembly = "needed"

    @classmethod
    def demands(cls, view) -> Demands:
        operator = view.operator
        return Demands(scratch_bytes=4 * (view.inputs[0].dims[2] + operator.hidden + sums_of(operator)))

    def call(self) -> Call:
        texts = (row_text(Limits(-math.inf, math.inf))[1], curve_text())
        return recurrent_call(self, DRIVER, self._stream, ("rows/recurrent.h",), texts, facts=computed("8 sums"))

    def _stream(self, section: Section, direction: int) -> numpy.ndarray:
        return stream_of(*real_rows(self, section, direction), OUTPUTS)
