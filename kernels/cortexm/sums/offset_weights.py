# SPDX-License-Identifier: MIT
"""Weights less a zero point of their own in packed streams: unsigned bytes, and an offset of each channel.

Such weights need nine bits (recipe signed_tensors), but the weights of a channel are less than 256 apart. With w = b + z the sum
of w * x is the sum of b * x, plus -z times the negated sum of the window. The column of activations holds this negated sum in
further taps, whose weight is -z in each channel: it is a byte, too, and steps, sums and requantization stay as they are.
"""

from __future__ import annotations

import numpy

from aidge_build.contract.spec import NodeView

from .packed_sums import need_offsets, pack_nibbles

SUM = -2  # in an order of taps: a half of the column that holds a part of the negated sum
LARGEST_SUM = 128  # of a tap
LARGEST_PART = 32767


def sum_taps(view: NodeView, taps: int, together: int = 2) -> list[int]:
    """The taps after so many taps, a multiple of `together`; none if weights need no offset."""
    if pack_nibbles(view):
        return [SUM] * together  # a word holds the sum
    if not need_offsets(view):
        return []
    parts = -(-LARGEST_SUM * taps // LARGEST_PART)
    return [SUM] * (-(-parts // together) * together)


def less_offsets(rows: numpy.ndarray) -> numpy.ndarray:
    """Weights [channels, taps] as unsigned bytes; a tap of a sum, whose weight is 0 before, gets that of its channel's offset."""
    return rows - rows.min(axis=1, keepdims=True)
