# SPDX-License-Identifier: MIT
"""Streams of words in the order in which the kernels read them: per group of 4 output channels bias, weights, multipliers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy

from aidge_build.contract.kernel_kit.joined import joined_words
from aidge_build.contract.kernel_kit.linear_int8 import (
    ABOVE,
    INT8,
    IntegerForm,
    Linear,
    best_form,
    fine_form,
    integer_forms,
    word_forms,
)
from aidge_build.contract.kernel_kit.packing import as_words, group_starts, taps_last_channels
from aidge_build.contract.spec import NodeView
from aidge_build.operators.arithmetic.near_halves import near_factors, near_is_exact, near_starts
from aidge_build.operators.arithmetic.thresholds import HighForm, LowForm

from ..core.conditions import GROUP
from ..core.limits import Limits, compared, limits_of
from .offset_weights import SUM, less_offsets
from .packed_sums import are_centred, are_rounded_small, centres_of
from .paired_inputs import less_products
from .stream import EVEN, INTEGER, ROUNDED, STATED, Stream
from .weights import OF_PIXELS, OFFSETS, QUAD, Weights

SLOTS = (0, 1, 2, 3)  # channels of a group in the order of their registers
WORD_SLOTS = (0, 2, 1, 3)  # where two registers become halves of one, whose bytes are then interleaved
WORDS_GAIN = 16  # instructions that a proved group of two pixels saves where words are stored
BYTES_GAIN = 13  # and where bytes are
TEXT_WORTH = 1  # instructions of a group that a text for words must save at least: other layers may have the one for bytes


@dataclass(frozen=True)
class Asked:
    """The demands of a layer on its stream."""

    has_fpu: bool
    is_alike: bool = False  # all channels have one multiplier and one range: two unpacked channels can share a constant
    is_even: bool = False  # groups of one block are as long as each other
    is_row: bool = False  # one pixel at a time; its output waits where words of unpacked pairs have a second constant
    is_short: bool = False  # with an FPU all groups are requantized in float, whose factors take the fewest bytes
    few: int = 0  # how many channels of the only group there are, if not all
    encodings: tuple[Weights, ...] = OF_PIXELS  # of weights, as the layer prefers them
    has_sums: bool = False  # among its taps there are sums
    may_share: bool = False  # one float factor of all channels may stand once
    may_join: bool = False  # biases and float factors may stand in 6 words

    @property
    def is_few_row(self) -> bool:
        """Whether each of few channels has weights of its own alone, which share no halfword."""
        return self.is_row and self.few > 0

    @property
    def is_half(self) -> bool:
        """Whether only the first two channels of the group have weights."""
        return 0 < self.few <= GROUP // 2

    @property
    def channels(self) -> int:
        """The number of channels of a group that have weights."""
        return self.few if self.is_few_row else GROUP // 2 if self.is_half else GROUP

    def may_prove(self, linear: Linear) -> bool:
        """Whether groups may be requantized in integers."""
        return not (self.is_short and self.has_fpu) or linear.fixed_form() is not None

    def may_leave_words(self, linear: Linear) -> bool:
        """Whether levels may leave as words."""
        others = self.is_alike or self.is_even or self.is_half or self.is_few_row
        return self.has_fpu and not others and (linear.is_any or bool(are_rounded_small(linear).all()))


def pack(linear: Linear, order: list[int], has_fpu: bool, **asked: Any) -> Stream:
    """The stream for taps in this order (-1: a tap of weight 0; SUM: as in offset_weights.py, where weights need it), an even
    number of them; `asked`: fields of `Asked`."""
    size = len(linear.rows)
    few = size if size < GROUP else 0
    if few:
        linear, size = linear.of(numpy.minimum(range(GROUP), few - 1)), GROUP
    return pack_blocks(linear, order, size, has_fpu, few=few, **asked)


def pack_blocks(linear: Linear, order: list[int], size: int, has_fpu: bool, **asked: Any) -> Stream:
    """Streams one behind the other, as long as each other and for one text, of blocks of `size` channels; the rest as of
    `pack`."""
    wishes, blocks = Asked(has_fpu, has_sums=SUM in order, **asked), range(0, len(linear.rows), size)
    limits = _limits(linear)
    starts = [block + first for block in blocks for first in group_starts(size)]
    groups = _choose(linear if limits.is_more else replace(linear, clamp=INT8), starts, wishes, limits)
    has_offsets = groups.weights is OFFSETS
    sums = order.count(SUM) // 2 if groups.weights.wants_sums else 0
    order = order if has_offsets else [tap for tap in order if tap != SUM]
    stream = _encoding(groups, wishes, size, limits, sums)
    taps = numpy.array(order, numpy.int64)
    rows = numpy.where(taps < 0, 0, groups.linear.rows[:, numpy.maximum(taps, 0)])
    rows = less_offsets(rows) if has_offsets else rows
    words: list[int] = []
    for block in blocks:
        words += _head(linear)
        words += groups.factors(0, False) if stream.is_uniform else []
        for first in group_starts(size):
            weights = rows[groups.channels(block + first)]
            own = groups.joined(block + first) if stream.is_joined else groups.biases(block + first)
            multiplied = stream.weights.multiplied(weights)
            words += less_products(own, multiplied, order, stream.weights.paired_step) if stream.is_paired else own
            words += stream.weights.words(weights[: wishes.channels])
            words += groups.behind_weights(block + first, first, stream)
    return replace(stream, words=as_words(words))


def _choose(linear: Linear, starts: list[int], asked: Asked, limits: Limits) -> _Groups:
    """The groups of the layer, of which as many as possible are requantized in integers."""
    groups = _Groups(linear, starts, SLOTS, asked)
    if asked.may_leave_words(linear):
        words = _Groups(linear, starts, WORD_SLOTS, asked)
        gain = WORDS_GAIN * words.proved - BYTES_GAIN * groups.proved
        gain = TEXT_WORTH * len(starts) * (not limits.is_more) if linear.is_any else gain
        fits = words.is_packed or ((words.fixed or words.weights.minus) and not asked.is_row)
        if gain >= TEXT_WORTH * len(starts) and fits:
            groups = words
    if groups.has_fractions and not (groups.fraction_bits or groups.is_packed and asked.has_fpu):
        alone = replace(asked, encodings=tuple(weights for weights in asked.encodings if not weights.is_packed))
        groups = _Groups(linear.in_fine_units(), starts, SLOTS, alone, fine_form)
    return groups


def _encoding(groups: _Groups, asked: Asked, size: int, limits: Limits, sums: int) -> Stream:
    """The stream without its words."""
    is_uniform, is_joined = _short_factors(groups, asked)
    return Stream(
        words=numpy.zeros(0, numpy.int32),
        weights=groups.weights,
        limits=limits,
        shift=groups.form.shift,
        groups=len(groups.starts),
        proved=groups.proved,
        form=_form(groups, asked, size),
        has_fpu=asked.has_fpu,
        is_near=bool(groups.fixed) or not groups.linear.is_any and groups.are_near,
        has_fractions=groups.has_fractions,
        fraction_bits=groups.fraction_bits,
        sums_round=groups.sums_round,
        fixed=groups.fixed,
        leaves_words=groups.leave_words,
        is_centred=groups.is_centred,
        few=asked.few,
        is_uniform=is_uniform,
        is_joined=is_joined,
        is_paired=asked.is_row and not (asked.few or is_joined) and groups.weights.paired_step > 0,
        sums=sums,
    )


def _form(groups: _Groups, asked: Asked, size: int) -> int:
    """As of a Stream, of blocks of `size` channels."""
    is_any = groups.linear.is_any and groups.may_prove  # which groups are proved depends on the weights: the stream says it
    is_mixed = is_any or 0 < groups.proved < len(groups.starts)
    if is_mixed and (is_any or asked.is_even or len(groups.linear.rows) > size):
        return EVEN
    if is_mixed or size % GROUP or (asked.few and not asked.is_row):
        return STATED
    return INTEGER if groups.proved else ROUNDED


def _short_factors(groups: _Groups, asked: Asked) -> tuple[bool, bool]:
    """Whether one float factor stands for all channels, and else whether factors stand in the words of the biases."""
    linear = groups.linear
    others = groups.proved or groups.fixed or groups.has_fractions or groups.is_centred or linear.is_any
    if not asked.has_fpu or others:
        return False, False
    if asked.may_share and len(groups.starts) > 1 and len(set(linear.factors.tolist())) == 1:
        return True, False
    return False, asked.may_join and not asked.is_few_row and all(groups.joined(first) for first in groups.starts)


def _head(linear: Linear) -> list[int]:
    """The first words."""
    ends = _pair(linear.clamp[0] + 128, linear.clamp[1] + 128)
    return [_pair(linear.zero_point + 128, linear.zero_point + 128), ends, (linear.input_zero_point & 0xFF) * 0x01010101]


def _limits(linear: Linear) -> Limits:
    """The limits of levels that become bytes of words: the limits of int8, of its upper half, or any."""
    limits = limits_of(linear.clamp)
    return limits if limits in (Limits("ssat", 8), Limits("usat", 7)) else compared(linear.clamp)


class _Groups:
    """Groups of 4 channels in the order of their sums' registers, of which the second and the fourth carry fraction bits if the
    layer `is_packed`; `form` requantizes them. With WORD_SLOTS the levels of a pixel leave as a word."""

    def __init__(
        self,
        linear: Linear,
        starts: list[int],
        slots: tuple[int, ...],
        asked: Asked,
        form: Callable[[Linear], IntegerForm] | None = None,
    ):
        self.linear, self.starts, self.slots, self.asked = linear, starts, slots, asked
        self.may_prove = asked.may_prove(linear)
        self.fixed_form = linear.fixed_form(ABOVE)
        self.fixed = "" if self.fixed_form is None else "once" if self.fixed_form.once else "twice"
        self.leave_words = slots == WORD_SLOTS
        channels = [self.channels(first) for first in starts]
        possible = (weights for weights in asked.encodings if asked.has_sums or not weights.wants_sums)
        self.weights = next(weights for weights in possible if weights.fits(linear, channels))
        self.is_packed = self.weights.is_packed
        self.is_centred = self.is_packed and are_centred(linear)
        self.centres = centres_of(linear) * self.is_centred
        self.form = form(linear) if form else best_form(self._forms(), self._count, len(starts))
        self._proofs = {first: self._proves(self.form, first) for first in starts}
        self.proved = sum(self._proofs.values())

    def _forms(self) -> Iterator[IntegerForm]:
        if self.leave_words:
            return word_forms(self.linear, self.is_packed)
        return integer_forms(self.linear, high=self.is_packed, is_tuned=self.is_packed or self.asked.is_alike)

    def channels(self, first: int) -> list[int]:
        """The channels of the group that begins at this channel."""
        return [first + slot for slot in self.slots]

    def is_proved(self, first: int) -> bool:
        """Whether the integer form is, of all channels of the group."""
        return self._proofs[first]

    @property
    def sums_round(self) -> bool:
        """As of a Stream."""
        in_float = self.asked.has_fpu and self.proved < len(self.starts) and not (self.fixed or self.linear.is_any)
        return in_float and self.linear.zero_point % 2 == 0 and bool(are_rounded_small(self.linear).all())

    @cached_property
    def are_near(self) -> bool:
        """Whether products of 64 bits give the levels of what is not proved."""
        channels = [first + index for first in self.starts if not self.is_proved(first) for index in range(GROUP)]
        return bool(near_is_exact(self.linear.factors[channels], self.linear.largest[channels]).all())

    @cached_property
    def has_fractions(self) -> bool:
        """Whether sums of what is not proved need more bits for the fractions of the biases: constants of the integer form hold
        them, and with an FPU so do sums that carry 8 fraction bits."""
        step = 2 if self.is_packed and self.asked.has_fpu else 1
        others = [first for first in self.starts if not self.is_proved(first)]
        return any(self.linear.fractions[self.channels(first)[::step]].any() for first in others)

    @cached_property
    def fraction_bits(self) -> int:
        """The fraction bits of sums without an FPU, if these have room for them."""
        has_room = self.linear.in_fine_units().largest.max(initial=0) < 1 << 31
        fits = has_room and self.has_fractions and not self.asked.has_fpu and self.are_near
        return self.linear.unit.bit_length() - 1 if fits else 0

    def _count(self, form: IntegerForm) -> int:
        return sum(self._proves(form, first) for first in self.starts)

    def _proves(self, form: IntegerForm, first: int) -> bool:
        return self.may_prove and all(
            part.multipliers[channel] > 0 for part, channel in zip(self._parts(form), self.channels(first))
        )

    def _parts(self, form: IntegerForm) -> tuple[LowForm | HighForm, ...]:
        """The form of each of the 4 channels of a group."""
        return (form.low, form.high if self.is_packed or self.leave_words else form.low) * 2

    def biases(self, first: int) -> list[int]:
        """Those of a group, with what its form adds to the sums."""
        places = zip(self.channels(first), (False, self.is_packed) * 2)
        if self.is_proved(first):
            parts = zip(self._parts(self.form), places)
            more = [int((part.offsets if is_high else part.extras)[channel]) for part, (channel, is_high) in parts]
        else:
            more = [self._fraction(channel) - 256 * int(self.centres[channel]) if is_high else 0 for channel, is_high in places]
        return self.weights.starts(self._own_biases(first), more)

    def _own_biases(self, first: int) -> list[int]:
        return self.linear.bias[self.channels(first)].tolist()

    def joined(self, first: int) -> list[int]:
        """Biases and float factors of a group in 6 words; none where they do not fit, or where more than its own is in a bias."""
        own = self._own_biases(first)
        return joined_words(own, self.factors(first, False)) if self.weights.starts(own) == self.biases(first) else []

    def behind_weights(self, first: int, number: int, stream: Stream) -> list[int]:
        """The words of a group behind its weights; `number` is its first channel as the stream says it."""
        is_proved = self.is_proved(first)
        words = [number << 1 | int(is_proved)] if stream.is_stated else []
        if not (stream.is_uniform or stream.is_joined):
            words += self.factors(first, is_proved)
        return words + [0] * (stream.padding(is_proved) // 4)

    def factors(self, first: int, is_proved: bool) -> list[int]:
        """Those of a group, if its integer form is proved, or if not."""
        channels = self.channels(first)
        if is_proved:
            return self._proved_factors(channels)
        centres = self.centres[channels[1::2]].tolist() if self.is_centred else []
        if self.fixed_form is not None:
            fixed = (self.fixed_form.multipliers, self.fixed_form.constants, self.fixed_form.shifts)
            return [*centres, *numpy.stack(fixed, axis=1)[channels].ravel().tolist()]
        return centres + (self._float_factors(channels) if self.asked.has_fpu else self._near_factors(channels))

    def _proved_factors(self, channels: list[int]) -> list[int]:
        """For each pair of channels both multipliers, then the constant of the first one, or one for each."""
        parts, words = self._parts(self.form), []
        for pair in (0, 2):
            own = list(zip(parts, channels[pair : pair + 2]))
            words += [int(part.multipliers[channel]) for part, channel in own]
            have_constants = own if self.leave_words and not self.is_packed else own[:1]
            words += [int(part.constants[channel]) for part, channel in have_constants]
        return words

    def _float_factors(self, channels: list[int]) -> list[int]:
        scales = [1 / 256 if self.has_fractions else 1, 1 / 256] * 2 if self.is_packed and not self.is_centred else [1] * 4
        fractions = [self._fraction(channel) for channel in channels[::2]] if self.has_fractions else []
        factors = self.linear.factors[channels] * numpy.array(scales, numpy.float32)
        return [*fractions, *factors.view(numpy.uint32).tolist()]

    def _near_factors(self, channels: list[int]) -> list[int]:
        factors, own, unit = self.linear.factors[channels], self.linear.fractions[channels], self.linear.unit
        if not self.has_fractions:
            return [*near_factors(factors).tolist(), *factors.view(numpy.uint32).tolist()]
        fine = (factors / numpy.float32(unit)).astype(numpy.float32).view(numpy.uint32)
        return [*near_factors(factors).tolist(), *near_starts(factors, own, unit).tolist(), *fine.tolist(), *own.tolist()]

    def _fraction(self, channel: int) -> int:
        """The fraction of the bias, in 1/256."""
        return 256 * int(self.linear.fractions[channel]) // self.linear.unit


def weights_by_tap(rows: numpy.ndarray) -> list[int]:
    return ((rows[:2] & 0xFFFF) | ((rows[2:] & 0xFFFF) << 16)).T.ravel().tolist()


def _pair(low: int, high: int) -> int:
    return (low & 0xFFFF) | ((high & 0xFFFF) << 16)


def quads(taps: int) -> list[int]:
    """The order in which SXTB16 unpacks words of 4 taps: (0, 2), (1, 3)."""
    return [first + step for first in range(0, taps, 4) for step in QUAD]


def rows_of_image(view: NodeView) -> numpy.ndarray:
    """Weights [outputs, inputs] of a layer that sees an image at once, in the order in which it lies; without those for pads."""
    weights = view.inputs[1].data
    if weights.ndim > 2:
        begins, image = view.operator.window.pads_begin, view.inputs[0].dims[2:]
        weights = weights[:, :, *(slice(begin, begin + size) for begin, size in zip(begins, image))]
    return taps_last_channels(weights)
