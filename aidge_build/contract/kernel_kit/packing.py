# SPDX-License-Identifier: MIT
"""Constants in the order in which the kernels read them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy


def as_words(values: numpy.ndarray | Sequence[int]) -> numpy.ndarray:
    """Returns the low 32 bits of integers, as int32."""
    return (numpy.asarray(values, numpy.int64) & 0xFFFFFFFF).astype(numpy.uint32).view(numpy.int32)


def group_starts(channels: int, size: int = 4) -> list[int]:
    """Returns the first channels of groups that cover all channels; the last group overlaps the one before where that is
    needed."""
    return [min(first, channels - size) for first in range(0, channels, size)]


def taps_last_channels(weights: numpy.ndarray) -> numpy.ndarray:
    """Returns weights [outputs, channels, kernel...] as [outputs, kernel... * channels], channels fastest."""
    return numpy.moveaxis(weights, 1, -1).reshape(weights.shape[0], -1)
