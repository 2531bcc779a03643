# SPDX-License-Identifier: MIT
"""Sigmoid and tanh of int16 values under the contract `double`: interpolation in a table of 256 entries, as in TensorFlow Lite.

Inputs are scaled to units of 1 / (3 * 4096), outputs are in units of 2^-15; between two entries the function is linear.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal
from functools import cache

import numpy

ENTRIES = 256
STEPS = 24  # entries for each 1.0
PLACE_BITS = 9  # bits of a sigmoid's input below the index of the entry; one less for a tanh, which doubles its input
_UNITS = 3.0 * 4096.0


@cache
def sigmoid_table() -> tuple[int, ...]:
    """Returns 2^16 / (1 + e^(-k / 24)), k = 0..255, plus half of the error of linear interpolation in the middle to the next
    entry.

    The last entry is 2^16 - 1.
    """
    ends, middles = ([_sigmoid(Decimal(k) + half) for k in range(ENTRIES)] for half in (Decimal(0), Decimal("0.5")))
    raised = [here + (middle - (here + after) / 2) / 2 for here, middle, after in zip(ends, middles, [*ends[1:], ends[-1]])]
    return (*(int(value.quantize(Decimal(1), ROUND_HALF_UP)) for value in raised[:-1]), (1 << 16) - 1)


def _sigmoid(place: Decimal) -> Decimal:
    return (1 << 16) / (1 + (-place / STEPS).exp())


def input_factor(scale: float, powers: tuple[int, ...]) -> tuple[int, int]:
    """Returns (multiplier, shift to the right) that scale stored values of this scale to units of 1 / (3 * 4096).

    The multiplier is 3 * 2^k for scales of 2^(k - 12) with k among `powers`; else it has 15 bits, rounded down.
    """
    power = power_of_two(scale)
    if power is not None and power + 12 in powers:
        return 3 << (power + 12), 0
    multiplier, shift = float(scale) * _UNITS, 0
    while multiplier <= 32767.0 / 2 and shift <= 30:
        multiplier, shift = 2 * multiplier, shift + 1
    return int(multiplier), shift


def power_of_two(scale: float) -> int | None:
    """Returns the exponent of a scale that is a power of two within a thousandth of the exponent; None for other scales."""
    exponent = numpy.float32(math.log2(float(scale)))
    return int(numpy.rint(exponent)) if abs(exponent - numpy.rint(exponent)) < numpy.float32(1e-3) else None


def sigmoid_factor(scale: float) -> tuple[int, int]:
    """Returns the `input_factor` of a sigmoid."""
    return input_factor(scale, (0,))


def tanh_factor(scale: float) -> tuple[int, int]:
    """Returns the `input_factor` of a tanh."""
    return input_factor(scale, (0, 1))


def fixed_sigmoid(values: numpy.ndarray, factor: tuple[int, int]) -> numpy.ndarray:
    """Returns the sigmoids of stored int16 values (zero point 0) in units of 2^-15; int64."""
    places = _places(values, factor)
    found = _between(numpy.abs(places), PLACE_BITS)
    found = numpy.where(places >= 0, found, (1 << 25) - found - 1)
    return (found + (1 << 9)) >> 10


def fixed_tanh(values: numpy.ndarray, factor: tuple[int, int]) -> numpy.ndarray:
    """Returns the tanh, 2 * sigmoid(2 x) - 1, of stored int16 values (zero point 0) in units of 2^-15; int64."""
    places = _places(values, factor)
    found = _between(numpy.abs(places), PLACE_BITS - 1) - (1 << 23)
    return (numpy.where(places >= 0, found, -found - 1) + (1 << 7)) >> 8


def _places(values: numpy.ndarray, factor: tuple[int, int]) -> numpy.ndarray:
    multiplier, shift = factor
    return (values.astype(numpy.int64) * multiplier + ((1 << shift) >> 1)) >> shift


def _between(places: numpy.ndarray, bits: int) -> numpy.ndarray:
    """Returns the linear interpolation between two entries, times 2^bits; the largest number from the last entry on."""
    table = numpy.array([*sigmoid_table(), 0], numpy.int64)
    at = numpy.minimum(places >> bits, ENTRIES - 1)
    line = (table[at] << bits) + (places & ((1 << bits) - 1)) * (table[at + 1] - table[at])
    return numpy.where(at == ENTRIES - 1, _LARGEST[bits], line)


_LARGEST = {PLACE_BITS: 0x7FFF << 10, PLACE_BITS - 1: 0xFFFF << 8}
