# SPDX-License-Identifier: MIT
"""Streams of words in the order in which the kernels read them: head, then of each output channel 4 numbers and its weights."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Constant, computed
from aidge_build.contract.kernel_kit.byte_weights import offsets_of
from aidge_build.contract.kernel_kit.linear_int8 import Linear
from aidge_build.contract.kernel_kit.packing import as_words
from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.narrow_products import Correction, NarrowForm, narrow_form

ANY_CHUNK = 128  # taps whose sums fit with most weights
MOST_CORRECTIONS = 6  # of a channel, in the mean: more cost about as much as the general form
GENERAL_KIND = 255  # in place of a number of corrections
WIDTH_BITS = 24  # of the word of a width; the other bits are somebody else's
SUM_BITS = 21  # of a sum with its sign, in the words that three sums share


class Form(enum.Enum):
    """`single`: the sums of all taps fit the words that they share. `chunked`: those of a chunk of taps do. `sums`: chunks, and
    the requantization is the general one in C, of sums in fractions of their unit where a bias has one."""

    single = enum.auto()
    chunked = enum.auto()
    sums = enum.auto()


@dataclass(frozen=True, eq=False)
class Stream:
    """`words` as in dense.h, those of each group of channels from `starts` on; `taps` are filled up to whole turns, the last
    chunk may be shorter than `chunk_taps`; `turn_words` of 4 taps stand in a loop."""

    words: numpy.ndarray
    starts: tuple[int, ...]
    form: Form
    has_offsets: bool  # whether the numbers of each channel are preceded by what all its weights lack
    has_corrections: bool  # whether the weights of each channel are followed by corrections
    turn_words: int
    taps: int
    chunk_taps: int
    channels: int
    corrections: int

    @property
    def variant(self) -> str:
        """What the text of a kernel depends on, for its name."""
        return f"{self.form.name}{'_offset' * self.has_offsets}{'_corrected' * self.has_corrections}_u{self.turn_words}"

    @property
    def note(self) -> str:
        """For `Call.note`."""
        proved = "proved in integers" if self.form is not Form.sums else "in the general form"
        proved += " but for a few sums, which are corrected" if self.has_corrections else ""
        proved += "; weights are bytes and an offset" if self.has_offsets else ""
        return f"three sums in two words, {-(-self.taps // self.chunk_taps)} chunk(s) of taps, requantization {proved}"

    def facts(self) -> dict[str, str]:
        """For `Call.facts`."""
        return computed("6 pixels x 1 channel", self.channels if self.form is not Form.sums else 0, self.channels, "channel")


def pack(linear: Linear, turn_words: int, groups: int = 1) -> Stream:
    """The stream of a layer, whose taps are in the order of its columns; groups of channels one after another."""
    step = 4 * turn_words
    whole = -(-linear.rows.shape[1] // step) * step
    added = offsets_of(linear.rows)
    rows = filled(linear.rows - added[:, None], whole)
    form = narrow_form(linear.staircase(), linear.clamp)
    reach = numpy.maximum(numpy.abs(linear.low - form.starts), numpy.abs(linear.high - form.starts))
    corrections = sum(map(len, form.corrections))
    is_proved = bool(
        (form.proved & (reach < 1 << 31) & (form.widths < 1 << WIDTH_BITS)).all()
    ) and corrections <= MOST_CORRECTIONS * len(rows)
    if is_proved and not linear.is_any and fits_sums(linear.low - form.starts, linear.high - form.starts).all():
        return _stream(linear, form, rows, added, Form.single, turn_words, whole, groups)
    fewest = -(-whole // max(step, ANY_CHUNK)) if linear.is_any else 1
    chunks = next(count for count in range(fewest, whole // step + 1) if _chunk_fits(rows, count, step))
    taps = -(-whole // (chunks * step)) * step
    return _stream(linear, form, rows, added, Form.chunked if is_proved else Form.sums, turn_words, taps, groups)


def has_fractions(view: NodeView) -> bool:
    """Whether a bias may lie between two units of the sums, whatever the weights."""
    return view.inputs[1].dtype is DType.int16


def general_numbers(linear: Linear) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Of each channel unit, fraction and float32 multiplier as a word: the general requantization is that of
    unit * sum + fraction."""
    factors = linear.in_fine_units().factors.view(numpy.uint32)
    return numpy.full_like(linear.fractions, linear.unit), linear.fractions, factors


