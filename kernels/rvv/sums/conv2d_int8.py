# SPDX-License-Identifier: MIT
"""int8 convolution over one or two axes."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.call import Call, Struct
from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.kernel_kit.linear_int8 import LinearNode
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.kernel_kit.raster import block_demands
from aidge_build.contract.kernel_kit.window2d import is_pointwise, window2d, window_of_layer, window_or_row
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from ..core.block import Block
from ..core.conditions import linear_spec, weights_of
from ..core.floats import Floats
from ..core.levels import Levels
from ..core.windows import blocks_of, columns_of, is_one_vector, layer_call, strip_bytes
from .dense import block_of, dense_name, dense_text


def _dilated(view: NodeView) -> str:
    shape = image_of(view).fields
    is_apart = shape["dilation_width"] > 1 and shape["kernel_width"] > 1 and shape["kernel_height"] > 1
    return "dilated columns of several rows" if is_apart else ""


def image_of(view: NodeView) -> Struct:
    """Returns the image; a pointwise layer is one row."""
    window = view.operator.window
    return window_or_row(view) if is_pointwise(window_of_layer(view)) else window2d(view.inputs[0], view.outputs[0], window)


def _runs(view: NodeView) -> tuple[int, int, int]:
    """Returns the taps that are neighbours, how many such runs a window has, and the values from one to the next, 0 if they are
    rows. The columns of a row are runs if they are dilated."""
    shape = image_of(view).fields
    channels, width = shape["in_channels"], shape["kernel_width"]
    if width > 1 and shape["dilation_width"] > 1:
        return channels, width, shape["dilation_width"] * channels
    return width * channels, shape["kernel_height"], 0


def _block(view: NodeView) -> Block:
    """Returns the block, which is the same for all bands of a layer."""
    view = view.layer.whole if view.layer else view
    width = 0 if is_pointwise(view.operator.window) else image_of(view).fields["out_width"]
    return block_of(view.outputs[0].dims[1], width, _runs(view)[0], weights_of(view))


ONE_DENSE_GROUP = ONE_GROUP, Predicate("dilated columns have one row", _dilated)


class Convolution(KernelNode):
    """A convolution of integers or floats."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        shape, block = image_of(view).fields, _block(view)
        found = block_demands(shape, view.inputs[0], view.outputs[0], blocks_of(shape, block.pixels))
        return replace(found, scratch_bytes=strip_bytes(shape, block.pixels, block.element))

    def layer(self, levels: Levels | Floats) -> Call:
        """Returns the call with the constants in `levels`."""
        block, image = replace(_block(self.view), rounding=levels.rounding), image_of(self.view)
        (_, rows, row_bytes), shape = _runs(self.view), image.fields
        outputs, step = shape["out_channels"], shape["stride_width"] * shape["in_channels"]
        may_stay = int(is_one_vector(outputs, block))
        sizes = block.sizes(outputs, rows, step, row_bytes=row_bytes, columns=columns_of(shape), may_stay=may_stay)
        return layer_call(block, dense_text(block), dense_name(block), levels, sizes, image)


@kernel(("Conv1D", "Conv2D"), linear_spec(*ONE_DENSE_GROUP))
class Conv2dInt8(Convolution, LinearNode):
    def call(self) -> Call:
        return self.layer(Levels.of(self.view, self.linear(taps_last_channels(self.inputs[1].data))))
