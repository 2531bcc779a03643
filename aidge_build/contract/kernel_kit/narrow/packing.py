# SPDX-License-Identifier: MIT
"""Streams of words in the order in which the kernels read them: head, then of each output channel what its sums begin with, its
weights, 3 numbers and its corrections."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

import numpy

from aidge_build.contract.call import Constant, computed
from aidge_build.contract.kernel_kit.byte_weights import offsets_of
from aidge_build.contract.kernel_kit.linear_int8 import Linear
from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.packing import as_words
from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.narrow_products import Correction, NarrowForm, narrow_form

ANY_CHUNK = 128  # taps; their sums fit with most weights
MOST_CORRECTIONS = 6  # of a channel, in the mean: more cost about as much as the general form
GENERAL_KIND = 255  # in place of a number of corrections
WIDTH_BITS = 24  # of the word of a width; the other bits are somebody else's
PACKED_BITS = 4  # of weights that share bytes
BLOCK = 4  # taps
MOST_KEPT = 0.45  # of the blocks, as one that is kept takes twice the bytes
TAP_BYTES = 16  # of the column of 6 pixels
AFTER = 3  # numbers of a channel after its weights
SUM_BITS = 21  # of a sum with its sign, in the words that three sums share
_WORD, _TURN = 43, 2  # instructions of 4 taps, and of a turn of their loop
UPPER_BITS = SUM_BITS, WIDTH_BITS  # of sums, on cores with the upper half of a product


def words_in_turn(words: int) -> int:
    """Returns how many words of 4 taps the loop has: two, unless filling up the last turn costs more."""
    return min((1, 2), key=lambda size: (-(-words // size) * (size * _WORD + _TURN), -size))


class Form(enum.Enum):
    """`single`: the sums of all taps fit the words that they share. `chunked`: the sums of a chunk of taps do. `sums`: chunks,
    with the general requantization in C, for sums in fractions of their unit if a bias has one."""

    single = enum.auto()
    chunked = enum.auto()
    sums = enum.auto()


class Weights(enum.Enum):
    """How weights are stored: a byte each; 4 bits each; bytes, without the blocks of 4 taps that are 0. In front of a block is a
    word, the bytes of the columns since the block before."""

    BYTES = ""
    NIBBLES = "packed"
    BLOCKS = "sparse"


_KINDS = {Weights.BYTES: "", Weights.NIBBLES: "4 bits", Weights.BLOCKS: "bytes without blocks of zeros"}


@dataclass(frozen=True, eq=False)
class Stream:
    """`words` as in dense.h, the words of each group of channels from `starts` on; `taps` are filled up to whole turns, the last
    chunk may be shorter than `chunk_taps`; a loop has `turn_words` of 4 taps. `blocks` of 4 taps of a channel are multiplied."""

    words: numpy.ndarray
    starts: tuple[int, ...]
    form: Form
    has_offsets: bool  # whether the numbers of each channel are preceded by what all its weights lack
    has_corrections: bool  # whether the weights of each channel are followed by corrections
    turn_words: int
    together: int  # channels: their weights of a tap are neighbours
    taps: int
    chunk_taps: int
    channels: int
    corrections: int
    weights: Weights
    blocks: int

    @property
    def variant(self) -> str:
        """All that the text of a kernel depends on, for its name."""
        words = "offset" * self.has_offsets, "corrected" * self.has_corrections, f"u{self.turn_words}", self.weights.value
        return "_".join(filter(None, (self.form.name, *words, f"x{self.together}" * (self.together > 1))))

    @property
    def has_one_text(self) -> bool:
        """Whether the outputs of channels that are computed at a time have one text; the words of their sums are in memory."""
        return self.together > 1 and (self.form is not Form.single or self.has_corrections)

    @property
    def has_texts(self) -> bool:
        """Whether the outputs of each of several channels have a text of their own."""
        return self.together > 1 and not self.has_one_text

    @property
    def note(self) -> str:
        """For `Call.note`."""
        proved = "proved in integers" if self.form is not Form.sums else "in the general form"
        proved += " but for a few sums, which are corrected" if self.has_corrections else ""
        kind = "bytes and an offset" if self.has_offsets else _KINDS[self.weights]
        proved += f"; weights are {kind}" if kind else ""
        return f"three sums in two words, {-(-self.taps // self.chunk_taps)} chunk(s) of taps, requantization {proved}"

    def facts(self) -> dict[str, str]:
        """For `Call.facts`."""
        return computed(
            f"6 pixels x {self.together} channel{'s' * (self.together > 1)}",
            self.channels if self.form is not Form.sums else 0,
            self.channels,
            "channel",
        )


class _Sizes(NamedTuple):
    """Words of 4 taps in a loop, taps of a chunk, groups of channels, and the most channels that are computed at a time."""

    turn_words: int
    chunk_taps: int
    groups: int
    together: int


def _corrections(form: NarrowForm, channel: int, kind: Form) -> list[int]:
    shift = 32 - SUM_BITS if form.is_upper and kind is Form.single else 0  # `requantize.separate_shifted`
    return [number for each in form.corrections[channel] for number in each.shifted(shift)]


def form_of(core: Core, linear: Linear, upper: tuple[int, ...] = UPPER_BITS) -> NarrowForm:
    """Returns the form of the levels of a layer, for the products of the core."""
    return narrow_form(linear.staircase(), linear.clamp, upper if core.emitter.multiplies_high else ())


def pack(core: Core, linear: Linear, turn_words: int, groups: int = 1, together: int = 1) -> Stream:
    """Returns the stream of a layer with taps in the order of its columns; groups of channels one after another. `together`: at
    most so many channels are computed at a time."""
    step = 4 * turn_words
    whole = -(-linear.rows.shape[1] // step) * step
    sizes = _Sizes(turn_words, whole, groups, together)
    added = offsets_of(linear.rows)
    rows = filled(linear.rows - added[:, None], whole)
    form = form_of(core, linear)
    reach = numpy.maximum(numpy.abs(linear.low - form.starts), numpy.abs(linear.high - form.starts))
    corrections = sum(map(len, form.corrections))
    is_proved = bool(
        (form.proved & (reach < 1 << 31) & (form.widths < 1 << WIDTH_BITS)).all()
    ) and corrections <= MOST_CORRECTIONS * len(rows)
    if is_proved and not linear.is_any and fits_sums(linear.low - form.starts, linear.high - form.starts).all():
        return _stream(linear, form, rows, added, Form.single, sizes)
    fewest = -(-whole // max(step, ANY_CHUNK)) if linear.is_any else 1
    chunks = next(count for count in range(fewest, whole // step + 1) if _chunk_fits(rows, count, step))
    taps = -(-whole // (chunks * step)) * step
    return _stream(linear, form, rows, added, Form.chunked if is_proved else Form.sums, sizes._replace(chunk_taps=taps))


def has_fractions(view: NodeView) -> bool:
    """Whether a bias may be between two units of the sums, with any weights."""
    return view.inputs[1].dtype is DType.int16


def general_numbers(linear: Linear) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Returns unit, fraction and float32 multiplier, as a word, of each channel: the general requantization takes
    unit * sum + fraction."""
    factors = linear.in_fine_units().factors.view(numpy.uint32)
    return numpy.full_like(linear.fractions, linear.unit), linear.fractions, factors


