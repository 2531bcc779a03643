# SPDX-License-Identifier: MIT
"""Numbers of a layer as the kernels read them: weights group by group, and how its sums become outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.arithmetic.lines import Line, line
from aidge_build.arithmetic.near_halves import START, near_factors, near_is_exact
from aidge_build.contract.call import computed
from aidge_build.kernel_kit.linear_int8 import Linear

FIELD = 23  # bits of the first of two pixels' sums
SHIFTS = (0, 4, 8)  # of the line, in order of preference: few, so that few texts differ
LINE_NUMBERS, NEAR_NUMBERS = 3, 5  # words of a channel


@dataclass(frozen=True, eq=False)
class Form:
    """How sums become outputs: by a line that is proved for every sum, or by one that says where it might be wrong (`is_near`).

    `channels` [channels, words]: factor, and start as low and high word, which holds the bias, too; of a near one also the bias
    and the float32 multiplier. A factor and a low word of 0 say that every sum might be wrong.
    """

    channels: numpy.ndarray
    shift: int
    is_near: bool
    is_clamped: bool
    proved: int  # channels of which no sum, or one in 512, takes the float formula

    @property
    def variant(self) -> str:
        """What the text of a kernel depends on, for its name."""
        return ("near" if self.is_near else f"line{self.shift}") + "_clamped" * self.is_clamped

    @property
    def numbers(self) -> int:
        """Words of a channel."""
        return NEAR_NUMBERS if self.is_near else LINE_NUMBERS

    @property
    def note(self) -> str:
        how = "proved in integers" if not self.is_near else "in integers beside the middle of two levels, there in float"
        return f"requantization of {self.proved} of {len(self.channels)} channels {how}"

    def facts(self, block: str) -> dict[str, str]:
        """For `Call.facts`."""
        return {**computed(block, self.proved, len(self.channels), "channel"), "weights": "int8"}


def form_of(linear: Linear) -> Form:
    """The cheapest exact form of all channels."""
    stairs, free = linear.staircase(), bool(linear.free_of_clamp.all())
    count = len(linear.rows)
    for shift in SHIFTS:
        found = line(stairs, shift)
        if (found.multipliers > 0).all():
            return Form(_line_words(linear, found), shift, False, not free, count)
    words, proved = _near_words(linear)
    return Form(words, 0, True, not free, proved)


def _line_words(linear: Linear, found: Line) -> numpy.ndarray:
    return _words(found.multipliers, found.starts + linear.bias * found.multipliers)


def _near_words(linear: Linear) -> tuple[numpy.ndarray, int]:
    factors = near_factors(linear.factors)
    exact = near_is_exact(linear.factors, linear.largest) & (factors > 0)
    factors = numpy.where(exact, factors, 0)
    starts = numpy.where(exact, START + (linear.zero_point << 32) + linear.bias * factors, 0)
    words = _words(factors, starts)
    extra = numpy.stack([as_words(linear.bias), linear.factors.astype(numpy.float32).view(numpy.int32)], axis=1)
    return numpy.concatenate([words, extra], axis=1), int(exact.sum())


def _words(factors: numpy.ndarray, starts: numpy.ndarray) -> numpy.ndarray:
    return numpy.stack([as_words(factors), as_words(starts), as_words(starts >> 32)], axis=1)


def as_words(values: numpy.ndarray) -> numpy.ndarray:
    """The low 32 bits."""
    return (numpy.asarray(values, numpy.int64) & 0xFFFFFFFF).astype(numpy.uint32).view(numpy.int32)


def sums_fit(rows: numpy.ndarray) -> bool:
    """Whether the sum of every row [rows, taps] with int8 inputs fits the field of a pixel."""
    ends = [rows.astype(numpy.int64) * end for end in (-128, 127)]
    low, high = numpy.minimum(*ends).sum(axis=1), numpy.maximum(*ends).sum(axis=1)
    return bool((low >= -(1 << (FIELD - 1))).all() and (high < 1 << (FIELD - 1)).all())


def group_starts(channels: int, size: int) -> list[int]:
    """First channels of groups that cover all channels; the last group overlaps the one before where that is needed."""
    return [min(first, channels - size) for first in range(0, channels, size)]


def grouped(rows: numpy.ndarray, size: int) -> numpy.ndarray:
    """Weights [channels, taps] as the groups read them: tap by tap those of `size` channels; int8."""
    return numpy.concatenate([rows[first : first + size].T.ravel() for first in group_starts(len(rows), size)]).astype(numpy.int8)


def grouped_numbers(form: Form, size: int) -> numpy.ndarray:
    """The channels' words in the order of the groups."""
    return numpy.concatenate([form.channels[first : first + size].ravel() for first in group_starts(len(form.channels), size)])


def taps_last_channels(weights: numpy.ndarray) -> numpy.ndarray:
    """Weights [outputs, channels, kernel...] as [outputs, kernel... * channels], channels fastest."""
    return numpy.moveaxis(weights, 1, -1).reshape(weights.shape[0], -1)
