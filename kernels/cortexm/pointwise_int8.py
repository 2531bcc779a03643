# SPDX-License-Identifier: MIT
"""int8 pointwise convolution: 1x1, stride 1, no pads; a multiple of 4 input channels."""

from __future__ import annotations

import math

from aidge_build.backend.spec import Demands, NodeView, Predicate
from aidge_build.export.call import Call, Constant, Input, Output, Scratch, Struct
from aidge_build.export.node import kernel

from .conditions import ONE_GROUP, QUADS_OF_CHANNELS, linear_spec
from .linear_int8 import LinearNode
from .packing import pack, quads
from .pointwise import routine


def _window(view: NodeView) -> str:
    return "" if set(view.operator.window.kernel) == {1} else f"the window is {'x'.join(map(str, view.operator.window.kernel))}"


def _moves(view: NodeView) -> str:
    window = view.operator.window
    return "" if set(window.strides) == {1} and not window.has_pads else "has strides or pads"


@kernel(("Conv1D", "Conv2D"), linear_spec(ONE_GROUP, QUADS_OF_CHANNELS, Predicate("a window of one pixel", _window),
                                          Predicate("no strides, no pads", _moves)))
class PointwiseInt8(LinearNode):
    unroll = 32

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=4 * view.inputs[0].dims[1])

    def call(self) -> Call:
        data, (output,) = self.inputs[0], self.outputs
        channels, outputs = data.dims[1], output.dims[1]
        stream = pack(self.linear(self.inputs[1].data.reshape(outputs, channels)), quads(channels))
        function, text = routine(stream, channels, self.unroll)
        shape = pixel_pairs(data.dims[0] * math.prod(data.dims[2:]), channels, outputs, stream.words.nbytes)
        return Call(function, ("pointwise_int8.h",), (Input(0), Output(0), Constant("stream", stream.words), Scratch(), shape),
                    note=stream.note, texts=(text,))


def pixel_pairs(pixels: int, channels: int, outputs: int, stream_bytes: int) -> Struct:
    """The struct of pointwise_int8.h."""
    alone, odd = pixels == 1, pixels % 2 and pixels > 1
    return Struct("aidge_cortexm_pointwise", {
        "pairs": (pixels + 1) // 2, "second_input": 0 if alone else channels, "second_output": 0 if alone else outputs,
        "back_input": channels if odd else 0, "back_output": outputs if odd else 0, "output_step": 2 * outputs,
        "stream_bytes": stream_bytes})
