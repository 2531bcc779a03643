# SPDX-License-Identifier: MIT
"""int8 pointwise convolution: 1x1, stride 1, no pads; a multiple of 4 input channels, or fewer than 4 output channels."""

from __future__ import annotations

from aidge_build.contract.call import Call, Scratch, Struct
from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.kernel_kit.following import following
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from ..core.conditions import ANY_CHANNELS, GROUP, QUADS_OR_FEW, Loop, has_fpu, linear_spec, wants_short
from .dense_node import DenseNode, stream_call
from .fc_int8 import FcInt8, fc_call, fc_demands, has_tables
from .offset_weights import sum_taps
from .packing import quads
from .pointwise import routine
from .stream import Stream

LONG_CHANNELS = 16  # of a pixel: a text for them takes more than 700 B
MOST_LONG_TEXTS = 2  # for as many different numbers of channels, else texts are shared
MOST_SHARED = 16  # pairs of taps in such a text


def _pixels(view: NodeView) -> int:
    return view.inputs[0].elements // view.inputs[0].dims[1]


def _window(view: NodeView) -> str:
    return "" if set(view.operator.window.kernel) == {1} else f"the window is {'x'.join(map(str, view.operator.window.kernel))}"


def _moves(view: NodeView) -> str:
    window = view.operator.window
    return "" if set(window.strides) == {1} and not window.has_pads else "has strides or pads"


def _alone(view: NodeView) -> str:
    """A band of one pixel is computed by another function than those of more."""
    layer = view.layer
    row = _pixels(view) // view.outputs[0].dims[2]
    return "a single pixel in the smallest band alone" if layer and layer.fewest * row == 1 < layer.rows * row else ""


def _are_many(view: NodeView) -> bool:
    """Whether pixels have so many different numbers of channels in this graph that a text for each takes much room, of which this
    layer's would be a long one. Chips with an FPU have this room."""
    if has_fpu(view) or view.objective != "balanced" or view.graph is None or view.inputs[0].dims[1] < LONG_CHANNELS:
        return False
    nodes = [NodeView.of(view.graph, node) for node in view.graph.nodes if node.type in ("Conv1D", "Conv2D")]
    long = {node.inputs[0].dims[1] for node in nodes if not _window(node) and node.inputs[0].dims[1] >= LONG_CHANNELS}
    return len(long) > MOST_LONG_TEXTS


ONE_PIXEL = Predicate("a window of one pixel", _window)
NO_MOVES = Predicate("no strides, no pads", _moves)
BANDS = Predicate("bands of more pixels than one", _alone)


@kernel(
    ("Conv1D", "Conv2D"),
    linear_spec(
        ONE_GROUP,
        QUADS_OR_FEW,
        ONE_PIXEL,
        NO_MOVES,
        BANDS,
        channels=ANY_CHANNELS,
    ),
)
class PointwiseInt8(DenseNode):
    unroll = Loop(44, {"speed": 80, "balanced": 36, "size": 4})  # over pairs of taps

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        pixels, channels, outputs = _pixels(view), view.inputs[0].dims[1], view.outputs[0].dims[1]
        if pixels == 1 or outputs < GROUP or has_tables(view, pixels):
            return fc_demands(view, pixels)
        return pairs_demands(view, pixels, channels, outputs, sum_taps(view, channels))

    def call(self) -> Call:
        data, (output,) = self.inputs[0], self.outputs
        channels, outputs, pixels = data.dims[1], output.dims[1], _pixels(self.view)
        # Inputs of few channels are read once, so that they need no column.
        if pixels == 1 or outputs < GROUP or has_tables(self.view, pixels):
            return fc_call(self, pixels, FcInt8.unroll.steps(self.view))
        blocks = quads(channels) if channels % 4 == 0 else []
        stream = self.stream(quads(channels) + sum_taps(self.view, channels), blocks, range(0, 4 * len(blocks), 16))
        are_many = _are_many(self.view)
        unroll = MOST_SHARED if are_many else self.unroll.steps(self.view)
        return pairs_call(stream, pixels, channels, outputs, unroll, are_many or wants_short(self.view))


def pairs_demands(view: NodeView, pixels: int, channels: int, outputs: int, sums: list[int]) -> Demands:
    """Two pixels are unpacked before their outputs are written; of an odd number the last pair sees a pixel again."""
    done = [*range(2, pixels + 1, 2), pixels]
    kept = pixels - 2 if pixels % 2 else pixels
    return following(
        [(pixel * outputs, (pixel if pixel == pixels else min(pixel, kept)) * channels) for pixel in done],
        view.outputs[0],
        4 * (channels + len(sums)),
    )


def pairs_call(stream: Stream, pixels: int, channels: int, outputs: int, unroll: int, is_shared: bool = False) -> Call:
    """The call for at least 2 pixels, or rows of a fully connected layer."""
    function, text = routine(stream, channels, unroll, is_shared)
    others = _pixel_pairs(pixels, channels, outputs, stream), Scratch()
    return stream_call(function, "sums/pairs.h", stream, others, (text,))


def _pixel_pairs(pixels: int, channels: int, outputs: int, stream: Stream) -> Struct:
    """The struct of pairs.h for at least 2 pixels."""
    odd = pixels % 2
    return Struct(
        "aidge_cortexm_run",
        {
            "pairs": (pixels + 1) // 2,
            "second_input": channels,
            "second_output": outputs,
            "back_input": channels if odd else 0,
            "back_output": outputs if odd else 0,
            "output_step": stream.left_to_step(2 * outputs, outputs),
            "input_step": 2 * channels,
            "stream_bytes": stream.group_bytes,
        },
    )
