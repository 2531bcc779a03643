# SPDX-License-Identifier: MIT
"""Streams of words in the order in which the kernels read them: per group of 4 output channels bias, weights, multipliers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.arithmetic.thresholds import HighForm, LowForm
from aidge_build.contract.call import computed
from aidge_build.kernel_kit.linear_int8 import IntegerForm, Linear, best_form, fits_fraction, integer_forms

from .conditions import GROUP

STATED = -1
EVEN = -2
_LARGEST_ROUNDED = 32000  # |rint(acc * M)| below it fits 16 bits with room


@dataclass(frozen=True, eq=False)
class Stream:
    """`words` as in dense.h; `is_packed`: two int8 weights share a halfword; `shift` of the integer form.

    `form`: 1 or 0 where every group has the integer or the float form and no group overlaps another (the stream then does not
    say it, and outputs follow each other), else STATED, or EVEN where groups of both forms are as long as each other, too.
    """

    words: numpy.ndarray
    is_packed: bool
    is_clamped: bool
    shift: int
    groups: int
    proved: int  # groups whose requantization is proved in integers
    form: int

    @property
    def is_stated(self) -> bool:
        return self.form < 0

    @property
    def variant(self) -> str:
        """What the text of a kernel depends on, for its name."""
        form = {STATED: "", EVEN: "_even"}.get(self.form, "_integer" if self.form else "_float")
        return f"{'packed' if self.is_packed else 'wide'}_s{self.shift}{'_clamped' if self.is_clamped else ''}{form}"

    @property
    def numbers(self) -> str:
        """The last arguments of the C versions."""
        return f"{self.is_packed:d}, {self.shift}, {self.form}"

    def left_to_step(self, step: int, channels: int) -> int:
        """How far the output still is from the next pixels', after all groups of `channels`, if it was `step` before the
        first."""
        return step if self.is_stated else step - channels

    @property
    def note(self) -> str:
        return (
            f"{'two weights per halfword' if self.is_packed else 'int16 weights'}, requantization of {self.proved} "
            f"of {self.groups} groups of channels proved in integers, of the others in float"
        )

    def facts(self, pixels: int = 2) -> dict[str, str]:
        """For `Call.facts`: blocks of this many pixels."""
        block = f"{pixels} pixels x {GROUP} channels" if pixels > 1 else f"1 row x {GROUP} outputs"
        return {**computed(block, self.proved, self.groups), "weights": "2 per halfword" if self.is_packed else "int16"}


def group_starts(channels: int, size: int = GROUP) -> list[int]:
    """First channels of groups that cover all channels; the last group overlaps the one before where that is needed."""
    return [min(first, channels - size) for first in range(0, channels, size)]


def pack(linear: Linear, order: list[int]) -> Stream:
    """The stream for taps in this order (-1: a tap of weight 0), an even number of them."""
    return pack_blocks(linear, order, len(linear.rows))


def pack_blocks(linear: Linear, order: list[int], size: int, by_tap: bool = False) -> Stream:
    """Streams one behind the other, as long as each other and for one text, of blocks of `size` channels. `by_tap`: never packed,
    of each tap the weights of channels 0 and 2, then 1 and 3."""
    rows = numpy.where(numpy.array(order) < 0, 0, linear.rows[:, order])
    blocks, within = range(0, len(rows), size), group_starts(size)
    starts = [block + first for block in blocks for first in within]
    is_packed = not by_tap and _can_pack(linear, rows, starts)
    form = best_form(
        integer_forms(linear, high=is_packed, is_tuned=is_packed),
        lambda candidate: sum(_is_proved(candidate, first, is_packed) for first in starts),
        len(starts),
    )
    head = [
        _pair(linear.zero_point + 128, linear.zero_point + 128),
        _pair(linear.clamp[0] + 128, linear.clamp[1] + 128),
        (linear.input_zero_point & 0xFF) * 0x01010101,
    ]
    proofs = {first: _is_proved(form, first, is_packed) for first in starts}
    is_mixed, words = len(set(proofs.values())) > 1, []
    stated, is_even = size % GROUP > 0 or is_mixed, is_mixed and len(blocks) > 1
    for block in blocks:
        words += head
        for first in within:
            is_proved = proofs[block + first]
            statement = [first << 1 | int(is_proved)] if stated else []
            chosen = rows[block + first : block + first + GROUP]
            weights = _weights_by_tap(chosen) if by_tap else _weights(chosen, is_packed)
            words += _group(linear, weights, form, block + first, is_packed, is_proved, statement)
            words += [0, 0] if is_even and not is_proved else []  # a float form takes two words less
    return Stream(
        as_words(words),
        is_packed,
        linear.is_clamped,
        form.shift,
        len(starts),
        sum(proofs.values()),
        EVEN if is_even else STATED if stated else int(proofs[0]),
    )


def _is_proved(form: IntegerForm, first: int, is_packed: bool) -> bool:
    return all(slot.multipliers[first + index] > 0 for index, slot in enumerate(_slots(form, is_packed)))


def _slots(form: IntegerForm, is_packed: bool) -> tuple[LowForm | HighForm, ...]:
    """The form of each of the 4 channels of a group."""
    return (form.low, form.high if is_packed else form.low) * 2


def _can_pack(linear: Linear, rows: numpy.ndarray, starts: list[int]) -> bool:
    """Whether 256 * high + low fits a halfword for all weights, and 256 * accumulator fits a word, in all pairs of channels."""
    for first in starts:
        for low, high in ((first, first + 1), (first + 2, first + 3)):
            halves = 256 * rows[high] + rows[low]
            if halves.size and (halves.min() < -32768 or halves.max() > 32767):
                return False
    rounded = linear.largest * linear.factors.astype(numpy.float64) < _LARGEST_ROUNDED
    return bool((fits_fraction(linear) & rounded).all())


def _group(
    linear: Linear, weights: list[int], form: IntegerForm, first: int, is_packed: bool, is_proved: bool, statement: list[int]
) -> list[int]:
    channels = [first + index for index in range(GROUP)]
    slots = _slots(form, is_packed)
    bias = [int(linear.bias[channel]) for channel in channels]
    for index, (channel, slot) in enumerate(zip(channels, slots)):
        is_high = isinstance(slot, HighForm)
        if not is_high:
            bias[index] += int(slot.extras[channel]) if is_proved else 0
        else:
            bias[index] = 256 * bias[index] + (int(slot.offsets[channel]) if is_proved else 0) + bias[index - 1]
    if is_proved:
        multipliers = [int(slot.multipliers[channel]) for slot, channel in zip(slots, channels)]
        constants = [int(form.low.constants[channel]) for channel in channels]
        factors = [*multipliers[:2], constants[0], *multipliers[2:], constants[2]]
    else:
        scales = numpy.array([1, 1 / 256] * 2 if is_packed else [1] * 4, numpy.float32)
        factors = (linear.factors[first : first + GROUP] * scales).view(numpy.uint32).tolist()
    return [*bias, *weights, *statement, *factors]


def _weights(rows: numpy.ndarray, is_packed: bool) -> list[int]:
    """Per pair of taps: two words of packed channel pairs, or four words of one channel each."""
    halves = numpy.stack([256 * rows[1] + rows[0], 256 * rows[3] + rows[2]]) if is_packed else rows
    pairs = (halves[:, 0::2] & 0xFFFF) | ((halves[:, 1::2] & 0xFFFF) << 16)
    return pairs.T.ravel().tolist()


def _weights_by_tap(rows: numpy.ndarray) -> list[int]:
    return ((rows[:2] & 0xFFFF) | ((rows[2:] & 0xFFFF) << 16)).T.ravel().tolist()


def _pair(low: int, high: int) -> int:
    return (low & 0xFFFF) | ((high & 0xFFFF) << 16)


def as_words(values: list[int]) -> numpy.ndarray:
    return (numpy.array(values, numpy.int64) & 0xFFFFFFFF).astype(numpy.uint32).view(numpy.int32)


def quads(taps: int) -> list[int]:
    """The order in which SXTB16 unpacks words of 4 taps: (0, 2), (1, 3)."""
    return [first + step for first in range(0, taps, 4) for step in (0, 2, 1, 3)]


def taps_last_channels(weights: numpy.ndarray) -> numpy.ndarray:
    """Weights [outputs, channels, kernel...] as [outputs, kernel... * channels], channels fastest."""
    return numpy.moveaxis(weights, 1, -1).reshape(weights.shape[0], -1)
