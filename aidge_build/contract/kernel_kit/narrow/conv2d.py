# SPDX-License-Identifier: MIT
"""int8 convolution over one or two axes, six pixels at a time."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from aidge_build.contract.call import Call, Struct
from aidge_build.contract.kernel_kit.byte_weights import has_offsets
from aidge_build.contract.kernel_kit.linear_int8 import LinearNode
from aidge_build.contract.kernel_kit.narrow.byte_planes import FARTHEST, reach_of
from aidge_build.contract.kernel_kit.narrow.columns import column_bytes, dense_call, runs
from aidge_build.contract.kernel_kit.narrow.conditions import linear_spec
from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.narrow.dense import PIXELS
from aidge_build.contract.kernel_kit.narrow.depthwise_layers import has_plain_sums, plane_call
from aidge_build.contract.kernel_kit.narrow.depthwise_layout import Layout, shared_layout
from aidge_build.contract.kernel_kit.narrow.fc_rows import MOST_ROWS, fc_call, fc_demands
from aidge_build.contract.kernel_kit.narrow.packing import SUM_BITS
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.kernel_kit.raster import block_demands
from aidge_build.contract.kernel_kit.window2d import is_pointwise, window2d, window_of_layer
from aidge_build.contract.spec import Demands, ImplSpec, NodeView
from aidge_build.graph.tensor import Tensor

TOGETHER = 3  # pixels that are gathered at once
MOST_SHARED = 2  # output channels times stride of a layer without columns
MOST_IN_TURN, MOST_TURNS = 25, 255  # taps of an input channel there, and input channels


def _pixels(view: NodeView) -> int:
    return view.outputs[0].elements // view.outputs[0].dims[1]


def _are_rows(view: NodeView) -> bool:
    """Whether the pixels cost less as rows of a fully connected layer; bands are computed as the largest of them."""
    pixels = _pixels(view)
    if view.layer:
        pixels = pixels // view.outputs[0].dims[2] * view.layer.rows
    is_dense = view.operator.groups == 1 and is_pointwise(window_of_layer(view))
    return is_dense and pixels <= MOST_ROWS and not has_offsets(view)


def has_short_sums(view: NodeView) -> bool:
    """Whether the sum of a window fits the words that three share."""
    return 128 * math.prod(view.inputs[1].dims[1:]) < 1 << (SUM_BITS - 1)


def spec(core: Core) -> ImplSpec:
    """Returns the spec of convolutions on the cores of a library."""
    return linear_spec(core.features, with_offsets=has_short_sums)


class Conv2dInt8(LinearNode):
    """A library's subclass names its `core`."""

    core: ClassVar[Core]
    planes: ClassVar[type[Layout] | None] = None

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        if _are_rows(view):
            return fc_demands(view, _pixels(view))
        if shared := cls._shared(view):
            return shared.demands(view)
        if view.operator.groups > 1:  # group by group: outputs are written before all of the input is read
            return Demands(scratch_bytes=_scratch_bytes(view))
        data, (output,) = view.inputs[0], view.outputs
        demands = block_demands(_image(view).fields, data, output, _blocks(output))
        return replace(demands, scratch_bytes=_scratch_bytes(view))

    @classmethod
    def _shared(cls, view: NodeView) -> Layout | None:
        """The plane that all output channels read, if they are too few to share columns."""
        outputs, inputs = view.inputs[1].dims[:2]
        window = view.operator.window
        if not cls.planes or view.layer or view.operator.groups > 1 or is_pointwise(window):
            return None
        is_few = outputs * max(window.strides) <= MOST_SHARED and math.prod(window.kernel) <= MOST_IN_TURN
        if not is_few or inputs > MOST_TURNS or inputs * reach_of(window) > FARTHEST or not has_plain_sums(cls.core, view):
            return None
        return shared_layout(cls.planes, view, _scratch_bytes(view))

    def call(self) -> Call:
        core = self.core.on(self.view.features)
        if not _are_rows(self.view) and (shared := self._shared(self.view)):
            return plane_call(core, self, shared)
        return fc_call(core, self, _pixels(self.view)) if _are_rows(self.view) else self._dense_call(core)

    def _dense_call(self, core: Core) -> Call:
        rows = taps_last_channels(self.inputs[1].data)
        return dense_call(core, self, rows, _image(self.view), self.operator.window.has_pads)


def _image(view: NodeView) -> Struct:
    """Returns the struct of the image; the pixels of a pointwise layer are one row."""
    image = window2d(view.inputs[0], view.outputs[0], view.operator.window, view.operator.groups)
    if image.fields["batches"] > 1 or not is_pointwise(window_of_layer(view)):
        return image
    pixels = image.fields["in_height"] * image.fields["in_width"]
    rows = {"in_height": 1, "out_height": 1, "in_width": pixels, "out_width": pixels}
    return replace(image, fields={**image.fields, **rows})


def _blocks(output: Tensor) -> list[tuple[int, int]]:
    """(First pixel, one past the last) of the pixels that are gathered before one of them is written."""
    images = output.dims[0]
    pixels = output.elements // (images * output.dims[1])
    firsts = [(image * pixels, first) for image in range(images) for first in range(0, pixels, PIXELS)]
    return [(begin + first, begin + min(first + PIXELS, pixels)) for begin, first in firsts]


def _scratch_bytes(view: NodeView) -> int:
    edges = (1 + TOGETHER) * runs(_image(view).fields)[0] if view.operator.window.has_pads else 0
    return column_bytes(view) + edges
