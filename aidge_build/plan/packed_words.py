# SPDX-License-Identifier: MIT
"""Constants whose weights share bytes in flash: the words of an array as a shorter list of words.

A word of the array is narrow if a field of few bits can hold each of its four bytes: kernels may add an offset to each of the
four. The array is a row of turns: a few other words, then a few narrow words. The list has a segment for turns that are alike:

| words | content |
|---|---|
| 1 | bits 0 to 7: other words of a turn; bits 8 to 30: turns; bit 31: whether a start follows, for this segment and later ones |
| 1 | narrow words of a turn |
| 0, 2 or 4 | start: the words `low` and `flip`; the 16 bytes of a table |
| turns * other words | the other words, as they are |
| the rest | units, of the narrow words of all turns together; the last unit may hold fields that are not read |

| kind | words of a unit | narrow words of a unit | byte of a field f |
|---|---|---|---|
| 4 | 1 | 2 | (f + low) xor flip |
| 3 | 3: two with 2 bits of each field, one with the third bits | 8 | (f + low) xor flip |
| 2 | 1 | 4 | (f + low) xor flip |
| 1 | 1 | 8 | low for 0, low xor flip for 1 |
| table | 1 | 2 | byte f of the table |

The units of a segment are planes: field p of word i belongs to narrow word p * units + i, and each byte of word i holds the field
of one byte. So a loop may compute several words of a plane at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy

TABLE = "table"
KINDS = ("1", "2", "3", "4")  # of weights that are integers of so many bits
MOST_OTHERS = 255
_STARTS = 1 << 31
_TABLE_BYTES = 16
_LEAST_RUN_OF_A_TABLE = 16  # words: its segment has 6 words more than half of them
_LEAST_RUNS = (1, 2, 4, 8, 16)  # narrow words of a turn: short runs pay if turns are alike, and need no segments of their own


@dataclass(frozen=True)
class Packed:
    """The packed words of an array, little-endian, and the bytes of the array (its last word may have fewer than 4)."""

    kind: str
    words: bytes
    size_bytes: int

    @property
    def saved_bytes(self) -> int:
        """The bytes by which the packed words are fewer."""
        return self.size_bytes - len(self.words)

    def saves(self, share: int) -> bool:
        """Whether it saves at least one byte of `share` bytes."""
        return self.saved_bytes * share >= self.size_bytes


@dataclass(frozen=True)
class _Unit:
    """A unit has `words` words for `narrow` words of the array."""

    words: int
    narrow: int


UNITS = {"4": _Unit(1, 2), "3": _Unit(3, 8), "2": _Unit(1, 4), "1": _Unit(1, 8), TABLE: _Unit(1, 2)}


@dataclass(frozen=True)
class _Fields:
    """The field of each byte of an array of words, uint8 [words, 4], which words are narrow, and the start that says so."""

    start: bytes
    values: numpy.ndarray
    is_narrow: numpy.ndarray


@dataclass(frozen=True)
class _Segment:
    """Turns that are alike, and a start if there is one."""

    others: int
    narrow: int
    turns: int = 1
    start: bytes = b""


def packed(data: bytes, kind: str) -> Packed:
    """Returns the array in the words of a kind."""
    words = numpy.frombuffer(data + bytes(-len(data) % 4), numpy.uint8).reshape(-1, 4)
    fields = _from_table(words) if kind == TABLE else _from_bits(words, int(kind))
    lists = [_list(words, fields.values, _segments(fields, least), kind) for least in _LEAST_RUNS]
    if kind == TABLE:
        lists.append(_list(words, *_with_own_tables(words), kind))
    return Packed(kind, min(lists, key=len), len(data))


def _list(words: numpy.ndarray, fields: numpy.ndarray, segments: Sequence[_Segment], kind: str) -> bytes:
    """Returns the list of these segments."""
    pieces, at = list[bytes](), 0
    for one in segments:
        end = at + one.turns * (one.others + one.narrow)
        head = one.others | one.turns << 8 | _STARTS * bool(one.start)
        pieces += [head.to_bytes(4, "little"), one.narrow.to_bytes(4, "little"), one.start]
        pieces.append(words[at:end].reshape(one.turns, -1, 4)[:, : one.others].tobytes())
        pieces.append(_units(fields[at:end].reshape(one.turns, -1, 4)[:, one.others :], kind).tobytes())
        at = end
    return b"".join(pieces)


def _from_table(words: numpy.ndarray) -> _Fields:
    """Returns the fields of a table of the bytes that occur most."""
    counts = numpy.bincount(words.reshape(-1), minlength=256)
    values = numpy.sort(numpy.argsort(-counts, kind="stable")[:_TABLE_BYTES]).astype(numpy.uint8)
    field_of = numpy.full(256, 255, numpy.uint8)
    field_of[values] = numpy.arange(_TABLE_BYTES)
    fields = field_of[words]
    return _Fields(values.tobytes(), fields, numpy.asarray((fields < _TABLE_BYTES).all(axis=1)))


def _from_bits(words: numpy.ndarray, bits: int) -> _Fields:
    """Returns the fields of integers of so many bits: each of the four bytes of a word has an offset."""
    low, flip = numpy.zeros(4, numpy.uint8), numpy.zeros(4, numpy.uint8)
    fields, fits = numpy.zeros_like(words), numpy.zeros(words.shape, bool)
    for lane in range(4):
        values = words[:, lane]
        counts = numpy.bincount(values, minlength=256)
        if bits == 1:
            low[lane], other = numpy.sort(numpy.argsort(-counts, kind="stable")[:2])
            flip[lane] = low[lane] ^ other
            fields[:, lane], fits[:, lane] = values != low[lane], (values == low[lane]) | (values == other)
            continue
        sums = numpy.cumsum(numpy.concatenate([[0], counts, counts]))
        first = int(numpy.argmax(sums[1 << bits :][:256] - sums[:256]))
        wraps = first + (1 << bits) > 256
        low[lane], flip[lane] = (first - 128, 128) if wraps else (first, 0)
        fields[:, lane] = values - numpy.uint8(first)
        fits[:, lane] = fields[:, lane] < 1 << bits
    return _Fields(low.tobytes() + flip.tobytes(), fields, numpy.asarray(fits.all(axis=1)))


def _segments(fields: _Fields, least: int) -> list[_Segment]:
    """Returns the segments of runs of at least so many narrow words; the first one has the start."""
    edges = numpy.flatnonzero(numpy.diff(fields.is_narrow.astype(numpy.int8), prepend=0, append=0)).tolist()
    runs = [(first, end) for first, end in zip(edges[::2], edges[1::2], strict=True) if end - first >= least]
    found = [_Segment(*turn, len(list(alike))) for turn, alike in groupby(_turns(fields.is_narrow, runs))]
    return [replace(one, start=fields.start if number == 0 else b"") for number, one in enumerate(found)]


def _with_own_tables(words: numpy.ndarray) -> tuple[numpy.ndarray, list[_Segment]]:
    """Returns fields, and segments with a table each: the longest runs of words with at most 16 different bytes, one after the
    other, as the weights of a channel are."""
    fields, found, at, others = numpy.zeros_like(words), list[_Segment](), 0, 0
    sets = [frozenset(word) for word in words.tolist()]
    while at < len(sets):
        seen, end = sets[at], at + 1
        while end < len(sets) and len(seen | sets[end]) <= _TABLE_BYTES:
            seen, end = seen | sets[end], end + 1
        if end - at < _LEAST_RUN_OF_A_TABLE:
            others, at = others + 1, at + 1
            continue
        table = numpy.array(sorted(seen), numpy.uint8)
        fields[at:end] = numpy.searchsorted(table, words[at:end])
        *plain, (left, narrow) = _limited(others, end - at)
        found += [_Segment(*turn) for turn in plain]
        found.append(_Segment(left, narrow, 1, table.tobytes().ljust(_TABLE_BYTES, b"\0")))
        others, at = 0, end
    return fields, found + [_Segment(*turn) for turn in _limited(others, 0)]


def _turns(is_narrow: numpy.ndarray, runs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yields (other words, narrow words). Most turns of a kernel's stream are alike, but a narrow word next to the weights may
    be a bias: a turn like most others is taken wherever its words fit, or else the next run as it is."""
    usual = _usual(runs)
    counts, at, number = numpy.concatenate([[0], numpy.cumsum(is_narrow)]).tolist(), 0, 0
    while at < len(is_narrow):
        first, end = at + usual[0], at + sum(usual)
        if usual[1] and end < len(counts) and counts[end] - counts[first] == usual[1]:
            yield usual
            at = end
            continue
        while number < len(runs) and runs[number][1] <= at:
            number += 1
        first, end = runs[number] if number < len(runs) else (len(is_narrow), len(is_narrow))
        yield from _limited(max(first, at) - at, end - max(first, at))
        at = end


