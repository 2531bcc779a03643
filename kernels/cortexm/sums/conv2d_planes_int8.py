# SPDX-License-Identifier: MIT
"""int8 convolutions of many channels: the input is unpacked row by row into planes of channel pairs."""

from __future__ import annotations

from aidge_build.contract.call import Call, Scratch
from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from ..core.conditions import ANY_CHANNELS, QUADS_OF_CHANNELS, Loop, linear_spec
from .conv2d import LARGEST_OFFSET, plane_blocks, plane_taps, planes_texts
from .dense_node import DenseNode, stream_call
from .plane_sums import plane_sums, sum_bytes
from .window import Plane, plane_buffer, plane_of_view


def no_planes(plane: Plane) -> str:
    """Why a layer cannot be computed from planes, or nothing."""
    if plane.dilations[0] > 1 and plane.kernel[0] > 1:
        return "rows are dilated"
    return "" if 4 * (plane.extent(1, 2) + 1) <= LARGEST_OFFSET else "a window is too wide"


def _plane(view: NodeView) -> Plane:
    """The planes of the layer; upright if a band may have a single row, which would have no pair if each row were a pixel."""
    return plane_of_view(view, is_upright=view.layer is not None and view.layer.fewest == 1)


def _no_planes(view: NodeView) -> str:
    return no_planes(_plane(view))


NEAR_ROWS = Predicate("neighbouring rows, a window of at most 1,000 columns", _no_planes)


@kernel(
    ("Conv1D", "Conv2D"),
    linear_spec(ONE_GROUP, QUADS_OF_CHANNELS, NEAR_ROWS, channels=ANY_CHANNELS),
)
class Conv2dPlanesInt8(DenseNode):
    # Planes without a loop, and with one; the bytes are those of a window of 3 columns.
    unroll = Loop(140, {"speed": 48, "balanced": 24, "compact": 12, "size": 4})
    looped = Loop(140, {"speed": 40, "balanced": 18, "compact": 9, "size": 4})

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        buffer = plane_buffer(_plane(view))
        return buffer.demands(view.outputs[0], sum_bytes(buffer, plane_sums(view, buffer.plane)))

    def call(self) -> Call:
        buffer = plane_buffer(_plane(self.view))
        order = plane_taps(buffer.plane) + plane_sums(self.view, buffer.plane)
        stream = self.stream(order, *plane_blocks(buffer))
        function, texts = planes_texts(stream, buffer, self.unroll.steps(self.view), self.looped.steps(self.view))
        return stream_call(function, "sums/planes.h", stream, (Scratch(), buffer.struct(stream)), texts, work=buffer.work)
