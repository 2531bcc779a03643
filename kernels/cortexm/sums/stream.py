# SPDX-License-Identifier: MIT
"""The contents of a stream of words, for the texts that read it; dense.h says the places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.contract.call import computed

from ..core.conditions import GROUP
from ..core.limits import Limits
from .curves import Curve
from .weights import Weights

INTEGER = 1
ROUNDED = 0
STATED = -1
EVEN = -2
FIXED_WORDS = 12  # multiplier, constant and shift of the 4 channels of a group
CENTRE_WORDS = 2  # of the odd channels of a group, before its factors


@dataclass(frozen=True, eq=False)
class Stream:
    """`words` as in dense.h; `shift` of the integer form.

    `form`: INTEGER or ROUNDED where every group has that form and no group overlaps another (the stream then does not
    say it, and outputs follow each other), else STATED, or EVEN where groups of both forms are as long as each other, too.
    `is_near`: without an FPU, whether a product of 64 bits gives the levels of all groups that are not proved.
    `fixed`: groups that are not proved are requantized by fixed-point factors, which round "once" or "twice"; "": in float.
    """

    words: numpy.ndarray
    weights: Weights
    limits: Limits
    shift: int
    groups: int
    proved: int  # groups whose requantization is proved in integers
    form: int
    has_fpu: bool
    is_near: bool
    has_fractions: bool = False  # packed, and float forms add fractions of the biases of even channels; or without an FPU
    fraction_bits: int = 0  # without an FPU, those of any channel, of this many bits
    sums_round: bool = False  # float forms round by a sum, which adds an even zero point, too; all levels fit 16 bits
    fixed: str = ""
    leaves_words: bool = False  # registers hold the channels of WORD_SLOTS, whose levels leave as a word in every form
    is_centred: bool = False  # packed, and where nothing is proved odd sums lack the middle of their range, which is added
    few: int = 0  # of fewer than 4 output channels how many there are; the last one then stands for those that lack
    curve: Curve | None = None  # sums go through a function, whose table stands behind the groups; nothing is proved
    is_uniform: bool = False  # all channels have one float factor: those of a group follow the head, and no group has its own
    is_joined: bool = False  # 6 words at the begin of a group hold its biases and its float factors
    is_paired: bool = False  # sums of a row are products of pairs (paired_inputs.py): of even channels if packed, else of all
    pools: bool = False  # of two pixels only the larger sum of each channel becomes a level
    sums: int = 0  # weights have offsets: so many words hold negated sums of all taps (offset_weights.py)

    @property
    def group_bytes(self) -> int:
        """The bytes of head and groups, without the table of a curve."""
        return self.words.nbytes - 4 * (len(self.curve.entries) if self.curve else 0)

    @property
    def bias_words(self) -> int:
        """The words of a group before its weights."""
        return 6 if self.is_joined else GROUP

    @property
    def is_half(self) -> bool:
        """Whether only the first two channels of the group have weights."""
        return 0 < self.few <= GROUP // 2

    @property
    def is_sparse(self) -> bool:
        """Whether blocks without weights are left out."""
        return self.weights.is_sparse

    @property
    def is_packed(self) -> bool:
        """Whether sums of odd channels carry those of even ones."""
        return self.weights.is_packed

    @property
    def levels_are_small(self) -> bool:
        """Whether they fit 16 bits before they are limited."""
        are_small = self.is_packed or self.weights.minus != 0  # or else a layer does not have these weights
        return self.sums_round or (are_small and not self.is_centred)

    @property
    def is_stated(self) -> bool:
        return self.form < 0

    @property
    def fixed_form(self) -> str:
        """How factors round where the text has them: not where every group is proved."""
        return "" if self.form == INTEGER else self.fixed

    @property
    def variant(self) -> str:
        """The part of a kernel's name that says on which properties of the stream its text depends."""
        weights = f"{self.weights.name}{'_pooled' * self.pools}{f'_offsets{self.sums}' * (self.weights.above > 0)}"
        weights += f"{'_fractions' * self.has_fractions}{self.fraction_bits or ''}"
        weights += "_centred" * self.is_centred + "_uniform" * self.is_uniform + "_joined" * self.is_joined
        weights += f"{'_sums' * self.sums_round}{'_words' * self.leaves_words}{f'_few{self.few}' * (self.few > 0)}"
        if self.curve:
            return f"{weights}{self.curve.variant}"
        form = {STATED: "", EVEN: "_even", INTEGER: "_integer", ROUNDED: "_float"}[self.form]
        core = "" if self.has_fpu else "_soft" if self.is_near else "_soft_exact"
        core += f"_{self.fixed_form}" if self.fixed_form else ""
        return f"{weights}_s{self.shift}{self.limits.variant}{form}{core}"

    def padding(self, is_proved: bool) -> int:
        """Bytes that follow the factors of groups that are proved or not, where streams are even."""
        integers = 8 if self.leaves_words and not self.is_packed else 6
        if self.fixed:
            others = FIXED_WORDS
        elif self.has_fpu:
            others = GROUP + 2 * self.has_fractions
        else:
            others = 2 * GROUP * (2 if self.fraction_bits else 1)
        others += CENTRE_WORDS * self.is_centred
        return 4 * max(others - integers if is_proved else integers - others, 0) * (self.form == EVEN)

    def left_to_step(self, step: int, channels: int) -> int:
        """How far the output still is from the next pixels', after all groups of `channels`, if it was `step` before the
        first."""
        return step if self.is_stated else step - channels

    @property
    def note(self) -> str:
        if self.curve:
            return f"{self.weights.note}, {self.curve.note}"
        return (
            f"{self.weights.note}, requantization of {self.proved} "
            f"of {self.groups} groups of channels proved in integers, of the others in "
            f"{otherwise(self.has_fpu, self.is_near, self.fixed)}"
        )

    def facts(self, pixels: int = 2) -> dict[str, str]:
        """For `Call.facts`: blocks of this many pixels."""
        block = f"{pixels} pixels x {GROUP} channels" if pixels > 1 else f"1 row x {self.few or GROUP} outputs"
        otherwise = "fixed point" if self.fixed else "one word for each cell" if self.curve else "float"
        return {
            **computed(block, self.proved, self.groups, otherwise=otherwise),
            "weights": self.weights.fact,
        }


def otherwise(has_fpu: bool, is_near: bool, fixed: str = "") -> str:
    """How sums are requantized whose integer form is not proved."""
    if fixed:
        return f"fixed point that rounds {fixed}"
    return "float" if has_fpu else "64 bits" if is_near else "the integers of float"
