# SPDX-License-Identifier: MIT
"""Replays a schedule byte by byte: every byte remembers the tensor, and the byte of the tensor, that was written last.

It shares no code with the planner. Bytes that all tensors treat alike are one cell: the work grows with the number of tensors
and rows, not with their sizes.

It refuses a read of bytes that something else has overwritten, an output or scratch that meets bytes that the same step still
reads (unless its kernel allows that), bytes outside of their memory, and a graph output that is not whole at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy

from aidge_build.base.errors import CheckFailed


@dataclass(frozen=True)
class Span:
    """`size_bytes` from `offset_bytes` on in one memory (an arena, or an array of the firmware): in one piece, or in equal rows
    that begin `stride_bytes` apart. With `cont_bytes`, the bytes from `cont_bytes` after the first byte on continue at
    `wrap_offset_bytes` instead."""

    memory: str
    offset_bytes: int
    size_bytes: int
    rows: int = 1
    stride_bytes: int = 0
    cont_bytes: int = 0
    wrap_offset_bytes: int = 0

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return self.size_bytes // self.rows

    @property
    def first_byte(self) -> int:
        """The lowest byte."""
        return min(self.offset_bytes, self.wrap_offset_bytes) if self.cont_bytes else self.offset_bytes

    @cached_property
    def end_bytes(self) -> int:
        """One past the last byte."""
        if self.cont_bytes:
            firsts, lengths = self.runs
            return int((firsts + lengths).max())
        return self.offset_bytes + self.stride_bytes * (self.rows - 1) + self.row_bytes

    @property
    def is_whole(self) -> bool:
        """Whether it is in one piece."""
        return self.rows == 1 and not self.cont_bytes

    @property
    def runs(self) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The pieces in the order of their bytes: the beginning of each in the memory, and its length."""
        behind = self.stride_bytes * numpy.arange(self.rows, dtype=numpy.int64)
        ends = behind + self.row_bytes
        if not self.cont_bytes:
            return self.offset_bytes + behind, ends - behind
        cut = numpy.flatnonzero((behind < self.cont_bytes) & (ends > self.cont_bytes))
        behind, ends = numpy.insert(behind, cut + 1, self.cont_bytes), numpy.insert(ends, cut, self.cont_bytes)
        shift = numpy.where(behind < self.cont_bytes, self.offset_bytes, self.wrap_offset_bytes - self.cont_bytes)
        return behind + shift, ends - behind

    def address(self, positions: numpy.ndarray) -> numpy.ndarray:
        """Returns the places in the memory of the bytes at these positions of the tensor."""
        if self.is_whole:
            return self.offset_bytes + positions
        firsts, lengths = self.runs
        ends = numpy.cumsum(lengths)
        run = numpy.searchsorted(ends, positions, side="right")
        return firsts[run] + positions - (ends - lengths)[run]

    def meets(self, other: Span) -> bool:
        """Whether both have a byte in common."""
        if self.memory != other.memory or self.first_byte >= other.end_bytes or other.first_byte >= self.end_bytes:
            return False
        if self.is_whole and other.is_whole:
            return True
        (firsts, lengths), (others, widths) = self.runs, other.runs
        order = numpy.argsort(others, kind="stable")
        reached = numpy.maximum.accumulate((others + widths)[order])
        last = numpy.searchsorted(others[order], firsts + lengths) - 1  # the last one that begins before this one ends
        return bool(((last >= 0) & (reached[numpy.maximum(last, 0)] > firsts)).any())


@dataclass(frozen=True)
class Joint:
    """A tensor that nobody writes as a whole: each of its `rows` holds the rows of `members` one after the other."""

    members: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class Piece:
    """A tensor that nobody writes: the bytes of `source` from `first_byte` on."""

    source: str
    first_byte: int = 0


@dataclass(frozen=True)
class Move:
    """One step: the tensors that it reads and writes. `in_place` are positions in `reads` that output 0 may overwrite from the
    first byte on; `leads` are (position, bytes) by which output 0 must begin earlier than that input."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    scratch: Span | None = None
    in_place: tuple[int, ...] = ()
    leads: tuple[tuple[int, int], ...] = ()


def replay(
    moves: Sequence[Move],
    spans: Mapping[str, Span],
    memories: Mapping[str, int],
    unwritten: Mapping[str, Piece | Joint],
    inputs: Sequence[str],
    outputs: Sequence[str],
) -> None:
    """Raises `CheckFailed` (PLAN02) unless every tensor keeps its bytes from its writing to its last reading.

    `memories` are bytes by name; `unwritten` has the sources of the tensors that no step writes.
    """
    state = _Replay(spans, memories, unwritten, [move.scratch for move in moves if move.scratch is not None])
    for name in inputs:
        state.write(name, "start")
    for move in moves:
        step = f"step '{move.name}'"
        for name in move.reads:
            state.require_whole(name, step)
        _require_apart(move, spans, step)
        if move.scratch is not None:
            state.spoil(move.scratch, step)
        for name in move.writes:
            state.write(name, step)
    for name in outputs:
        state.require_whole(name, "end")


_PLACE = 40  # bits: more than any memory has bytes, and 23 are left for the numbers of tensors


class _Whole(NamedTuple):
    """The content of a tensor's cells (`cells` of `held`) while the tensor is whole."""

    held: numpy.ndarray
    cells: numpy.ndarray | slice
    content: numpy.ndarray | numpy.int64
    content_bytes: bytes  # the same: two short arrays are compared as bytes in a tenth of the time


