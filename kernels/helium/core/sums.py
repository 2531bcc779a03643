# SPDX-License-Identifier: MIT
"""Arithmetic in 32-bit lanes that is proved equal to the real formulas before it is used."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy

from aidge_build.contract.kernel_kit.linear_int8 import INT8
from aidge_build.operators.arithmetic.affine import FIRST, SECOND

NARROWED = 16  # bits that the first narrowing drops; the second one rounds
SHIFTS = (21, 22, 20, 19, 18, 17)  # the first one serves nearly all scales: it stands in the code
FARTHEST = 5  # from a rounded factor
HARDEST = 4096  # pairs nearest to the middle between two levels, which are tried first
NUDGES = sorted(
    itertools.product(range(-FARTHEST, FARTHEST + 1), repeat=2), key=lambda nudge: (abs(nudge[0]) + abs(nudge[1]), nudge)
)


def proved_sum(
    ratios: tuple[Fraction, Fraction], zero_points: tuple[int, ...], meaning: numpy.ndarray
) -> tuple[int, int, int, int] | None:
    """(A, B, C, shift) so that saturate(((a * A + b * B + C) >> 16, rounded half up, >> shift - 16)) is `meaning`, the stored sum
    of a and b, for all 65,536 pairs of stored values; None when there are none."""
    exact = float(ratios[0]) * (FIRST - zero_points[0]) + float(ratios[1]) * (SECOND - zero_points[1])
    distance = numpy.abs(exact - numpy.floor(exact) - 0.5).ravel()
    near = numpy.argpartition(distance, HARDEST)[:HARDEST]
    hard = FIRST.ravel()[near], SECOND.ravel()[near], meaning.ravel()[near]
    for shift in SHIFTS:
        for nudge in NUDGES:
            first, second = (round(ratio * (1 << shift)) + change for ratio, change in zip(ratios, nudge))
            nominal = (zero_points[2] << shift) - zero_points[0] * first - zero_points[1] * second
            offset = _offset(hard, first, second, nominal, shift)
            if offset is None:
                continue
            largest = 128 * (abs(first) + abs(second)) + abs(offset)
            if max(abs(first), abs(second), abs(offset), largest) >= 1 << 31:
                break
            if numpy.array_equal(_lanes(FIRST, SECOND, first, second, offset, shift), meaning):
                return first, second, offset, shift
    return None


def _offset(pairs, first: int, second: int, nominal: int, shift: int) -> int | None:
    """In the middle of those that give the levels of these pairs, if any; levels at an end of int8 bound it on one side."""
    a, b, wanted = pairs
    sums = a * first + b * second + (1 << (shift - 1))
    least = ((wanted << shift) - sums)[wanted > INT8[0]].max(initial=nominal - (1 << (shift - 5)))
    most = (((wanted + 1) << shift) - 1 - sums)[wanted < INT8[1]].min(initial=nominal + (1 << (shift - 5)))
    return int(least + most) // 2 if least <= most else None


def _lanes(a, b, first: int, second: int, offset: int, shift: int) -> numpy.ndarray:
    narrow = (a * first + b * second + offset) >> NARROWED
    rounded = (narrow + (1 << (shift - NARROWED - 1))) >> (shift - NARROWED)
    return numpy.clip(rounded, *INT8)
