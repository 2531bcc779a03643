# SPDX-License-Identifier: MIT
"""The struct of kit/window2d.h: a window over one or two spatial axes (one axis is an image of height 1)."""

from __future__ import annotations

import math

from aidge_build.contract.call import Struct
from aidge_build.contract.spec import NodeView
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.window import Window


def is_pointwise(window: Window) -> bool:
    """Whether each output position sees the input at the same position only."""
    return set(window.kernel) == set(window.strides) == {1} and not window.has_pads


def window_of_layer(view: NodeView) -> Window:
    """Returns the window; for a band the window of the whole layer, so that all bands agree on whether it has pads."""
    return (view.layer.whole if view.layer else view).operator.window


def two_axes(
    data: Tensor, output: Tensor, window: Window, numbers: tuple[int, ...], missing: int, is_upright: bool = False
) -> tuple[int, int]:
    """Returns the number for each of the two axes of the struct; `missing` for an axis that the window does not have.

    Axes of length 1 go first, unless `is_upright`: the inner loops then run over the axis that has taps. The stored bytes are the
    same.
    """
    axes = [
        index
        for index in range(window.rank)
        if (data.dims[2 + index], output.dims[2 + index], window.kernel[index], window.pads_begin[index]) != (1, 1, 1, 0)
    ]
    order = [0, *range(1, window.rank), None][:2] if is_upright else [None] * (2 - len(axes)) + axes
    first, second = (missing if axis is None else numbers[axis] for axis in order)
    return first, second


def window2d(data: Tensor, output: Tensor, window: Window, groups: int = 1, is_upright: bool = False) -> Struct:
    """Returns the shape of a sliding window over `data` [N, C, (H,) W]; `is_upright`: axis 2 is the height, whatever the
    width."""

    def pair(numbers: tuple[int, ...], missing: int) -> tuple[int, int]:
        return two_axes(data, output, window, numbers, missing, is_upright)

    in_dims, out_dims = pair(data.dims[2:], 1), pair(output.dims[2:], 1)
    kernel, strides = pair(window.kernel, 1), pair(window.strides, 1)
    dilations, pads = pair(window.dilations, 1), pair(window.pads_begin, 0)
    return Struct(
        "aidge_kit_window2d",
        {
            "batches": data.dims[0],
            "in_height": in_dims[0],
            "in_width": in_dims[1],
            "in_channels": data.dims[1],
            "out_height": out_dims[0],
            "out_width": out_dims[1],
            "out_channels": output.dims[1],
            "kernel_height": kernel[0],
            "kernel_width": kernel[1],
            "stride_height": strides[0],
            "stride_width": strides[1],
            "dilation_height": dilations[0],
            "dilation_width": dilations[1],
            "pad_top": pads[0],
            "pad_left": pads[1],
            "groups": groups,
        },
    )


def window_or_row(view: NodeView) -> Struct:
    """Returns the window of a convolution; a pointwise layer is one row of pixels, so that no block of them ends at the end of a
    row."""
    data, (output,), operator = view.inputs[0], view.outputs, view.operator
    shape = window2d(data, output, operator.window, operator.groups)
    if not is_pointwise(operator.window):
        return shape
    pixels = shape.fields["batches"] * shape.fields["in_height"] * shape.fields["in_width"]
    row = {"batches": 1, "in_height": 1, "out_height": 1, "in_width": pixels, "out_width": pixels}
    return Struct(shape.type, {**shape.fields, **row})


def rows_as_image(dims: tuple[int, ...], out_dims: tuple[int, ...]) -> Struct:
    """Returns rows [..., K] to [..., M] as a pointwise convolution."""
    count = math.prod(dims[:-1])
    sizes = {"batches": 1, "in_height": 1, "in_width": count, "in_channels": dims[-1]}
    sizes |= {"out_height": 1, "out_width": count, "out_channels": out_dims[-1]}
    sizes |= {f"{what}_{axis}": 1 for what in ("kernel", "stride", "dilation") for axis in ("height", "width")}
    return Struct("aidge_kit_window2d", {**sizes, "pad_top": 0, "pad_left": 0, "groups": 1})
