# SPDX-License-Identifier: MIT
"""Kernels that write their output pixel by pixel, each after they read its inputs: the output may overlap the input.

When pixel p is finished, the output reaches to `end(p)`; this and all later pixels read no byte below `lowest(p)`. An output that
begins at least max(end(p) - lowest(p)) bytes before its input therefore overwrites only bytes that no pixel reads again (the
diagonal overlap of Blacker et al. 2020, arXiv:2010.01668).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy

from aidge_build.contract.kernel_kit.window2d import window2d
from aidge_build.contract.spec import Demands, NodeView
from aidge_build.graph.tensor import Tensor


def raster_demands(shape: Mapping[str, int], data: Tensor, output: Tensor, together: int = 1) -> Demands:
    """Returns the overlap that a kernel on the struct `aidge_kit_window2d` (kit/window2d.h) allows; no demand if it would save
    nothing. The kernel reads while it writes up to `together` neighbouring pixels."""
    element = output.dtype.size_bytes
    lead = lead_bytes(shape, data.dtype.size_bytes, element) + (together - 1) * shape["out_channels"] * element
    return Demands(overlap=((0, lead),)) if lead < output.size_bytes else Demands()


def convolution_demands(view: NodeView, together: int = 1) -> Demands:
    """Returns the overlap that a kernel of a convolution allows; see `raster_demands`."""
    data, (output,) = view.inputs[0], view.outputs
    return raster_demands(window2d(data, output, view.operator.window, view.operator.groups).fields, data, output, together)


def depthwise_demands(view: NodeView, together: int, again: int = 0) -> Demands:
    """Returns the overlap that a kernel of a depthwise convolution allows. It computes some channels of up to `together`
    neighbouring pixels, then the next channels: in the last pixel it writes no channel beyond the channels that it read in the
    first pixel, so the output may begin a pixel later. `again` channels are read once more after they were written."""
    data, (output,) = view.inputs[0], view.outputs
    shape, element = window2d(data, output, view.operator.window, view.operator.groups).fields, output.dtype.size_bytes
    pixels = (together - 1) * shape["out_channels"] - (shape["out_channels"] - again)
    lead = max(0, lead_bytes(shape, data.dtype.size_bytes, element) + pixels * element)
    return Demands(overlap=((0, lead),)) if lead < output.size_bytes else Demands()


def block_demands(
    shape: Mapping[str, int], data: Tensor, output: Tensor, blocks: Iterable[tuple[int, int]], kept: int | None = None
) -> Demands:
    """Returns the overlap that a kernel allows if it reads all inputs of a block's pixels before it writes the block. `blocks`
    are (first pixel, one past the last) in order; a pixel may be in several.

    `kept`: the kernel reads inputs of a block again after it wrote the block but for its last `kept` bytes.
    """
    lowest, firsts, ends = still_needed(shape, data.dtype.size_bytes), [], []
    for first, end in blocks:
        firsts.append(first)
        ends.append(end * shape["out_channels"] * output.dtype.size_bytes)
    read_later = [int(lowest[first]) for first in firsts[1:]]
    lead = max([0, *(written - needed for written, needed in zip(ends, read_later))])
    if kept is not None:
        lead = max(lead, *(written - kept - int(lowest[first]) for written, first in zip(ends, firsts)))
    return Demands(overlap=((0, lead),)) if lead < output.size_bytes else Demands()


def lead_bytes(shape: Mapping[str, int], input_element: int, output_element: int) -> int:
    """Returns how many bytes before its input the output must begin."""
    lowest = still_needed(shape, input_element)
    ends = (numpy.arange(len(lowest)) + 1) * shape["out_channels"] * output_element
    return max(0, int((ends - lowest).max()))


def still_needed(shape: Mapping[str, int], input_element: int) -> numpy.ndarray:
    """Returns for each pixel of the output the first byte of the input that this or a later pixel reads."""
    first_row, last_row = _reach(shape, "height", "pad_top")
    first_column, last_column = _reach(shape, "width", "pad_left")
    lowest = (first_row[:, None] * shape["in_width"] + first_column) * shape["in_channels"] * input_element
    image = shape["in_height"] * shape["in_width"] * shape["in_channels"] * input_element
    lowest = numpy.where((last_row > first_row)[:, None] & (last_column > first_column), lowest, shape["batches"] * image)
    lowest = (lowest + image * numpy.arange(shape["batches"])[:, None, None]).ravel()
    return numpy.minimum.accumulate(lowest[::-1])[::-1]


def _reach(shape: Mapping[str, int], axis: str, pad: str) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns per output position the first input position that is read and one past the last; equal if none is read."""
    start = numpy.arange(shape[f"out_{axis}"]) * shape[f"stride_{axis}"] - shape[pad]
    dilation = shape[f"dilation_{axis}"]
    first = start + dilation * (numpy.maximum(0, -start + dilation - 1) // dilation)
    last = numpy.minimum(start + dilation * (shape[f"kernel_{axis}"] - 1) + 1, shape[f"in_{axis}"])
    return first, numpy.maximum(last, first)
