# SPDX-License-Identifier: MIT
"""int8 convolution over one or two axes, six pixels at a time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView
from aidge_build.kernel_kit.conditions import ONE_GROUP
from aidge_build.kernel_kit.linear_int8 import LinearNode
from aidge_build.kernel_kit.raster import convolution_demands
from aidge_build.kernel_kit.window2d import is_pointwise, window2d

from .conditions import linear_spec
from .dense import PIXELS, texts, words_in_turn
from .fc_int8 import fc_call, fc_demands
from .packing import Stream, pack

TAP_BYTES = 16  # of the column of 6 pixels
MOST_ROWS = 4  # pixels: six cost as much as one
TOGETHER = 3  # pixels that are gathered at once


def _column_taps(view: NodeView) -> int:
    """Room for the column, whatever the chunks of the layer's taps."""
    taps = math.prod(view.inputs[1].dims[1:])
    step = 4 * words_in_turn(-(-taps // 4))
    return -(-taps // step) * step


def _runs(view: NodeView) -> tuple[int, int]:
    """Taps that lie side by side in the input, and how many such runs a row of the window has."""
    shape = window2d(view.inputs[0], view.outputs[0], view.operator.window).fields
    channels, width = shape["in_channels"], shape["kernel_width"]
    return (width * channels, 1) if shape["dilation_width"] == 1 else (channels, width)


def _pixels(view: NodeView) -> int:
    return view.outputs[0].elements // view.outputs[0].dims[1]


def _are_rows(view: NodeView) -> bool:
    """Whether the pixels cost less as rows of a fully connected layer."""
    return is_pointwise(view.operator.window) and _pixels(view) <= MOST_ROWS


@kernel(("Conv1D", "Conv2D"), linear_spec(ONE_GROUP))
class Conv2dInt8(LinearNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        if _are_rows(view):
            return fc_demands(view, _pixels(view))
        run = _runs(view)[0]
        edges = (1 + TOGETHER) * run if view.operator.window.has_pads else 0
        return replace(convolution_demands(view, PIXELS), scratch_bytes=TAP_BYTES * _column_taps(view) + edges)

    def call(self) -> Call:
        if _are_rows(self.view):
            return fc_call(self, _pixels(self.view))
        rows = numpy.moveaxis(self.inputs[1].data, 1, -1).reshape(self.outputs[0].dims[1], -1)
        stream = pack(self.linear(rows), words_in_turn(-(-rows.shape[1] // 4)))
        function, functions = texts(stream)
        return Call(
            function,
            ("dense.h",),
            (
                Input(0),
                Output(0),
                Constant("stream", stream.words),
                Scratch(),
                _dense(self.view, stream),
                window2d(self.inputs[0], self.outputs[0], self.operator.window),
            ),
            note=stream.note,
            texts=functions,
            facts=stream.facts(),
        )


def _dense(view: NodeView, stream: Stream) -> Struct:
    run, runs = _runs(view)
    shape = window2d(view.inputs[0], view.outputs[0], view.operator.window).fields
    last_top, last_left = (
        shape[f"in_{axis}"] - (shape[f"kernel_{axis}"] - 1) * shape[f"dilation_{axis}"] - 1 for axis in ("height", "width")
    )
    return Struct(
        "aidge_armv6m_dense",
        {
            "channels": view.outputs[0].dims[1],
            "chunk_bytes": TAP_BYTES * stream.chunk_taps,
            "column_bytes": TAP_BYTES * stream.taps,
            "run": run,
            "runs": runs,
            "has_pads": int(view.operator.window.has_pads),
            "last_top": last_top,
            "last_left": last_left,
        },
    )
