# SPDX-License-Identifier: MIT
"""int8 depthwise convolution over one or two axes: a vector of channels for each pixel."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy

from aidge_build.contract.call import Call, Struct
from aidge_build.contract.kernel_kit.linear_int8 import LinearNode
from aidge_build.contract.kernel_kit.raster import depthwise_demands
from aidge_build.contract.kernel_kit.window2d import window2d
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.graph.tensor import Quantization

from ..core.assembly import LANES, Routine
from ..core.block import MOST_REGISTERS, Block, best_block
from ..core.conditions import linear_spec, weights_of
from ..core.levels import rounding_of
from ..core.windows import columns_of, layer_call, strip_bytes

TAP_COST, PIXEL_COST = 3, 4  # instructions of a tap: for its weights, and for each pixel
ROW_COST, ROW_TAP_COST = 320, 13  # instructions of a short row with pads: alone, and for each tap
SCALAR_COST, SCALAR_TAP_COST = 18, 3  # the same of rv32's kernel, for each output


def _image(view: NodeView) -> Struct:
    return window2d(view.inputs[0], view.outputs[0], view.operator.window)


def _together(view: NodeView) -> int:
    """Returns how many neighbours count as one pixel, with the channels of all, because their channels are few; 1 for bands,
    which may have any width."""
    shape = _image(view).fields
    if view.layer or shape["stride_width"] > 1:
        return 1
    most = max(1, LANES * MOST_REGISTERS // shape["in_channels"])
    return next(count for count in range(most, 0, -1) if shape["out_width"] % count == 0)


def _block(view: NodeView) -> Block:
    """Returns the block, which is the same for all bands of a layer."""
    whole = view.layer.whole if view.layer else view
    shape, together = _image(whole).fields, _together(view)
    sizes = shape["out_channels"] * together, shape["out_width"] // together
    return best_block(*sizes, (TAP_COST, PIXEL_COST), shape["kernel_width"], weights_of(view))


def _short(view: NodeView) -> str:
    shape, weights, (output,) = _image(view).fields, view.inputs[1], view.outputs
    taps, outputs = weights.elements // weights.dims[0], shape["out_width"] * shape["out_channels"]
    has_scalar = weights_of(view) == "bytes" and output.quantization.rounding == Quantization.rounding
    is_less = outputs * (SCALAR_COST + taps * SCALAR_TAP_COST) < ROW_COST + taps * ROW_TAP_COST
    has_pads = view.operator.window.has_pads and shape["kernel_width"] > 1
    return f"rows of {outputs} outputs, with pads" if has_scalar and is_less and has_pads else ""


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), linear_spec(Predicate("rows that are worth a copy with pads", _short)))
class DepthwiseInt8(LinearNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        pixels = _block(view).pixels * _together(view)
        return replace(depthwise_demands(view, pixels), scratch_bytes=strip_bytes(_image(view).fields, pixels))

    def call(self) -> Call:
        weights, together, image = self.inputs[1].data, _together(self.view), _image(self.view)
        linear = self.linear(weights.reshape(len(weights), -1)).in_fine_units()
        block = replace(_block(self.view), rounding=rounding_of(linear))
        shape = image.fields
        channels, step = shape["in_channels"], shape["stride_width"] * together * shape["in_channels"]
        sizes = block.sizes(
            channels * together,
            shape["kernel_height"],
            step,
            tap_bytes=shape["dilation_width"] * channels,
            block_bytes=block.pixels * step - channels * together,
            run_bytes=shape["kernel_width"] * shape["dilation_width"] * channels,
            columns=columns_of(shape) + together - 1,
            may_stay=1,
        )
        joined = {"out_width": shape["out_width"] // together, "out_channels": channels * together}
        joined = Struct(image.type, {**shape, **joined, "stride_width": shape["stride_width"] * together})
        name = f"aidge_rvv_depthwise_int8_{block.name}"
        linear = linear.of(numpy.tile(numpy.arange(channels), together))
        return layer_call(block, _text(block, name), name, linear, sizes, joined)


@lru_cache(64)
def _text(block: Block, name: str) -> str:
    """Returns the C function of a block."""
    data = block.registers // 2

    def tap(code: Routine, _: int) -> None:
        block.emit_weights(code)
        for pixel, sums in enumerate(block.sums):
            block.emit_bytes(code, data, f"pixel{pixel}")
            code(f"add {{pixel{pixel}}}, {{pixel{pixel}}}, {{tap_bytes}}")
            code(f"vwmacc.vv {sums}, v{data}, v0")

    return block.text(name, f"Each channel of {block.pixels} pixels: a vector of sums for each.", tap)
