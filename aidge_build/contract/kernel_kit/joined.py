# SPDX-License-Identifier: MIT
"""Biases and float factors of two channels in three words: factors are positive and within some powers of two of each other, and
biases take 20 bits in most layers of a microcontroller's networks.

A word of each channel holds, from its top, 28 bits of the pattern of its factor, which is BASE more, and the low 4 bits of its
bias; the upper 16 bits of two biases share a word, the first one's in the low half.
"""

from __future__ import annotations

from collections.abc import Sequence

BASE = 0x30000000  # of the patterns of factors: 2 to the power of -31
LARGEST_BIAS, LARGEST_FACTOR = (1 << 19) - 1, (1 << 28) - 1
_LOW_BITS = 4  # of a bias, below a factor


def joined_words(biases: Sequence[int], factors: Sequence[int]) -> list[int]:
    """The words of an even number of biases and as many patterns of float32: of each channel, then of each two; none where one of
    them does not fit."""
    above = [factor - BASE for factor in factors]
    if not all(0 <= factor <= LARGEST_FACTOR for factor in above):
        return []
    if not all(-LARGEST_BIAS - 1 <= bias <= LARGEST_BIAS for bias in biases):
        return []
    low = [factor << _LOW_BITS | bias & (1 << _LOW_BITS) - 1 for factor, bias in zip(above, biases)]
    high = [bias >> _LOW_BITS & 0xFFFF for bias in biases]
    return [*low, *(first | second << 16 for first, second in zip(high[::2], high[1::2]))]
