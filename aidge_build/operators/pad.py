# SPDX-License-Identifier: MIT
"""Padding, and cutting with negative pads."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy

from aidge_build.operators.axes import counted_axes
from aidge_build.operators.bands import ROWS, band_of_rows, resized
from aidge_build.operators.base import TensorType, require
from aidge_build.operators.kinds import Moved
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers

MODES = ("constant", "reflect", "edge", "wrap")
LARGEST = 1 << 24


@operator("Pad")
class Pad(Moved):
    """Elements before and after each axis; negative pads cut. Source: ONNX operator Pad, with constant pads and value."""

    moves: ClassVar = True

    pads_begin: tuple[int, ...] = ()
    pads_end: tuple[int, ...] = ()
    mode: str = "constant"
    value: float = 0.0

    @classmethod
    def from_onnx(cls, source):
        data = source.input(0)
        computed = False
        if source.opset < 11:
            source.expect_attributes("mode", "pads", "value")
            pads, value, axes = source.integers("pads"), source.real("value", 0.0), None
        else:
            source.expect_attributes("mode")
            computed = source.optional_input(2) is not None and not source.input(2).is_constant
            pads, value = source.constant_integers(1), 0 if computed else _value(source.optional_constant(2))
            axes = source.constant_integers(3) if source.optional_input(3) is not None else None
        axes = counted_axes(range(data.rank) if axes is None else axes, data.rank)
        require(len(pads) == 2 * len(axes), f"{len(pads)} pads for {len(axes)} axes")
        require(all(abs(pad) < LARGEST for pad in pads), f"the pads {list(pads)}: each must be below {LARGEST}")
        begin, end = [0] * data.rank, [0] * data.rank
        for place, axis in enumerate(axes):
            begin[axis], end[axis] = pads[place], pads[len(axes) + place]
        mode = source.text("mode", "constant")
        require(mode in MODES, f"mode {mode!r} is not supported", f"supported are {', '.join(MODES)}")
        if computed and mode == "constant":
            return PadByInput(tuple(begin), tuple(end), mode), (source.input_names[0], source.input_names[2])
        return cls(tuple(begin), tuple(end), mode, value), source.input_names[:1]

    def infer(self, inputs):
        (data,) = inputs
        dims = tuple(size + begin + end for size, begin, end in zip(data.dims, self.pads_begin, self.pads_end))
        require(all(size >= 0 for size in dims), f"the negative pads cut more than {list(data.dims)} has")
        for size, *pads in zip(data.dims, self.pads_begin, self.pads_end):
            left = size + sum(min(0, pad) for pad in pads)
            require(
                self.mode != "reflect" or max(pads) < max(left, 1),
                f"mode reflect: the pads {pads} reach beyond the axis of length {left}",
            )
            require(self.mode == "constant" or max(pads) <= 0 or left > 0, f"mode {self.mode}: the axis has no element")
        return (TensorType(dims, data.dtype),)

    def band(self, inputs, outputs, first, last):
        if len(self.pads_begin) <= ROWS or self.mode != "constant" and (self.pads_begin[ROWS] > 0 or self.pads_end[ROWS] > 0):
            return None
        begin, end = first - self.pads_begin[ROWS], last - self.pads_begin[ROWS]
        low, high = max(0, begin), min(inputs[0].dims[ROWS], end)
        if low >= high:  # nothing but pads
            return None
        pads = resized(self.pads_begin, low - begin), resized(self.pads_end, end - high)
        return band_of_rows(replace(self, pads_begin=pads[0], pads_end=pads[1]), inputs, outputs, (low, high))

    def forward(self, data):
        cut = tuple(
            slice(max(0, -begin), size - max(0, -end)) for size, begin, end in zip(data.shape, self.pads_begin, self.pads_end)
        )
        pads = tuple((max(0, begin), max(0, end)) for begin, end in zip(self.pads_begin, self.pads_end))
        more = {"constant_values": self.value} if self.mode == "constant" else {}
        return numpy.pad(data[cut], pads, self.mode, **more)

    def number_places(self, data):
        return (replace(self, value=0).forward(data),)

    @classmethod
    def samples(cls):
        given = numbers(3, 4)
        return (
            *(Sample(cls((1, 2), (2, 0), mode), (given,)) for mode in MODES),
            Sample(cls((-1, 1), (0, -2), value=1.5), (given,)),
        )


class PadByInput(Pad):
    """Pad with a value that is computed at run time (input 1). Replaces Pad."""

    def infer(self, inputs):
        data, value = inputs
        require(value.elements == 1, f"the pad value has {value.elements} elements, wants one")
        return super().infer((data,))

    def forward(self, data, value):
        return replace(Pad(self.pads_begin, self.pads_end), value=value.reshape(()).item()).forward(data)

    def number_places(self, data, value):
        return (self.forward(data, numpy.zeros(1)),)

    def backward(self, gradients, inputs, outputs):
        by_data, _ = super().backward(gradients, inputs, outputs)
        (kept,) = self.number_places(numpy.ones(inputs[0].shape), inputs[1])
        return by_data, (gradients[0] * (kept == 0)).sum().reshape(inputs[1].shape)

    @classmethod
    def samples(cls):
        return (Sample(cls((1, -1), (2, 1)), (numbers(3, 4), numpy.array([0.7]))),)


def _value(values: numpy.ndarray | None):
    if values is None:
        return 0
    require(values.size == 1, f"the pad value has {values.size} elements, wants one")
    return values.reshape(()).item()
