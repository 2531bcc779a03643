# SPDX-License-Identifier: MIT
"""Streams of words in the order in which the kernels read them: per group of 4 output channels bias, weights, multipliers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy

from aidge_build.contract.call import computed
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
from aidge_build.contract.spec import NodeView
from aidge_build.operators.arithmetic.carried_steps import CarriedSteps
from aidge_build.operators.arithmetic.near_halves import near_factors, near_is_exact, near_starts
from aidge_build.operators.arithmetic.thresholds import HighForm, LowForm

from .conditions import GROUP
from .limits import Limits, compared, limits_of
from .offset_weights import ABOVE as OFFSET_ABOVE
from .offset_weights import SUM, less_offsets
from .packed_sums import are_centred, are_rounded_small, centres_of, fit_halfwords, fit_offsets, fit_sums

INTEGER = 1
ROUNDED = 0
STATED = -1
EVEN = -2
_FORMS_WITHOUT_FPU = {INTEGER: 1, ROUNDED: 2, STATED: -3, EVEN: -4}  # in C
_FORMS_IN_FIXED_POINT = {INTEGER: 1, ROUNDED: 3, STATED: -5, EVEN: -6}
FIXED_WORDS = 12  # multiplier, constant and shift of the 4 channels of a group
CURVED = -8  # the form in C
CENTRE_WORDS = 2  # of the odd channels of a group, before its factors
SLOTS = (0, 1, 2, 3)  # channels of a group in the order of their registers
WORD_SLOTS = (0, 2, 1, 3)  # where two registers become halves of one, whose bytes are then interleaved
WORDS_GAIN = 16  # instructions that a proved group of two pixels saves where words are stored
BYTES_GAIN = 13  # and where bytes are
MOST_FREE = 0.5  # of the channels that no clamp changes, where words of all groups are limited
TEXT_WORTH = 1  # instructions of a group that a text for words must save at least: other layers may have the one for bytes


@dataclass(frozen=True, eq=False)
class Stream:
    """`words` as in dense.h; `is_packed`: two int8 weights share a halfword; `shift` of the integer form.

    `form`: INTEGER or ROUNDED where every group has that form and no group overlaps another (the stream then does not
    say it, and outputs follow each other), else STATED, or EVEN where groups of both forms are as long as each other, too.
    `is_near`: without an FPU, whether a product of 64 bits gives the levels of all groups that are not proved.
    `fixed`: groups that are not proved are requantized by fixed-point factors, which round "once" or "twice"; "": in float.
    """

    words: numpy.ndarray
    is_packed: bool
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
    has_ends: bool = False  # levels of proved groups leave as words, and must be limited to more than int8
    is_centred: bool = False  # packed, and where nothing is proved odd sums lack the middle of their range, which is added
    few: int = 0  # of fewer than 4 output channels how many there are; the last one then stands for those that lack
    curve: CarriedSteps | None = None  # sums go through a function, whose table stands behind the groups; nothing is proved
    are_bytes: bool = False  # weights that are not packed stand as the model's bytes, 4 taps of a channel in a word
    is_uniform: bool = False  # all channels have one float factor: those of a group follow the head, and no group has its own
    is_joined: bool = False  # 6 words at the begin of a group hold its biases and its float factors
    sums: int = 0  # packed weights are unsigned bytes; so many pairs of taps hold negated sums of all others (offset_weights.py)

    @property
    def group_bytes(self) -> int:
        """Of head and groups, without the table of a curve."""
        return self.words.nbytes - 4 * (len(self.curve.entries) if self.curve else 0)

    @property
    def bias_words(self) -> int:
        """Of a group before its weights."""
        return 6 if self.is_joined else GROUP

    @property
    def is_half(self) -> bool:
        """Whether only the first two channels of the group have weights."""
        return 0 < self.few <= GROUP // 2

    @property
    def even_weights(self) -> str:
        """The instruction that makes weights of even channels of packed words; none where words are not packed."""
        return "" if not self.is_packed else "uxtb16" if self.sums else "sxtb16"

    @property
    def is_stated(self) -> bool:
        return self.form < 0

    @property
    def fixed_form(self) -> str:
        """How factors round where the text has them: not where every group is proved."""
        return "" if self.form == INTEGER else self.fixed

    @property
    def variant(self) -> str:
        """What the text of a kernel depends on, for its name."""
        form = {STATED: "", EVEN: "_even", INTEGER: "_integer", ROUNDED: "_float"}[self.form]
        core = "" if self.has_fpu else "_soft" if self.is_near else "_soft_exact"
        core += f"_{self.fixed_form}" if self.fixed_form else ""
        weights = "packed" if self.is_packed else "bytes" if self.are_bytes else "wide"
        weights += f"_offsets{self.sums}" * (self.sums > 0)
        weights += f"{'_fractions' * self.has_fractions}{self.fraction_bits or ''}"
        weights += "_centred" * self.is_centred
        weights += "_uniform" * self.is_uniform + "_joined" * self.is_joined
        weights += f"{'_sums' * self.sums_round}{'_words' * self.leaves_words}{f'_few{self.few}' * (self.few > 0)}"
        if self.curve:
            return f"{weights}{curve_variant(self.curve)}"
        return f"{weights}_s{self.shift}{self.limits.variant}{'_ends' * self.has_ends}{form}{core}"

    @property
    def form_in_c(self) -> int:
        """The form as the C versions know it."""
        if self.fixed:
            return _FORMS_IN_FIXED_POINT[self.form]
        return self.form if self.has_fpu else _FORMS_WITHOUT_FPU[self.form]

    @property
    def flags(self) -> int:
        """What the C versions know beside shift and form."""
        flags = self.is_packed + 2 * self.has_fractions + 4 * self.leaves_words + 8 * (self.fixed_form == "once")
        flags += 16 * self.is_centred + 32 * self.few + 128 * self.are_bytes
        flags += 256 * self.is_uniform + 512 * self.is_joined + 1024 * self.fraction_bits
        return flags

    @property
    def numbers(self) -> str:
        """The last arguments of the C versions."""
        if self.curve:
            return f"{self.is_packed:d}, {self.curve.shift}, {CURVED}"
        return f"{self.flags}, {self.shift}, {self.form_in_c}"

    def in_c(self, function: str, arguments: str) -> str:
        """The call of the C version of this name."""
        if self.sums:
            return f"aidge_cortexm_offset_{function}({arguments}, {self.sums}, {self.numbers});"
        return f"aidge_cortexm_{function}({arguments}, {self.numbers});"

    def headers(self, header: str) -> tuple[str, ...]:
        """The header of a kernel, and where weights have offsets that of their C versions."""
        return (header, f"offset_{header}") if self.sums else (header,)

    @property
    def padding(self) -> int:
        """Bytes that follow the shorter factors of a group where streams are even: with an FPU those in float, of fixed-point
        factors the proved ones."""
        integers = 8 if self.leaves_words and not self.is_packed else 6
        if self.fixed:
            return 4 * (FIXED_WORDS + CENTRE_WORDS * self.is_centred - integers)
        return 4 * (integers - (6 if self.has_fractions or self.is_centred else 4))

    def left_to_step(self, step: int, channels: int) -> int:
        """How far the output still is from the next pixels', after all groups of `channels`, if it was `step` before the
        first."""
        return step if self.is_stated else step - channels

    @property
    def _weights(self) -> str:
        if self.sums:
            return "two weights per halfword, an offset for each channel"
        return "two weights per halfword" if self.is_packed else "int8 weights" if self.are_bytes else "int16 weights"

    @property
    def note(self) -> str:
        if self.curve:
            return f"{self._weights}, {curve_note(self.curve)}"
        return (
            f"{self._weights}, requantization of {self.proved} "
            f"of {self.groups} groups of channels proved in integers, of the others in "
            f"{otherwise(self.has_fpu, self.is_near, self.fixed)}"
        )

    def facts(self, pixels: int = 2) -> dict[str, str]:
        """For `Call.facts`: blocks of this many pixels."""
        block = f"{pixels} pixels x {GROUP} channels" if pixels > 1 else f"1 row x {self.few or GROUP} outputs"
        otherwise = "fixed point" if self.fixed else "one word for each cell" if self.curve else "float"
        return {
            **computed(block, self.proved, self.groups, otherwise=otherwise),
            "weights": "2 per halfword" if self.is_packed else "int8" if self.are_bytes else "int16",
        }


def curve_variant(curve: CarriedSteps) -> str:
    """What a text depends on, for its name."""
    return f"_curve{curve.shift}{'_up' * curve.rises}"


def curve_note(curve: CarriedSteps) -> str:
    """What a layer's comment says of its function."""
    return f"then a function by {len(curve.entries)} words, each of a cell with one step at most"


