# SPDX-License-Identifier: MIT
"""Whether two weights may share a halfword: the sums of odd channels then carry those of even ones in 8 bits below."""

from __future__ import annotations

import numpy

from aidge_build.contract.kernel_kit.linear_int8 import Linear, fewest_bits, fits_fraction
from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType

from ..core.conditions import GROUP

NIBBLE_BITS = 4
LARGEST_ROUNDED = 32000  # |rint(acc * M)| below it fits 16 bits with room
LARGEST_CENTRED = 1 << 23  # 256 times what is below it fits a word


def fit_halfwords(rows: numpy.ndarray, groups: list[list[int]], is_any: bool) -> bool:
    """Whether low fits a byte and 256 * high + low a halfword for all weights of all pairs of channels; of `is_any` weights, too:
    with none of -128, which some quantizers never give, and others give anywhere."""
    if rows.size and (rows.min() < -128 + is_any or rows.max() > 127):
        return False
    for channels in groups:
        for low, high in (channels[:2], channels[2:]):
            halves = 256 * rows[high] + rows[low]
            if halves.size and (halves.min() < -32768 or halves.max() > 32767):
                return False
    return True


def fit_offsets(rows: numpy.ndarray) -> bool:
    """Whether the weights of each channel [channels, taps], and 0, are less than 256 apart."""
    return bool((rows.max(axis=1, initial=0) - rows.min(axis=1, initial=0) < 256).all())


def need_offsets(view: NodeView) -> bool:
    """Whether a layer's weights are bytes and an offset of each channel, times a power of two, but not int8 times one."""
    weights = view.inputs[1]
    if weights.dtype is not DType.int16 or weights.quantization is None:
        return False
    rows = weights.data.reshape(len(weights.data), -1).astype(numpy.int64)
    every = int(numpy.bitwise_or.reduce(rows, axis=None))
    rows = rows // max(every & -every, 1)
    return not DType.int8.holds(rows) and fit_offsets(rows)


def pack_nibbles(view: NodeView) -> bool:
    """Whether a layer of whole groups has weights of 4 bits, which are to share bytes in flash."""
    weights = view.inputs[1]
    return (
        view.packs_weights
        and weights.dtype is DType.int8
        and weights.dims[0] >= GROUP
        and fewest_bits(weights.data) <= NIBBLE_BITS
    )


def fit_sums(linear: Linear, groups: list[list[int]]) -> bool:
    """Whether 256 * sum fits a word: whatever a bias is, where sums are centred, or else that of each channel, whose level must
    then fit 16 bits, too."""
    if not are_centred(linear):
        return bool((fits_fraction(linear) & are_rounded_small(linear)).all())
    odd = [channel for channels in groups for channel in channels[1::2]]
    ends = numpy.stack([linear.low, linear.high])[:, odd] - centres_of(linear)[odd]
    return bool((numpy.abs(ends) < LARGEST_CENTRED).all())


def are_centred(linear: Linear) -> bool:
    """Whether packed sums are: other weights may have a bias of any size, such as one whose channel is nearly constant."""
    return linear.is_any and not linear.fractions.any()


def centres_of(linear: Linear) -> numpy.ndarray:
    """The middle of the range of each channel's sums."""
    return (linear.low + linear.high) >> 1


def are_rounded_small(linear: Linear) -> numpy.ndarray:
    """Channels whose levels fit 16 bits before they are limited."""
    return linear.largest * linear.factors.astype(numpy.float64) < LARGEST_ROUNDED
