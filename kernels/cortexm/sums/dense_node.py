# SPDX-License-Identifier: MIT
"""Layers that the dense core computes."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.linear_int8 import LinearNode

from ..core.conditions import has_fpu, wants_short
from ..core.halfwords import are_halfwords
from .packing import pack, taps_last_channels
from .stream import Stream


class DenseNode(LinearNode):
    """A convolution of one group of channels."""

    def stream(self, order: list[int]) -> Stream:
        """For taps in this order, as in `pack`."""
        linear, may_pack = self.linear(taps_last_channels(self.inputs[1].data)), not are_halfwords(self.view)
        return pack(
            linear, order, has_fpu(self.view), may_pack=may_pack, is_short=wants_short(self.view), may_join=wants_short(self.view)
        )