def otherwise(has_fpu: bool, is_near: bool, fixed: str = "") -> str:
    """How sums are requantized whose integer form is not proved."""
    if fixed:
        return f"fixed point that rounds {fixed}"
    return "float" if has_fpu else "64 bits" if is_near else "the integers of float"


def group_starts(channels: int, size: int = GROUP) -> list[int]:
    """First channels of groups that cover all channels; the last group overlaps the one before where that is needed."""
    return [min(first, channels - size) for first in range(0, channels, size)]


def pack(
    linear: Linear,
    order: list[int],
    has_fpu: bool,
    is_alike: bool = False,
    is_even: bool = False,
    may_pack: bool = True,
    is_row: bool = False,
    is_short: bool = False,
    as_bytes: bool = False,
    may_share: bool = False,
    may_join: bool = False,
) -> Stream:
    """The stream for taps in this order (-1: a tap of weight 0; SUM: as in offset_weights.py, where weights need it), an even
    number of them; the others as in `pack_blocks`."""
    size, flags = (
        len(linear.rows),
        {"may_pack": may_pack, "is_row": is_row, "is_short": is_short, "as_bytes": as_bytes},
    )
    flags |= {"may_share": may_share, "may_join": may_join}
    few = size if size < GROUP else 0
    if few:
        linear, size = linear.of(numpy.minimum(range(GROUP), few - 1)), GROUP
    return pack_blocks(linear, order, size, has_fpu, is_alike=is_alike, is_even=is_even, few=few, **flags)


