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
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.graph.tensor import Quantization

from ..core.assembly import LANES, Routine
from ..core.block import MOST_REGISTERS, Block, best_block
from ..core.conditions import linear_spec, weights_of
from ..core.floats import Floats
from ..core.levels import Levels
from ..core.windows import columns_of, layer_call, strip_bytes

TAP_COST, PIXEL_COST = 3, 4  # instructions of a tap: for its weights, and for each pixel
ROW_COST, ROW_TAP_COST = 320, 13  # instructions of a short row with pads: alone, and for each tap
SCALAR_COST, SCALAR_TAP_COST = 18, 3  # the same of rv32's kernel, for each output
FLOAT_COSTS = 2, 3


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
    shape, together, weights = _image(whole).fields, _together(view), weights_of(view)
    sizes = shape["out_channels"] * together, shape["out_width"] // together
    if weights == "floats":
        return best_block(*sizes, FLOAT_COSTS, shape["kernel_width"], weights, first=2)
    return best_block(*sizes, (TAP_COST, PIXEL_COST), shape["kernel_width"], weights)


def _short(view: NodeView) -> str:
    shape, weights, (output,) = _image(view).fields, view.inputs[1], view.outputs
    taps, outputs = weights.elements // weights.dims[0], shape["out_width"] * shape["out_channels"]
    has_scalar = weights_of(view) == "bytes" and output.quantization.rounding == Quantization.rounding
    is_less = outputs * (SCALAR_COST + taps * SCALAR_TAP_COST) < ROW_COST + taps * ROW_TAP_COST
    has_pads = view.operator.window.has_pads and shape["kernel_width"] > 1
    return f"rows of {outputs} outputs, with pads" if has_scalar and is_less and has_pads else ""


class Depthwise(KernelNode):
    """A depthwise convolution of integers or floats."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        block, together = _block(view), _together(view)
        pixels = block.pixels * together
        return replace(depthwise_demands(view, pixels), scratch_bytes=strip_bytes(_image(view).fields, pixels, block.element))

    def outputs_of_pixel(self) -> numpy.ndarray:
        """Returns the channel of each output of what counts as one pixel."""
        return numpy.tile(numpy.arange(self.inputs[1].dims[0]), _together(self.view))

    def layer(self, levels: Levels | Floats) -> Call:
        """Returns the call with the constants in `levels`, for the outputs of a pixel."""
        together, image, block = _together(self.view), _image(self.view), replace(_block(self.view), rounding=levels.rounding)
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
        name = f"aidge_rvv_depthwise_{'float32' if block.is_float else 'int8'}_{block.name}"
        return layer_call(block, _text(block, name), name, levels, sizes, joined)


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), linear_spec(Predicate("rows that are worth a copy with pads", _short)))
class DepthwiseInt8(Depthwise, LinearNode):
    def call(self) -> Call:
        weights = self.inputs[1].data
        linear = self.linear(weights.reshape(len(weights), -1)).of(self.outputs_of_pixel())
        return self.layer(Levels.of(self.view, linear))


@lru_cache(64)
def _text(block: Block, name: str) -> str:
    """Returns the C function of a block."""
    data, product = (block.registers, "vfmacc.vv") if block.is_float else (block.registers // 2, "vwmacc.vv")

    def tap(code: Routine, _: int) -> None:
        block.emit_weights(code)
        for pixel, sums in enumerate(block.sums):
            if block.is_float:
                code(f"vle32.v v{data}, ({{pixel{pixel}}})")
            else:
                block.emit_bytes(code, data, f"pixel{pixel}")
            code(f"add {{pixel{pixel}}}, {{pixel{pixel}}}, {{tap_bytes}}")
            code(f"{product} {sums}, v{data}, v0")

    return block.text(name, f"Each channel of {block.pixels} pixels: a vector of sums for each.", tap)
