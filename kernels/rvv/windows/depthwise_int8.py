# SPDX-License-Identifier: MIT
"""int8 depthwise convolution over one or two axes: a vector of channels for each pixel."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from aidge_build.contract.call import Call, Struct
from aidge_build.contract.kernel_kit.linear_int8 import LinearNode
from aidge_build.contract.kernel_kit.raster import depthwise_demands
from aidge_build.contract.kernel_kit.window2d import window2d
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView

from ..core.assembly import Routine
from ..core.block import Block, best_block
from ..core.conditions import linear_spec, weights_of
from ..core.windows import layer_call, strip_bytes

TAP_COST, PIXEL_COST = 3, 4  # instructions of a tap: for its weights, and for each pixel


def _image(view: NodeView) -> Struct:
    return window2d(view.inputs[0], view.outputs[0], view.operator.window)


def _block(view: NodeView) -> Block:
    """Returns the block, which is the same for all bands of a layer."""
    shape = _image(view.layer.whole if view.layer else view).fields
    taps = shape["kernel_width"], weights_of(view)
    return best_block(shape["out_channels"], shape["out_width"], (TAP_COST, PIXEL_COST), *taps)


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), linear_spec())
class DepthwiseInt8(LinearNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        pixels = _block(view).pixels
        return replace(depthwise_demands(view, pixels), scratch_bytes=strip_bytes(_image(view).fields, pixels))

    def call(self) -> Call:
        block, image, weights = _block(self.view), _image(self.view), self.inputs[1].data
        linear = self.linear(weights.reshape(len(weights), -1)).in_fine_units()
        shape = image.fields
        channels, dilation = shape["in_channels"], shape["dilation_width"]
        step = shape["stride_width"] * channels
        sizes = block.sizes(
            channels,
            shape["kernel_height"],
            step,
            tap_bytes=dilation * channels,
            block_bytes=block.pixels * step - channels,
            run_bytes=shape["kernel_width"] * dilation * channels,
            may_stay=1,
        )
        name = f"aidge_rvv_depthwise_int8_{block.name}"
        return layer_call(block, _text(block, name), name, linear, sizes, image)


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
