# SPDX-License-Identifier: MIT
"""Operators that copy elements of the input, or write a constant: the input positions for each axis of the output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input
from aidge_build.contract.kernel_kit.runs import FILL, ROWS, Copying, has_rows
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.operators.arithmetic.requantize import quantize
from aidge_build.operators.base import Operator


def _of_pad(operator, axis: int, size: int) -> numpy.ndarray:
    """Returns the positions for any mode; negative pads cut."""
    begin, end = operator.pads_begin[axis], operator.pads_end[axis]
    given = numpy.arange(max(0, -begin), size - max(0, -end))
    filled = {"constant_values": FILL} if operator.mode == "constant" else {}
    return numpy.pad(given, (max(0, begin), max(0, end)), operator.mode, **filled)


def _of_tile(operator, axis: int, size: int) -> numpy.ndarray:
    return numpy.tile(numpy.arange(size), operator.repeats[axis])


def _of_resize(operator, axis: int, size: int) -> numpy.ndarray:
    """Returns the positions of the nearest elements (`NEAREST`)."""
    indices, weights = operator.taps(axis, size)
    return numpy.take_along_axis(indices, weights.argmax(axis=1)[:, None], 1)[:, 0]


PLACES: Mapping[str, Callable[[Operator, int, int], numpy.ndarray]] = {
    "Pad": _of_pad,
    "PadByInput": _of_pad,
    "Resize": _of_resize,
    "Tile": _of_tile,
}
MOVES = ("Pad", "Resize", "Tile")


def places_of(view: NodeView) -> list[numpy.ndarray]:
    """Returns for each axis of the output the positions in the input, or FILL."""
    return [PLACES[view.node.type](view.operator, axis, size) for axis, size in enumerate(view.inputs[0].dims)]


def block_axes(view: NodeView) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Returns the sizes of the six axes of DepthToSpace and SpaceToDepth, and their strides in the input and in the output, in
    elements."""
    (source,), (target,), operator = view.inputs, view.outputs, view.operator
    to_space, size = view.node.type == "DepthToSpace", operator.size
    deep, wide = (source, target) if to_space else (target, source)
    batch, channels, height, width = deep.dims
    rest = channels // size**2
    # Axes: batch, rest, row of the block, column of the block, height, width.
    each, channel, row, column = deep.layout.strides
    first = (channel, size * rest * channel, rest * channel)
    inner = first if operator.depth_first else (size * size * channel, size * channel, channel)
    deep_steps = (each, *inner, row, column)
    each, channel, row, column = wide.layout.strides
    wide_steps = (each, channel, row, column, size * row, size * column)
    steps = (deep_steps, wide_steps) if to_space else (wide_steps, deep_steps)
    return (batch, rest, size, size, height, width), *steps


class MoveNode(KernelNode):
    """An operator of `PLACES`; a library's subclass names its `copying`."""

    copying: ClassVar[Copying]

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(bands=view.outputs[0].rank > ROWS and has_rows(view, places_of(view)))

    def fill(self) -> Argument:
        """Returns the element for places that are FILL. If no place is FILL, it is never read, and the input is passed
        instead."""
        if getattr(self.operator, "mode", "") != "constant":
            return Input(0)
        (target,), value = self.outputs, numpy.array([self.operator.value])
        if target.quantization is not None:
            value = quantize(value.astype(numpy.float32), target.quantization, target.dtype)
        return Constant("value", value.astype(target.dtype.numpy))

    def call(self) -> Call:
        return self.copying.call(self, places_of(self.view), self.fill())


def weighted(view: NodeView) -> str:
    """Returns why elements of a Resize are not just elements of its input; "" if they are."""
    if view.node.type != "Resize":
        return ""
    if view.operator.mode != "nearest":
        return f"mode is {view.operator.mode}"
    return "places outside get a value of their own" if view.operator.coordinates == "tf_crop_and_resize" else ""


NEAREST = Predicate("each element is one of the input", weighted)
