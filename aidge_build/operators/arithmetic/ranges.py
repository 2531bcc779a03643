# SPDX-License-Identifier: MIT
"""Ranges of integer accumulators, exact because the generator knows the weights."""

from __future__ import annotations

import numpy

from aidge_build.base.errors import AidgeError

INT32_LIMIT = 1 << 31


def largest_accumulators(weights: numpy.ndarray, bias: numpy.ndarray, zero_point: int, low: int, high: int) -> numpy.ndarray:
    """Returns per row of `weights` [outputs, taps] a bound on |bias + any partial sum of (x - zero_point) * w|, x in low..high;
    int64.

    Every order of summation, every choice of taps outside the image, and sums of x * w with the zero point's part added to the
    bias beforehand stay within it.
    """
    largest_input = max(abs(low), abs(high)) + abs(zero_point)
    return numpy.abs(weights.astype(numpy.int64)).sum(axis=1) * largest_input + numpy.abs(bias.astype(numpy.int64))


def fits_int32(weights: numpy.ndarray, largest_input: int) -> bool:
    """Whether int32 holds any sum of products of an output's weights [outputs, ...] with inputs of at most this magnitude."""
    rows = numpy.abs(weights.astype(numpy.int64)).reshape(len(weights), -1)
    return bool(rows.sum(axis=1).max() * largest_input < INT32_LIMIT)


def require_int32(weights: numpy.ndarray, bias: numpy.ndarray, zero_point: int, low: int, high: int) -> None:
    """Refuses a layer in which an int32 accumulator could overflow; AidgeError names the channel and the bound."""
    largest = largest_accumulators(weights, bias, zero_point, low, high)
    channel = int(numpy.argmax(largest))
    if largest[channel] >= INT32_LIMIT:
        raise AidgeError(
            f"the accumulator of output channel {channel} can reach {largest[channel]}, int32 ends at {INT32_LIMIT - 1}",
            code="RANGE",
            hint="if one sum has too many inputs, split the layer; if its bias has far too small a scale, quantize it again",
        )