def pack_blocks(
    linear: Linear,
    order: list[int],
    size: int,
    has_fpu: bool,
    by_tap: bool = False,
    is_alike: bool = False,
    is_even: bool = False,
    may_pack: bool = True,
    is_row: bool = False,
    is_short: bool = False,
    few: int = 0,
    as_bytes: bool = False,
    may_share: bool = False,
    may_join: bool = False,
) -> Stream:
    """Streams one behind the other, as long as each other and for one text, of blocks of `size` channels. `by_tap`: never packed,
    of each tap the weights of channels 0 and 2, then 1 and 3. `is_alike`: all channels have one multiplier and one range, so
    that the two of an unpacked pair can share a constant of their own. `is_even`: groups of one block are as long as each other,
    too. `may_pack`: whether weights may share a halfword. `is_row`: one pixel at a time; its output waits where words of
    unpacked pairs have a second constant, and of few channels each has its own weights, which share no halfword. `is_short`:
    with an FPU all groups are requantized in float, whose factors take the fewest bytes. `few`: how many channels of the only
    group there are, if not all. `as_bytes`: weights that share no halfword are bytes, of taps in the order of `quads`.
    `may_share`: one float factor of all channels may stand once. `may_join`: biases and float factors may stand in 6 words."""
    is_few_row = is_row and few > 0
    may_pack = may_pack and not is_few_row
    blocks, within = range(0, len(linear.rows), size), group_starts(size)
    starts = [block + first for block in blocks for first in within]
    clamp, limits, has_ends = linear.clamp, _limits(linear), False
    free, unlimited = float(linear.free_of_clamp.mean()), replace(linear, clamp=INT8)
    linear = linear if limits.is_more else unlimited
    may_prove = not (is_short and has_fpu) or linear.fixed_form() is not None
    may_sum = may_pack and SUM in order
    groups = _Groups(linear, starts, SLOTS, may_pack and not by_tap, is_alike, may_prove=may_prove, may_sum=may_sum)
    is_half = 0 < few <= GROUP // 2
    is_wide_row = is_row and not may_pack  # whose output is where words of unpacked pairs have a second constant
    may_leave_words = has_fpu and may_prove and not (by_tap or is_alike or is_even or is_half or is_wide_row)
    if may_leave_words and (linear.is_any or are_rounded_small(linear).all()):
        may_end = limits.is_more and free < MOST_FREE and not linear.is_any
        words = _Groups(unlimited if may_end else linear, starts, WORD_SLOTS, may_pack, may_sum=may_sum)
        gain = WORDS_GAIN * words.proved - BYTES_GAIN * groups.proved
        gain = TEXT_WORTH * len(starts) * (not limits.is_more) if linear.is_any else gain
        if gain >= TEXT_WORTH * len(starts) and (words.is_packed or not may_pack or (words.fixed and not is_row)):
            groups, has_ends = words, may_end
    has_fractions = not all(groups.takes_fractions(first, has_fpu) for first in starts)
    fraction_bits = linear.unit.bit_length() - 1 if has_fractions and not has_fpu and groups.are_near(starts) else 0
    if has_fractions and not (fraction_bits or groups.is_packed and has_fpu):
        linear, has_fractions = linear.in_fine_units(), False
        groups = _Groups(linear, starts, SLOTS, False, form=fine_form, may_prove=may_prove)
    order = order if groups.has_offsets else [tap for tap in order if tap != SUM]
    rows = numpy.where(numpy.array(order) < 0, 0, linear.rows[:, numpy.maximum(order, 0)])
    rows = less_offsets(rows) if groups.has_offsets else rows
    head = [
        _pair(linear.zero_point + 128, linear.zero_point + 128),
        _pair(clamp[0] + 128, clamp[1] + 128),
        (linear.input_zero_point & 0xFF) * 0x01010101,
    ]
    proofs = {first: groups.is_proved(first) for first in starts}
    is_mixed, numbers = len(set(proofs.values())) > 1, []
    in_float = has_fpu and not (any(proofs.values()) or groups.fixed or has_fractions or groups.is_centred or linear.is_any)
    is_uniform = may_share and in_float and len(starts) > 1 and len(set(linear.factors.tolist())) == 1
    if is_uniform:
        head += groups.factors(starts[0], False, has_fpu, has_fractions)
    can_join = may_join and in_float and not (is_uniform or is_few_row)
    joined = [groups.joined(first) for first in starts] if can_join else []
    is_joined = bool(joined) and all(joined)
    if linear.is_any and may_prove:  # which groups are proved depends on the weights, and the stream says it
        is_mixed = is_even = True
    stated, is_even = (few > 0 and not is_row) or size % GROUP > 0 or is_mixed, is_mixed and (is_even or len(blocks) > 1)
    for block in blocks:
        numbers += head
        for first in within:
            is_proved, channels = proofs[block + first], groups.channels(block + first)
            statement = [first << 1 | int(is_proved)] if stated else []
            own = rows[channels[:few] if is_few_row else channels]
            if as_bytes and not groups.is_packed:
                weights = byte_words(own)
            elif by_tap:
                weights = weights_by_tap(own)
            else:
                weights = pair_words(own, groups.is_packed, is_half, OFFSET_ABOVE * groups.has_offsets)
            factors = [groups.factors(block + first, known, has_fpu, has_fractions) for known in (is_proved, not is_proved)]
            biases = joined.pop(0) if is_joined else groups.biases(block + first)
            numbers += [*biases, *weights, *statement, *([] if is_uniform or is_joined else factors[0])]
            numbers += [0] * (len(factors[1]) - len(factors[0])) * is_even
    return Stream(
        as_words(numbers),
        groups.is_packed,
        limits,
        groups.form.shift,
        len(starts),
        sum(proofs.values()),
        EVEN if is_even else STATED if stated else INTEGER if proofs[0] else ROUNDED,
        has_fpu,
        bool(groups.fixed)
        or not linear.is_any
        and _is_near(linear, [first for first, is_proved in proofs.items() if not is_proved]),
        has_fractions,
        fraction_bits,
        has_fpu
        and not groups.fixed
        and not all(proofs.values())
        and not linear.is_any
        and linear.zero_point % 2 == 0
        and bool(are_rounded_small(linear).all()),
        groups.fixed,
        groups.leave_words,
        has_ends,
        groups.is_centred,
        few,
        are_bytes=as_bytes and not groups.is_packed,
        is_uniform=is_uniform,
        is_joined=is_joined,
        sums=order.count(SUM) // 2,
    )


