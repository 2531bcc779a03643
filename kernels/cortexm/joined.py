# SPDX-License-Identifier: MIT
"""Biases and float factors of a group of 4 channels in 6 words, as dense.h says: factors are positive and within some powers of 2
of each other, biases take 20 bits where layers are no larger than a microcontroller's."""

from __future__ import annotations

from collections.abc import Sequence

BASE = 0x30000000  # of the patterns of factors: 2 to the power of -31
LARGEST_BIAS, LARGEST_FACTOR = (1 << 19) - 1, (1 << 28) - 1
_LOW_BITS = 4  # of a bias, below a factor


def joined_words(biases: Sequence[int], factors: Sequence[int]) -> list[int]:
    """6 words of 4 biases and as many patterns of float32; none where one of them does not fit."""
    above = [factor - BASE for factor in factors]
    if not all(0 <= factor <= LARGEST_FACTOR for factor in above):
        return []
    if not all(-LARGEST_BIAS - 1 <= bias <= LARGEST_BIAS for bias in biases):
        return []
    low = [factor << _LOW_BITS | bias & (1 << _LOW_BITS) - 1 for factor, bias in zip(above, biases)]
    high = [bias >> _LOW_BITS & 0xFFFF for bias in biases]
    return [*low, high[0] | high[1] << 16, high[2] | high[3] << 16]