class _Replay:
    """All memories, cut where any tensor, row or member begins or ends: within a cell, bytes that follow each other in the memory
    follow each other in the tensor that was written last.

    A cell holds the number of that tensor, `_PLACE` bits to the left, plus the distance from a byte of the memory to the byte of
    the tensor in it: the same number in all cells of a tensor that is written in one piece.
    """

    def __init__(
        self,
        spans: Mapping[str, Span],
        memories: Mapping[str, int],
        unwritten: Mapping[str, Piece | Joint],
        scratch: Sequence[Span],
    ):
        self.spans, self.sizes, self.unwritten = spans, memories, unwritten
        self.numbers = {name: number for number, name in enumerate(spans, 1)}
        cuts: dict[str, list[numpy.ndarray]] = {memory: [numpy.array([0, size])] for memory, size in memories.items()}
        ends: dict[str, list[int]] = {memory: [] for memory in memories}
        for span in dict.fromkeys([*spans.values(), *scratch]):
            if span.memory not in cuts:
                continue
            if span.is_whole:
                ends[span.memory] += (span.offset_bytes, span.end_bytes)
            else:
                firsts, lengths = span.runs
                cuts[span.memory] += (firsts, firsts + lengths)
        for name in unwritten:
            if name in spans and spans[name].memory in cuts:
                cuts[spans[name].memory].append(spans[name].address(self._breaks(name)))
        self.starts = {
            memory: numpy.unique(numpy.concatenate([*found, numpy.array(ends[memory], numpy.int64)]))
            for memory, found in cuts.items()
        }
        self.cell_at = {
            memory: {start: cell for cell, start in enumerate(starts.tolist())} for memory, starts in self.starts.items()
        }
        self.held = {memory: numpy.zeros(len(starts), numpy.int64) for memory, starts in self.starts.items()}
        self._wholes: dict[str, _Whole] = {}

    def _written(self, name: str, first: int = 0) -> tuple[str, int]:
        """Returns the tensor that this one is a piece of, and the first byte of the piece in it."""
        while isinstance(piece := self.unwritten.get(name), Piece):
            name, first = piece.source, first + piece.first_byte
        return name, first

    def _widths(self, joint: Joint) -> list[int]:
        return [self.spans[member].size_bytes // joint.rows for member in joint.members]

    def _breaks(self, name: str) -> numpy.ndarray:
        """Returns the positions inside the tensor at which its bytes come from another tensor."""
        whole, first = self._written(name)
        joint = self.unwritten.get(whole)
        if not isinstance(joint, Joint):
            return numpy.zeros(0, numpy.int64)
        widths = self._widths(joint)
        rows, reached, found = numpy.arange(joint.rows, dtype=numpy.int64) * sum(widths), 0, []
        for member, width in zip(joint.members, widths, strict=True):
            row, inside = numpy.divmod(self._breaks(member), max(1, width))
            found += [rows + reached, row * sum(widths) + reached + inside]
            reached += width
        breaks = numpy.concatenate(found) - first
        return breaks[(breaks > 0) & (breaks < self.spans[name].size_bytes)]

    def _content(self, name: str, positions: numpy.ndarray) -> numpy.ndarray:
        """Returns the number of the tensor that is written at these positions, `_PLACE` bits to the left, plus the position in
        it."""
        whole, first = self._written(name)
        joint = self.unwritten.get(whole)
        if not isinstance(joint, Joint):
            return positions + ((self.numbers[whole] << _PLACE) + first)
        widths = self._widths(joint)
        row, inside = numpy.divmod(positions + first, max(1, sum(widths)))
        which = numpy.searchsorted(numpy.cumsum(widths), inside, side="right")
        content = numpy.zeros(len(positions), numpy.int64)
        for index, (member, width) in enumerate(zip(joint.members, widths, strict=True)):
            chosen = which == index
            content[chosen] = self._content(member, row[chosen] * width + inside[chosen] - sum(widths[:index]))
        return content

    def _whole(self, name: str, step: str) -> _Whole:
        """Returns the content of the whole tensor; asked when it is written, and for each reader."""
        if name not in self._wholes:
            memory = self.spans[name].memory
            cells, distance = self._cells(name, self.spans[name], step)
            written, first = self._written(name)
            if isinstance(cells, slice) and not isinstance(self.unwritten.get(written), Joint):
                content = numpy.int64((self.numbers[written] << _PLACE) + first + distance)
                self._wholes[name] = _Whole(self.held[memory], cells, content, content.tobytes() * (cells.stop - cells.start))
            else:
                starts = self.starts[memory][cells]
                several = self._content(name, starts + distance) - starts
                self._wholes[name] = _Whole(self.held[memory], cells, several, several.tobytes())
        return self._wholes[name]

    def write(self, name: str, step: str) -> None:
        """Makes the tensor whole from now on."""
        whole = self._whole(name, step)
        whole.held[whole.cells] = whole.content

    def spoil(self, span: Span, step: str) -> None:
        """Makes the bytes unknown from now on."""
        cells, _ = self._cells("scratch", span, step)
        self.held[span.memory][cells] = 0

    def require_whole(self, name: str, step: str) -> None:
        """Raises CheckFailed unless every byte of the tensor is as it was written."""
        whole = self._whole(name, step)
        held = whole.held[whole.cells]
        if held.tobytes() != whole.content_bytes:
            wrong = int((held != whole.content).argmax())
            starts = self.starts[self.spans[name].memory][whole.cells]
            owner = held[wrong] + starts[wrong] >> _PLACE
            other = next((tensor for tensor, own in self.numbers.items() if own == owner), "scratch or nothing")
            position = (starts + self._cells(name, self.spans[name], step)[1])[wrong]
            raise CheckFailed(f"byte {position:,} of '{name}' holds '{other}'", where=f"memory plan, {step}", code="PLAN02")

    def _cells(self, name: str, span: Span, step: str) -> tuple[numpy.ndarray | slice, numpy.ndarray | int]:
        """Returns the cells of the span, in its order, and for each cell the distance from a byte of the memory to the byte of
        the span in it."""
        if span.memory not in self.sizes or span.first_byte < 0 or span.end_bytes > self.sizes[span.memory]:
            raise CheckFailed(f"'{name}' is outside of {span.memory}", where=f"memory plan, {step}", code="PLAN02")
        starts = self.starts[span.memory]
        if span.is_whole:
            cells = slice(self.cell_at[span.memory][span.offset_bytes], self.cell_at[span.memory][span.end_bytes])
            return cells, -span.offset_bytes
        firsts, lengths = span.runs
        low, high = numpy.searchsorted(starts, firsts), numpy.searchsorted(starts, firsts + lengths)
        counts = high - low
        run = numpy.repeat(numpy.arange(len(firsts)), counts)
        each = numpy.arange(len(run)) - numpy.repeat(numpy.cumsum(counts) - counts, counts) + low[run]
        return each, (numpy.cumsum(lengths) - lengths - firsts)[run]


def _require_apart(move: Move, spans: Mapping[str, Span], step: str) -> None:
    leads = dict(move.leads)
    written = [(name, spans[name]) for name in move.writes] + ([("scratch", move.scratch)] if move.scratch else [])
    for position, (name, span) in enumerate(written):
        for other, other_span in written[:position]:
            if span.meets(other_span):
                raise CheckFailed(
                    f"'{name}' and '{other}' are written at once and overlap", where=f"memory plan, {step}", code="PLAN02"
                )
        for index, read in enumerate(move.reads):
            if not span.meets(spans[read]):
                continue
            if position == 0 and move.writes:
                least, most = _behind(span, spans[read])
                if index in move.in_place and least == most == 0 or index in leads and least >= leads[index]:
                    continue
            raise CheckFailed(f"'{name}' overwrites '{read}' while it is read", where=f"memory plan, {step}", code="PLAN02")


def _behind(written: Span, read: Span) -> tuple[int, int]:
    """Returns the least and the most, over all addresses that both spans have, of (position in the written tensor - position in
    the read tensor), in bytes."""
    if written.is_whole and read.is_whole:
        return (read.offset_bytes - written.offset_bytes,) * 2
    (firsts, lengths), (others, widths) = written.runs, read.runs
    shifts, other_shifts = (numpy.cumsum(sizes) - sizes - starts for starts, sizes in ((firsts, lengths), (others, widths)))
    order = numpy.argsort(others, kind="stable")
    others, widths, other_shifts = others[order], widths[order], other_shifts[order]
    low = numpy.searchsorted(others + widths, firsts, side="right")  # runs of one tensor share no byte: their ends ascend, too
    counts = numpy.maximum(numpy.searchsorted(others, firsts + lengths) - low, 0)
    run = numpy.repeat(numpy.arange(len(firsts)), counts)
    other = numpy.arange(len(run)) - numpy.repeat(numpy.cumsum(counts) - counts, counts) + low[run]
    distances = shifts[run] - other_shifts[other]
    return (int(distances.min()), int(distances.max())) if len(distances) else (-written.size_bytes - read.size_bytes, 0)
