# SPDX-License-Identifier: MIT
"""Numbers of a layer as the kernels read them: weights group by group, and how its sums become outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.contract.call import computed
from aidge_build.contract.kernel_kit.byte_weights import offsets_of
from aidge_build.contract.kernel_kit.linear_int8 import Linear
from aidge_build.contract.kernel_kit.packing import as_words, group_starts
from aidge_build.operators.arithmetic.lines import Line, line
from aidge_build.operators.arithmetic.near_halves import near_is_exact

FIELD = 23  # bits of the first of two pixels' sums
SHIFTS = (0, 4, 8)  # of the line, in order of preference: few, so that few texts differ
CHANNEL_WORDS = 3  # words of a channel
NIBBLE_BITS = 4
ZERO_POINTS = 256  # how many there are
_NOT_NEAR = 1 << 31


@dataclass(frozen=True, eq=False)
class Form:
    """How sums become outputs: by a line of which it is proved that it gives every level, or exactly.

    `channels` [channels, 3]: factor, and start as low and high word, which holds the bias, too; where no line is proved 0, bias
    and the float32 multiplier, whose sign says that not even arithmetic/near_halves.py is exact. Both are for sums in fractions
    of their unit, which have `fine_bits`, where these are not 0.
    """

    channels: numpy.ndarray
    shift: int
    is_clamped: bool
    proved: int
    fine_bits: int
    has_offsets: bool  # whether the weights are bytes but for an offset of each channel
    is_any: bool  # whether other weights, of which fewer lines are proved, must find the same text
    has_nibbles: bool = False  # whether two weights share a byte

    @property
    def is_proved(self) -> bool:
        """Whether every channel has a line."""
        return self.proved == len(self.channels) and not self.is_any

    @property
    def variant(self) -> str:
        """The properties on which the text of a kernel depends, for its name."""
        some = "" if self.is_proved else "_fine" if self.fine_bits else "_some"
        return f"line{self.shift}{some}{'_clamped' * self.is_clamped}{'_offset' * self.has_offsets}{'_w4' * self.has_nibbles}"

    @property
    def family(self) -> str:
        """For names of functions whose instructions are predicted apart from others."""
        return "_nibbles" * self.has_nibbles

    @property
    def is_fine(self) -> str:
        """For the text of a function."""
        return str(int(self.fine_bits > 0))

    @property
    def note(self) -> str:
        weights = "; weights are bytes and an offset" if self.has_offsets else "; two weights per byte" * self.has_nibbles
        return f"requantization of {self.proved} of {len(self.channels)} channels is a proved line{weights}"

    def facts(self, block: str) -> dict[str, str]:
        """For `Call.facts`."""
        return {
            **computed(block, self.proved, len(self.channels), "channel"),
            "weights": "2 per byte" if self.has_nibbles else "int8",
        }


def form_of(linear: Linear) -> Form:
    """The line that is proved for most channels."""
    stairs, free = linear.staircase(), not linear.is_clamped if linear.is_any else bool(linear.free_of_clamp.all())
    best, shift = line(stairs, SHIFTS[0]), SHIFTS[0]
    for other in () if linear.is_any else SHIFTS[1:]:
        if (best.multipliers > 0).all():
            break
        found = line(stairs, other)
        if (found.multipliers > 0).sum() > (best.multipliers > 0).sum():
            best, shift = found, other
    is_proved = best.multipliers > 0
    fine_bits = linear.unit.bit_length() - 1 if linear.fractions[~is_proved].any() else 0
    others = _float_words(linear.in_fine_units() if fine_bits else linear)
    words = numpy.where(is_proved[:, None], _line_words(linear, best), others)
    return Form(words, shift, not free, int(is_proved.sum()), fine_bits, bool(offsets_of(linear.rows).any()), linear.is_any)


def head(linear: Linear, form: Form) -> numpy.ndarray:
    """The words before the channels: the output's limits and zero point, with the bits of a fraction above its byte,
    the input's zero point."""
    point = linear.zero_point + ZERO_POINTS * form.fine_bits
    return as_words(numpy.array([*linear.clamp, point, linear.input_zero_point]))


def _line_words(linear: Linear, found: Line) -> numpy.ndarray:
    starts = found.starts + linear.bias * found.multipliers
    return numpy.stack([as_words(found.multipliers), as_words(starts), as_words(starts >> 32)], axis=1)


def _float_words(linear: Linear) -> numpy.ndarray:
    bits = linear.factors.astype(numpy.float32).view(numpy.uint32).astype(numpy.int64)
    bits = numpy.where(near_is_exact(linear.factors, linear.largest), bits, bits | _NOT_NEAR)
    return numpy.stack([as_words(numpy.zeros(len(bits))), as_words(linear.bias), as_words(bits)], axis=1)


def sums_fit(rows: numpy.ndarray) -> bool:
    """Whether the sum of every row [rows, taps...] with int8 inputs fits the field of a pixel."""
    ends = [rows.reshape(len(rows), -1).astype(numpy.int64) * end for end in (-128, 127)]
    low, high = numpy.minimum(*ends).sum(axis=1), numpy.maximum(*ends).sum(axis=1)
    return bool((low >= -(1 << (FIELD - 1))).all() and (high < 1 << (FIELD - 1)).all())


def with_offsets(rows: numpy.ndarray) -> numpy.ndarray:
    """Weights [channels, taps] as bytes, and before the taps what they lack; as they are where that is nothing."""
    offsets = offsets_of(rows)[:, None]
    return numpy.concatenate([offsets, rows - offsets], axis=1) if offsets.any() else rows


def grouped(rows: numpy.ndarray, size: int, has_nibbles: bool = False) -> numpy.ndarray:
    """Weights [channels, taps] as the groups read them: tap by tap those of `size` channels; int8, or two in each byte."""
    if has_nibbles:
        pairs = grouped(rows, size).reshape(-1, 2)
        return (pairs[:, 0] & 15) | (pairs[:, 1] << 4)
    return numpy.concatenate([rows[first : first + size].T.ravel() for first in group_starts(len(rows), size)]).astype(numpy.int8)


def grouped_numbers(channels: numpy.ndarray, size: int) -> numpy.ndarray:
    """The words of channels [channels, 3] in the order of the groups."""
    return numpy.concatenate([channels[first : first + size].ravel() for first in group_starts(len(channels), size)])