def _stream(
    linear: Linear,
    form: NarrowForm,
    rows: numpy.ndarray,
    added: numpy.ndarray,
    kind: Form,
    turn_words: int,
    chunk_taps: int,
    groups: int,
) -> Stream:
    has_corrections = kind is not Form.sums and (linear.is_any or any(form.corrections))
    counts = numpy.array(list(map(len, form.corrections))) * has_corrections
    widths = form.widths + (counts << WIDTH_BITS)
    numbers = numpy.stack([linear.bias - form.starts, widths, form.constants, form.multipliers], axis=1)
    if kind is Form.sums:
        numbers = numpy.stack([linear.bias, *general_numbers(linear)], axis=1)
    has_offsets = bool(added.any())
    if has_offsets:
        numbers = numpy.concatenate([added[:, None], numbers], axis=1)
    weights = numpy.ascontiguousarray(rows.astype(numpy.int8)).view("<i4")
    words: list[int] = []
    starts = []
    for channel in range(len(rows)):
        if channel % (len(rows) // groups) == 0:
            starts.append(len(words))
            words += head(linear, form)
        words += [*numbers[channel].tolist(), *weights[channel].tolist()]
        if has_corrections:
            words += [number for each in form.corrections[channel] for number in (each.value, each.shift, each.delta)]
    return Stream(
        as_words(words),
        tuple(starts),
        kind,
        has_offsets,
        has_corrections,
        turn_words,
        rows.shape[1],
        chunk_taps,
        len(rows),
        int(counts.sum()),
    )


def head(linear: Linear, form: NarrowForm) -> list[int]:
    """What all channels share: lowest - highest level of the output, highest level, bits of a multiplier's low part, the input's
    zero point; the three numbers of aidge_kit_load_levels."""
    below, above = linear.clamp
    levels = (below - linear.zero_point, above - linear.zero_point, linear.zero_point)
    return [below - above, above, form.bits, linear.input_zero_point, *levels]


@dataclass(frozen=True, eq=False)
class Kinds:
    """Of each channel the number of its corrections, or GENERAL_KIND; the corrections of all."""

    kinds: numpy.ndarray
    corrections: tuple[Correction, ...]

    @property
    def constants(self) -> tuple[Constant, Constant]:
        """As C reads them."""
        numbers = [number for each in self.corrections for number in (each.value, each.shift, each.delta)]
        return Constant("kinds", self.kinds.astype(numpy.uint8)), Constant("corrections", numpy.array(numbers, numpy.int32))


def kinds_of(form: NarrowForm, fits: numpy.ndarray, order: numpy.ndarray | None = None) -> Kinds:
    """Channels in this order; those of too many corrections, or that do not fit, take the general form."""
    counts = numpy.array(list(map(len, form.corrections)))
    kinds = numpy.where(form.proved & fits & (form.widths < 1 << WIDTH_BITS) & (counts <= MOST_CORRECTIONS), counts, GENERAL_KIND)
    order = numpy.arange(len(kinds)) if order is None else order
    chosen = tuple(each for place in order if kinds[place] != GENERAL_KIND for each in form.corrections[place])
    return Kinds(kinds[order], chosen)


def filled(rows: numpy.ndarray, taps: int) -> numpy.ndarray:
    return numpy.pad(rows, ((0, 0), (0, taps - rows.shape[1])))


def fits_sums(low: numpy.ndarray, high: numpy.ndarray) -> numpy.ndarray:
    """Which sums have at most SUM_BITS."""
    limit = 1 << (SUM_BITS - 1)
    return (low >= -limit) & (high < limit)


def _chunk_fits(rows: numpy.ndarray, count: int, step: int) -> bool:
    taps = -(-rows.shape[1] // (count * step)) * step
    parts = filled(rows, count * taps).reshape(len(rows), count, taps)
    products = numpy.minimum(-128 * parts, 127 * parts), numpy.maximum(-128 * parts, 127 * parts)
    return bool(fits_sums(products[0].sum(axis=2), products[1].sum(axis=2)).all())
