# SPDX-License-Identifier: MIT
"""Depthwise convolutions of stored bytes with the function behind them."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, computed
from aidge_build.contract.kernel_kit.dynamic import DEPTHWISE
from aidge_build.contract.kernel_kit.packing import as_words, group_starts
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView
from aidge_build.graph.dtype import DType

from ..core.limits import Limits
from ..sums.curved_layers import PATTERN, TYPE, CurvedLayer, curved_layer, curved_spec, layer_alone
from .depthwise import block, texts
from .depthwise_int8 import NEAR, DepthwiseInt8
from .depthwise_layout import CURVED_HEAD_WORDS, Depthwise, group, struct
from .depthwise_levels import Form


@kernel(TYPE, curved_spec(DEPTHWISE, NEAR), PATTERN)
class CurvedDepthwiseInt8(DepthwiseInt8):
    """The layer alone is one of DepthwiseInt8."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return super().demands(layer_alone(view))

    def call(self) -> Call:
        found, geometry = curved_layer(self.view), self.layer(layer_alone(self.view))
        are_bytes = geometry.are_bytes and DType.int8.holds(found.rows)
        geometry = replace(geometry, are_bytes=are_bytes, head_words=CURVED_HEAD_WORDS)
        words = _groups(found, geometry)
        form = Form(
            0,
            Limits(),
            has_integers=False,
            has_floats=True,
            together=self.together.steps(self.view),
            has_fpu=True,
            is_near=False,
            are_bytes=are_bytes,
            curve=found.curve,
            distance=len(words) + found.curve.middle,
        )
        function, functions = texts(geometry, form)
        return Call(
            function,
            ("windows/depthwise.h",),
            (
                Input(0),
                Output(0),
                Constant("stream", as_words(words + found.curve.entries.tolist())),
                Scratch(),
                struct(geometry, len(words)),
            ),
            note=found.curve.note,
            texts=functions,
            facts=computed(block(geometry, form), otherwise="one word for each cell"),
        )


def _groups(found: CurvedLayer, geometry: Depthwise) -> list[int]:
    """Head, then the groups of 4 channels; of each the start of the sums, its scale, weights."""
    words, scales = list(found.head), found.scales.tolist()
    for first in group_starts(len(found.rows)):
        heads = [[int(found.starts[channel]), *scales[channel]] for channel in range(first, first + 4)]
        words += group(geometry, heads, found.rows[first : first + 4])
    return words
