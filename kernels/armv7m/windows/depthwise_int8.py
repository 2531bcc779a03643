# SPDX-License-Identifier: MIT
"""int8 depthwise convolution over one or two axes."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch
from aidge_build.contract.kernel_kit.linear_int8 import LinearNode
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from ..core.conditions import BYTES_AND_OFFSETS, FITTING_SUMS, linear_spec
from ..sums.packing import form_of, head
from .depthwise import layer_texts, turns
from .depthwise_layout import layout_of, window_of

MOST_TAPS = 128  # of the text


def _unfit(view: NodeView) -> str:
    taps = numpy.prod(view.operator.window.kernel)
    if taps > MOST_TAPS:
        return f"{taps} taps, wants at most {MOST_TAPS}"
    return "" if layout_of(view) else "a single output, or rows too long for the scratch"


PAIRS = Predicate("pairs of outputs, few taps", _unfit)


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), linear_spec(PAIRS, FITTING_SUMS, weights=BYTES_AND_OFFSETS))
class DepthwiseInt8(LinearNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        layout = layout_of(view)
        return Demands(scratch_bytes=layout.scratch_bytes, in_place=(0,) if layout.works_in_place else ())

    def call(self) -> Call:
        layout = layout_of(self.view)
        linear = self.linear(taps_last_channels(self.inputs[1].data))
        form = form_of(linear)
        name, texts = layer_texts(layout, form)
        return Call(
            name,
            ("windows/depthwise.h",),
            (
                Input(0),
                Output(0),
                Constant("weights", linear.rows.astype(numpy.int16 if form.has_offsets else numpy.int8)),
                Constant("numbers", numpy.concatenate([head(linear, form), form.channels.ravel()])),
                Scratch(),
                layout.struct,
                window_of(self.view),
            ),
            note=form.note,
            texts=texts,
            facts=form.facts("6 pixels x 1 channel"),
            work=turns(layout, form, self.inputs[0].dims[0]),
        )
