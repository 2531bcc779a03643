# SPDX-License-Identifier: MIT
"""int8 convolutions of few channels: rows are copied with their pads, the taps of two pixels are gathered into a column."""

from __future__ import annotations

from aidge_build.contract.call import Call, Scratch
from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from ..core.conditions import ANY_CHANNELS, Loop, linear_spec
from .conv2d import LARGEST_OFFSET, line_taps, lines_texts
from .dense_node import DenseNode, stream_call
from .offset_weights import sum_taps
from .packing import quads
from .window import Plane, line_buffer, plane_of_view

MOST_TAPS = 320  # of a column that is gathered without a loop


def no_lines(plane: Plane) -> str:
    """Why a layer cannot be computed from lines, or nothing."""
    taps = plane.in_channels * plane.kernel[0] * plane.kernel[1]
    if taps > MOST_TAPS:
        return f"{taps} taps, wants at most {MOST_TAPS} unless channels are a multiple of 4 and rows are not dilated"
    far = 4 * line_buffer(plane).row_words * plane.extent(0, 1)
    return "" if far <= LARGEST_OFFSET else f"the rows of a window span {far} bytes, wants at most {LARGEST_OFFSET}"


def _no_lines(view: NodeView) -> str:
    return no_lines(plane_of_view(view, is_upright=True))


FEW_TAPS = Predicate("few taps that are close together", _no_lines)


def _are_blocks(order: list[int]) -> bool:
    """Whether the column has blocks of 4 taps that are neighbours in the model."""
    firsts = order[::4]
    return len(order) % 4 == 0 and sorted(firsts) == firsts and order == quads(len(order))


@kernel(("Conv1D", "Conv2D"), linear_spec(ONE_GROUP, FEW_TAPS, channels=ANY_CHANNELS))
class Conv2dLinesInt8(DenseNode):
    unroll = Loop(44, {"speed": 80, "balanced": 36, "compact": 10, "size": 8})  # over pairs of taps

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        buffer = line_buffer(plane_of_view(view, is_upright=True))
        taps = len(line_taps(buffer.plane, buffer)[0])
        return buffer.demands(view.outputs[0], 4 * (taps + len(sum_taps(view, taps))))

    def call(self) -> Call:
        buffer = line_buffer(plane_of_view(self.view, is_upright=True))
        order, places = line_taps(buffer.plane, buffer)
        blocks = order if _are_blocks(order) else []
        stream = self.stream(order + sum_taps(self.view, len(order)), blocks, range(0, 4 * len(blocks), 16))
        function, texts = lines_texts(stream, buffer, order, places, self.unroll.steps(self.view))
        return stream_call(function, "core/lines.h", stream, (Scratch(), buffer.struct(stream)), texts, work=buffer.work)