def _usual(runs: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Returns the (other words, narrow words) of the turns with most narrow words in all; (0, 0) without one."""
    totals: dict[tuple[int, int], int] = {}
    for (_, before), (first, end) in zip([(0, 0), *runs], runs):
        totals[first - before, end - first] = totals.get((first - before, end - first), 0) + end - first
    return max((turn for turn in totals if turn[0] <= MOST_OTHERS), key=lambda turn: totals[turn], default=(0, 0))


def _limited(others: int, narrow: int) -> Iterator[tuple[int, int]]:
    """Yields turns whose other words fit a head."""
    while others > MOST_OTHERS:
        yield MOST_OTHERS, 0
        others -= MOST_OTHERS
    yield others, narrow


def _units(fields: numpy.ndarray, kind: str) -> numpy.ndarray:
    """Returns the units of the narrow words of a segment, uint8 [words, 4]."""
    own, planes = fields.reshape(-1, 4), UNITS[kind].narrow
    narrow = numpy.concatenate([own, numpy.zeros((-len(own) % planes, 4), numpy.uint8)]).reshape(planes, -1, 4)
    if kind != "3":
        return _joined(narrow, 8 // planes)
    low = narrow & 3
    return numpy.concatenate([_joined(low[:4], 2), _joined(low[4:], 2), _joined(narrow >> 2, 1)])


def _joined(planes: numpy.ndarray, bits: int) -> numpy.ndarray:
    """Returns the fields of the planes in the bits of one, the first in the lowest bits."""
    joined = numpy.zeros(planes.shape[1:], numpy.uint8)
    for number, plane in enumerate(planes):
        joined |= plane << numpy.uint8(number * bits)
    return joined
