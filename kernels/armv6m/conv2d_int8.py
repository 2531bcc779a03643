# SPDX-License-Identifier: MIT
"""int8 convolution over one or two axes, six pixels at a time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy

from aidge_build.contract.call import Call
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView
from aidge_build.kernel_kit.conditions import ONE_GROUP
from aidge_build.kernel_kit.linear_int8 import LinearNode
from aidge_build.kernel_kit.raster import convolution_demands
from aidge_build.kernel_kit.window2d import is_pointwise, window2d

from .columns import column_bytes, dense_call, runs
from .conditions import linear_spec
from .dense import PIXELS
from .fc_int8 import MOST_ROWS, fc_call, fc_demands

TOGETHER = 3  # pixels that are gathered at once


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
        window = view.operator.window
        run = runs(window2d(view.inputs[0], view.outputs[0], window).fields)[0]
        edges = (1 + TOGETHER) * run if window.has_pads else 0
        scratch_bytes = column_bytes(math.prod(view.inputs[1].dims[1:])) + edges
        return replace(convolution_demands(view, PIXELS), scratch_bytes=scratch_bytes)

    def call(self) -> Call:
        if _are_rows(self.view):
            return fc_call(self, _pixels(self.view))
        window = self.operator.window
        rows = numpy.moveaxis(self.inputs[1].data, 1, -1).reshape(self.outputs[0].dims[1], -1)
        return dense_call(self, rows, window2d(self.inputs[0], self.outputs[0], window), window.has_pads)
