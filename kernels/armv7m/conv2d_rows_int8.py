# SPDX-License-Identifier: MIT
"""int8 convolution of few pixels, or of many taps: a fully connected layer at each pixel."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch
from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.kernel_kit.linear_int8 import LinearNode
from aidge_build.contract.kernel_kit.raster import convolution_demands
from aidge_build.contract.kernel_kit.window2d import is_pointwise, window2d, window_of_layer
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from .conditions import ENOUGH_PRODUCTS, linear_spec
from .conv2d_int8 import MOST_SCRATCH_BYTES
from .fc_int8 import SCRATCH_BYTES, rows_struct
from .packing import form_of, head, taps_last_channels
from .rows import GROUP, pack_numbers, pack_rows, rows_texts, window_texts


def scratch_bytes(view: NodeView) -> int:
    """Sums of a group, and a row if a window has to be copied."""
    window = view.operator.window
    taps = view.inputs[0].dims[1] * math.prod(window.kernel)
    return SCRATCH_BYTES + (0 if is_pointwise(window_of_layer(view)) else -(-taps // 4) * 4)


def _fits(view: NodeView) -> str:
    return "" if scratch_bytes(view) <= MOST_SCRATCH_BYTES else "too many taps for the scratch"


@kernel(("Conv1D", "Conv2D"), linear_spec(ENOUGH_PRODUCTS, ONE_GROUP, Predicate("taps that fit the scratch", _fits)))
class Conv2dRowsInt8(LinearNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        overlap = convolution_demands(view).overlap
        return Demands(scratch_bytes=scratch_bytes(view), overlap=overlap)

    def call(self) -> Call:
        window, is_window = self.operator.window, not is_pointwise(window_of_layer(self.view))
        linear = self.linear(taps_last_channels(self.inputs[1].data))
        form = form_of(linear)
        outputs, taps = linear.rows.shape
        pixels = math.prod(self.outputs[0].dims) // outputs
        name, texts = (window_texts if is_window else rows_texts)(form, taps)
        arguments = [
            Input(0),
            Output(0),
            Constant("weights", pack_rows(linear.rows)),
            Constant("numbers", numpy.concatenate([head(linear, form), pack_numbers(form)])),
            Scratch(),
            rows_struct(pixels, outputs, taps),
        ]
        if is_window:
            arguments.append(window2d(self.inputs[0], self.outputs[0], window))
        return Call(
            name,
            ("rows.h", "gather.h") if is_window else ("rows.h",),
            tuple(arguments),
            note=form.note,
            texts=texts,
            facts=form.facts(f"1 pixel x {GROUP} outputs"),
        )