def _stream(
    linear: Linear,
    form: NarrowForm,
    rows: numpy.ndarray,
    added: numpy.ndarray,
    kind: Form,
    sizes: _Sizes,
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
    of_group = len(rows) // sizes.groups
    weights = _encoding(linear, rows, sizes) if not has_offsets else Weights.BYTES
    most = 1 if kind is Form.sums or has_offsets or weights is Weights.BLOCKS else sizes.together
    together = next(size for size in range(most, 0, -1) if of_group % size == 0)
    words: list[int] = []
    starts, blocks = [], 0
    for first in range(0, len(rows), together):
        if first % of_group == 0:
            starts.append(len(words))
            words += head(linear, form)
        channels = slice(first, first + together)
        stored, count = _stored(weights, rows[channels], sizes.chunk_taps)
        words += [*numbers[channels, :-AFTER].reshape(-1).tolist(), *stored]
        blocks += count
        for channel in range(first, first + together):
            words += numbers[channel, -AFTER:].tolist()
            if has_corrections:
                words += _corrections(form, channel, kind)
    return Stream(
        as_words(words),
        tuple(starts),
        kind,
        has_offsets,
        has_corrections,
        sizes.turn_words,
        together,
        rows.shape[1],
        sizes.chunk_taps,
        len(rows),
        int(counts.sum()),
        weights,
        blocks,
    )


def _encoding(linear: Linear, rows: numpy.ndarray, sizes: _Sizes) -> Weights:
    is_narrow = linear.bits <= PACKED_BITS and sizes.turn_words % 2 == 0
    kept = rows.reshape(-1, BLOCK).any(axis=1).mean()
    if not linear.is_any and kept <= (MOST_KEPT / 2 if is_narrow else MOST_KEPT):
        return Weights.BLOCKS
    return Weights.NIBBLES if is_narrow else Weights.BYTES


def _stored(weights: Weights, rows: numpy.ndarray, chunk_taps: int) -> tuple[list[int], int]:
    """Returns the words of weights [channels, taps], of each tap in turn, and how many blocks of a channel they have.

    The first of 8 weights in a word is in the highest bits. The last block of a chunk is there, even if it is 0."""
    if weights is Weights.NIBBLES:
        return ((rows.T & 15).reshape(-1, 8) << numpy.arange(28, -4, -4)).sum(axis=1).tolist(), rows.size // BLOCK
    words = numpy.ascontiguousarray(rows.T.astype(numpy.int8)).reshape(-1).view("<i4")
    if weights is Weights.BYTES:
        return words.tolist(), rows.size // BLOCK
    is_kept = words != 0
    is_kept[-1] = is_kept[chunk_taps // BLOCK - 1 :: chunk_taps // BLOCK] = True
    (places,) = numpy.nonzero(is_kept)
    skipped = numpy.diff(places, prepend=-1) - 1
    return numpy.stack([BLOCK * TAP_BYTES * skipped, words[places]], axis=1).ravel().tolist(), len(places)


def head(linear: Linear, form: NarrowForm) -> list[int]:
    """Returns the words that all channels share: lowest - highest level of the output, highest level, bits of a multiplier's low
    part or level bits and shift (`requantize`), the input's zero point; the three numbers of aidge_kit_load_levels."""
    below, above = linear.clamp
    levels = (below - linear.zero_point, above - linear.zero_point, linear.zero_point)
    bits = (form.level_bits << 8) + 32 - form.bits if form.is_upper else form.bits
    return [below - above, above, bits, linear.input_zero_point, *levels]


@dataclass(frozen=True, eq=False)
class Kinds:
    """The number of corrections of each channel, or GENERAL_KIND; the corrections of all."""

    kinds: numpy.ndarray
    corrections: tuple[Correction, ...]

    @property
    def constants(self) -> tuple[Constant, Constant]:
        """As C reads them."""
        numbers = [number for each in self.corrections for number in (each.value, each.shift, each.delta)]
        return Constant("kinds", self.kinds.astype(numpy.uint8)), Constant("corrections", numpy.array(numbers, numpy.int32))


def kinds_of(form: NarrowForm, fits: numpy.ndarray, order: numpy.ndarray | None = None) -> Kinds:
    """Returns the kinds of channels in this order; channels with too many corrections, or that do not fit, take the general
    form."""
    counts = numpy.array(list(map(len, form.corrections)))
    kinds = numpy.where(form.proved & fits & (form.widths < 1 << WIDTH_BITS) & (counts <= MOST_CORRECTIONS), counts, GENERAL_KIND)
    order = numpy.arange(len(kinds)) if order is None else order
    chosen = tuple(each for place in order if kinds[place] != GENERAL_KIND for each in form.corrections[place])
    return Kinds(kinds[order], chosen)


def filled(rows: numpy.ndarray, taps: int) -> numpy.ndarray:
    """Returns rows [outputs, taps] with zeros up to so many taps."""
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
