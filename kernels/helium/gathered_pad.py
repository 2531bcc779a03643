# SPDX-License-Identifier: MIT
"""Pad that repeats elements: rows, or whole images, a vector of elements at a time, from a table of places as Gather has it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.moves import places_of
from aidge_build.contract.kernel_kit.runs import runs_spec
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import Format

from .assembly import c_function
from .conditions import MVE
from .gather import WIDEST, Form

MOST = 512  # entries of a table


@dataclass(frozen=True)
class Parts:
    """The axes in storage order: `images`, which are copied as they are, `rows`, whose places are a list, and those of a row."""

    images: tuple[int, ...]
    rows: tuple[int, ...]
    row: tuple[int, ...]

    @classmethod
    def of(cls, view: NodeView, form: Format) -> Parts | None:
        """As much in a row as one table holds; None where that is no padded axis."""
        operator, order, dims = view.operator, form.order, view.outputs[0].dims
        padded = [bool(operator.pads_begin[axis] or operator.pads_end[axis]) for axis in order]
        if True not in padded:
            return None
        first = split = padded.index(True)
        while math.prod(dims[axis] for axis in order[split:]) > MOST:
            split += 1
        rows = math.prod(dims[axis] for axis in order[first:split])
        return cls(order[:first], order[first:split], order[split:]) if any(padded[split:]) and rows <= MOST else None


def _unfit(view: NodeView) -> str:
    (source,), (target,) = view.inputs, view.outputs
    if view.operator.mode == "constant" or source.dtype.size_bytes not in (1, 2, 4) or not 0 < source.elements:
        return "no elements of 1, 2 or 4 bytes are repeated"
    for form in target.orders:
        parts = Parts.of(view, form)
        if parts is None or math.prod(source.dims[axis] for axis in parts.row) > WIDEST:
            return f"no {MOST} places hold a row, or there are more rows"
    return ""


@kernel("Pad", runs_spec(DType.any_1, Predicate(f"repeated elements at no more than {MOST} places", _unfit), features=MVE))
class GatheredPad(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(bands=False)  # the tables follow from the rows

    def call(self) -> Call:
        (source,), (target,) = self.inputs, self.outputs
        parts = Parts.of(self.view, target.storage)
        assert parts is not None
        images = math.prod(target.dims[axis] for axis in parts.images)
        rows, places = self._places(parts.rows), self._places(parts.row)
        form = Form.of(source.dtype.size_bytes, math.prod(source.dims[axis] for axis in parts.row))
        table = Constant("places", places.astype(f"u{form.place_bits // 8}"))
        facts = computed(f"{128 // form.lane_bits} elements")
        if not parts.rows:
            sizes = map(Literal, (images, source.elements // images, places.size))
            return Call(form.name, ("mve.h",), (Input(0), Output(0), table, *sizes), texts=(form.text(),), facts=facts)
        name, size = f"{form.name}_rows", source.dtype.size_bytes
        offsets = Constant("rows", (rows * size).astype(numpy.int32))
        sizes = map(Literal, (images, source.size_bytes // images, rows.size, places.size))
        texts = (form.text(), _rows_text(name, form, size))
        return Call(name, ("mve.h",), (Input(0), Output(0), table, offsets, *sizes), texts=texts, facts=facts)

    def _places(self, axes: tuple[int, ...]) -> numpy.ndarray:
        """Of the elements along these axes, in elements of the source."""
        found, strides, places = numpy.zeros(1, numpy.int64), self.inputs[0].layout.strides, places_of(self.view)
        for axis in axes:
            found = numpy.add.outer(found, places[axis] * strides[axis]).ravel()
        return found


def _rows_text(name: str, form: Form, size: int) -> str:
    return "/* The same of rows, which begin at so many bytes. */\n" + c_function(
        name,
        f"const void *data, void *output, const uint{form.place_bits}_t *places, const int32_t *rows, "
        "int32_t images, int32_t image, int32_t height, int32_t count",
        [
            "const uint8_t *x = (const uint8_t *)data;",
            "uint8_t *y = (uint8_t *)output;",
            "int32_t row;",
            "for (; images > 0; images--) {",
            "    for (row = 0; row < height; row++) {",
            f"        {form.name}(x + rows[row], y, places, 1, 0, count);",
            f"        y += {f'{size} * ' * (size > 1)}count;",
            "    }",
            "    x += image;",
            "}",
        ],
    )