def _limits(linear: Linear) -> Limits:
    """Of levels that become bytes of words: of int8, of its upper half, or any."""
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
        may_pack: bool,
        is_alike: bool = False,
        form: Callable[[Linear], IntegerForm] | None = None,
        may_prove: bool = True,
        may_sum: bool = False,
    ):
        self.linear, self.slots, self.may_prove = linear, slots, may_prove
        self.fixed_form = linear.fixed_form(ABOVE)
        self.fixed = "" if self.fixed_form is None else "once" if self.fixed_form.once else "twice"
        self.leave_words = slots == WORD_SLOTS
        channels = [self.channels(first) for first in starts]
        fit_bytes = fit_halfwords(linear.rows, channels, linear.is_any)
        may_sum = may_sum and (linear.is_any or not fit_bytes) and fit_offsets(linear.rows)
        self.is_packed = may_pack and (fit_bytes or may_sum) and fit_sums(linear, channels)
        self.has_offsets = self.is_packed and may_sum
        self.is_centred = self.is_packed and are_centred(linear)
        self.centres = centres_of(linear) * self.is_centred
        forms = (
            word_forms(linear, self.is_packed)
            if self.leave_words
            else integer_forms(linear, high=self.is_packed, is_tuned=self.is_packed or is_alike)
        )
        self.form = form(linear) if form else best_form(forms, lambda found: self._count(found, starts), len(starts))
        self.proved = self._count(self.form, starts)

    def channels(self, first: int) -> list[int]:
        """Of the group that begins at this channel."""
        return [first + slot for slot in self.slots]

    def is_proved(self, first: int) -> bool:
        """Whether the integer form is, of all channels of the group."""
        return self._proves(self.form, first)

    def are_near(self, starts: list[int]) -> bool:
        """Whether products of 64 bits give the levels of what is not proved, and sums in fractions of their unit fit 32 bits."""
        finest = self.linear.in_fine_units().largest.max(initial=0)
        return bool(finest < 1 << 31) and _is_near(self.linear, [first for first in starts if not self.is_proved(first)])

    def _count(self, form: IntegerForm, starts: list[int]) -> int:
        return sum(self._proves(form, first) for first in starts)

    def _proves(self, form: IntegerForm, first: int) -> bool:
        return self.may_prove and all(
            part.multipliers[channel] > 0 for part, channel in zip(self._parts(form), self.channels(first))
        )

    def _parts(self, form: IntegerForm) -> tuple[LowForm | HighForm, ...]:
        """The form of each of the 4 channels of a group."""
        return (form.low, form.high if self.is_packed or self.leave_words else form.low) * 2

    def takes_fractions(self, first: int, has_fpu: bool) -> bool:
        """Whether the sums of a group need no more bits for the fractions of the biases: constants of the integer form hold them,
        and with an FPU so do sums that carry 8 fraction bits."""
        whole = self.channels(first)[:: 2 if self.is_packed and has_fpu else 1]
        return self.is_proved(first) or not self.linear.fractions[whole].any()

    def biases(self, first: int) -> list[int]:
        """Those of a group, with what its form adds to the sums."""
        biases, is_proved = [], self.is_proved(first)
        for index, (channel, part) in enumerate(zip(self.channels(first), self._parts(self.form))):
            own = int(self.linear.bias[channel])
            if self.is_packed and index % 2:
                more = int(part.offsets[channel]) if is_proved else self._fraction(channel) - 256 * int(self.centres[channel])
                biases.append(256 * own + more + biases[-1])
            else:
                biases.append(own + (int(part.extras[channel]) if is_proved else 0))
        return biases

    def joined(self, first: int) -> list[int]:
        """Biases and float factors of a group in 6 words; none where they do not fit, or where more than its own is in a bias."""
        own = [int(self.linear.bias[channel]) for channel in self.channels(first)]
        sums = [256 * own[index] + own[index - 1] if self.is_packed and index % 2 else own[index] for index in range(GROUP)]
        return joined_words(own, self.factors(first, False, True, False)) if sums == self.biases(first) else []

    def factors(self, first: int, is_proved: bool, has_fpu: bool, has_fractions: bool) -> list[int]:
        """The words behind the weights of a group, if its integer form is proved, or if not."""
        channels, parts = self.channels(first), self._parts(self.form)
        if is_proved:
            multipliers = [int(part.multipliers[channel]) for part, channel in zip(parts, channels)]
            is_own = self.leave_words and not self.is_packed
            constants = [[int(parts[0].constants[channels[pair]])] for pair in (0, 2)]
            if is_own:
                constants = [[*own, int(parts[1].constants[channels[pair + 1]])] for own, pair in zip(constants, (0, 2))]
            return [*multipliers[:2], *constants[0], *multipliers[2:], *constants[1]]
        centres = self.centres[channels[1::2]].tolist() if self.is_centred else []
        if self.fixed_form is not None:
            fixed = (self.fixed_form.multipliers, self.fixed_form.constants, self.fixed_form.shifts)
            return [*centres, *numpy.stack(fixed, axis=1)[channels].ravel().tolist()]
        factors = self.linear.factors[channels]
        if not has_fpu:
            own, unit = self.linear.fractions[channels], self.linear.unit
            fine = (factors / numpy.float32(unit if has_fractions else 1)).astype(numpy.float32)
            more = [near_starts(factors, own, unit).tolist(), own.tolist()] if has_fractions else [[], []]
            return [*centres, *near_factors(factors).tolist(), *more[0], *fine.view(numpy.uint32).tolist(), *more[1]]
        scales = [1 / 256 if has_fractions else 1, 1 / 256] * 2 if self.is_packed and not self.is_centred else [1] * 4
        fractions = [self._fraction(channel) for channel in channels[::2]] if has_fractions else []
        return [*centres, *fractions, *(factors * numpy.array(scales, numpy.float32)).view(numpy.uint32).tolist()]

    def _fraction(self, channel: int) -> int:
        """Of the bias, in 1/256."""
        return 256 * int(self.linear.fractions[channel]) // self.linear.unit


