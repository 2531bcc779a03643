# SPDX-License-Identifier: MIT
"""Constants whose weights share bytes in flash: the words of an array as a shorter list of words.

A word of the array is narrow if a field of few bits can hold each of its four bytes: kernels may add an offset to each of the
four. The list has a start, then segments:

| words | content |
|---|---|
| 2, or 4 | start: the words `low` and `flip`, for all narrow words; or the 16 bytes of a table |
| 1 | head: bits 0 to 7 the other words of a turn, bits 8 to 23 its units of narrow words, bits 24 to 31 the turns minus 1 |
| for each turn | the other words as they are; then the narrow words in units |

| kind | words of a unit | narrow words of a unit | byte of a field f |
|---|---|---|---|
| 4 | 1 | 2 | (f + low) xor flip |
| 3 | 3: two with 2 bits of each field, one with the third bits | 8 | (f + low) xor flip |
| 2 | 1 | 4 | (f + low) xor flip |
| 1 | 1 | 8 | low for 0, low xor flip for 1 |
| table | 1 | 2 | byte f of the table |

The units of a turn are planes: field p of word i belongs to narrow word p * units + i, and each byte of word i holds the field
of one byte. So a loop may compute several words of a plane at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy

TABLE = "table"
KINDS = ("1", "2", "3", "4")  # of weights that are integers of so many bits
MOST_OTHERS, MOST_UNITS, MOST_TURNS = 255, 65535, 256
_TABLE_BYTES = 16
_LEAST_GAINS = (1, 2, 4, 8)  # words that each turn saves: short ones pay if they are alike, and need no heads


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


def packed(data: bytes, kind: str) -> Packed:
    """Returns the array in the words of a kind."""
    words = numpy.frombuffer(data + bytes(-len(data) % 4), numpy.uint8).reshape(-1, 4)
    start, fields, fits = _from_table(words) if kind == TABLE else _from_bits(words, int(kind))
    is_narrow = numpy.asarray(fits.all(axis=1))
    lists = [_list(words, fields, start, list(_segments(is_narrow, kind, gain)), kind) for gain in _LEAST_GAINS]
    return Packed(kind, min(lists, key=len), len(data))


def _list(
    words: numpy.ndarray, fields: numpy.ndarray, start: bytes, segments: Sequence[tuple[tuple[int, int], int]], kind: str
) -> bytes:
    """Returns the list of these segments."""
    pieces, at = [start], 0
    for (others, units), turns in segments:
        pieces.append((others | units << 8 | turns - 1 << 24).to_bytes(4, "little"))
        for _ in range(turns):
            end = at + others + units * UNITS[kind].narrow
            pieces += [words[at : at + others].tobytes(), _planes(fields[at + others : end], units, kind).tobytes()]
            at = end
    return b"".join(pieces)


def _from_table(words: numpy.ndarray) -> tuple[bytes, numpy.ndarray, numpy.ndarray]:
    """Returns the start of the list, the field of each byte, and whether there is one: for the bytes that occur most."""
    counts = numpy.bincount(words.reshape(-1), minlength=256)
    values = numpy.sort(numpy.argsort(-counts, kind="stable")[:_TABLE_BYTES]).astype(numpy.uint8)
    field_of = numpy.full(256, 255, numpy.uint8)
    field_of[values] = numpy.arange(_TABLE_BYTES)
    fields = field_of[words]
    return values.tobytes(), fields, fields < _TABLE_BYTES


def _from_bits(words: numpy.ndarray, bits: int) -> tuple[bytes, numpy.ndarray, numpy.ndarray]:
    """Returns the same for integers of so many bits: each of the four bytes of a word has an offset."""
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
    return low.tobytes() + flip.tobytes(), fields, fits


def _segments(is_narrow: numpy.ndarray, kind: str, least_gain: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Yields ((other words, units), turns)."""
    for turn, alike in groupby(_turns(is_narrow, UNITS[kind], least_gain)):
        turns = len(list(alike))
        for first in range(0, turns, MOST_TURNS):
            yield turn, min(MOST_TURNS, turns - first)


def _turns(is_narrow: numpy.ndarray, unit: _Unit, least_gain: int) -> Iterator[tuple[int, int]]:
    """Yields (other words, units): a run of narrow words that does not fill its last unit ends with other words, and so does one
    that saves too little."""
    edges = numpy.flatnonzero(numpy.diff(is_narrow.astype(numpy.int8), prepend=0, append=0))
    at = 0
    for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        units = (end - first) // unit.narrow
        if units * (unit.narrow - unit.words) < least_gain:
            continue
        yield from _limited(first - at, units)
        at = first + units * unit.narrow
    if at < len(is_narrow):
        yield from _limited(len(is_narrow) - at, 0)


def _limited(others: int, units: int) -> Iterator[tuple[int, int]]:
    """Yields turns whose numbers fit the head."""
    while others > MOST_OTHERS:
        yield MOST_OTHERS, 0
        others -= MOST_OTHERS
    while units > MOST_UNITS:
        yield others, MOST_UNITS
        others, units = 0, units - MOST_UNITS
    yield others, units


def _planes(fields: numpy.ndarray, units: int, kind: str) -> numpy.ndarray:
    """Returns the units of a turn, uint8 [words, 4]."""
    planes = fields.reshape(UNITS[kind].narrow, units, 4)
    if kind != "3":
        return _joined(planes, 8 // UNITS[kind].narrow)
    low = planes & 3
    return numpy.concatenate([_joined(low[:4], 2), _joined(low[4:], 2), _joined(planes >> 2, 1)])


def _joined(planes: numpy.ndarray, bits: int) -> numpy.ndarray:
    """Returns the fields of the planes in the bits of one, the first in the lowest bits."""
    joined = numpy.zeros(planes.shape[1:], numpy.uint8)
    for number, plane in enumerate(planes):
        joined |= plane << numpy.uint8(number * bits)
    return joined