def _is_near(linear: Linear, starts: list[int]) -> bool:
    channels = [first + index for first in starts for index in range(GROUP)]
    return bool(near_is_exact(linear.factors[channels], linear.largest[channels]).all())


def pair_words(rows: numpy.ndarray, is_packed: bool, is_half: bool = False, above: int = 0) -> list[int]:
    """Per pair of taps: two words of packed channel pairs, or four words of one channel each; half of them for two channels.
    Weights of odd channels become less by `above`."""
    rows = rows[: GROUP // 2] if is_half else rows
    halves = 256 * (rows[1::2] - above) + rows[::2] if is_packed else rows
    pairs = (halves[:, 0::2] & 0xFFFF) | ((halves[:, 1::2] & 0xFFFF) << 16)
    return pairs.T.ravel().tolist()


def weights_by_tap(rows: numpy.ndarray) -> list[int]:
    return ((rows[:2] & 0xFFFF) | ((rows[2:] & 0xFFFF) << 16)).T.ravel().tolist()


def byte_words(rows: numpy.ndarray) -> list[int]:
    """Per 4 taps in the order of `quads` a word of each channel, whose bytes are in the order of the model."""
    words = rows.reshape(len(rows), -1, 4)[:, :, quads(4)].astype(numpy.int8)
    return numpy.ascontiguousarray(words).view("<i4")[:, :, 0].T.ravel().tolist()


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


def rows_of_image(view: NodeView) -> numpy.ndarray:
    """Weights [outputs, inputs] of a layer that sees an image at once, in the order in which it lies; without those for pads."""
    weights = view.inputs[1].data
    if weights.ndim > 2:
        begins, image = view.operator.window.pads_begin, view.inputs[0].dims[2:]
        weights = weights[:, :, *(slice(begin, begin + size) for begin, size in zip(begins, image))]
    return taps_last_channels(weights)
