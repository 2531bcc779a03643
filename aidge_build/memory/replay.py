# SPDX-License-Identifier: MIT
"""Replays a schedule byte by byte: every byte remembers which byte of which tensor was written last.

It shares no code with the planner.

Refused are a read of bytes that something else has overwritten, an output or scratch that meets the bytes that the same step
still reads (unless its kernel allows that), bytes outside of their memory, and a graph output that is not whole at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.errors import CheckFailed

OWNER_SHIFT = 32  # the number of a tensor stands above the position of its byte


@dataclass(frozen=True)
class Span:
    """`size_bytes` from `offset_bytes` on in one memory (an arena, or an array of the firmware): in one piece, or in equal rows
    whose beginnings are `stride_bytes` apart. With `cont_bytes`, what lies that far behind the first byte or further continues
    at `wrap_offset_bytes` instead."""

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
        """The lowest one."""
        return min(self.offset_bytes, self.wrap_offset_bytes) if self.cont_bytes else self.offset_bytes

    @property
    def end_bytes(self) -> int:
        """One past the last byte."""
        if self.cont_bytes:
            return int(self.positions.max(initial=-1)) + 1
        return self.offset_bytes + self.stride_bytes * (self.rows - 1) + self.row_bytes

    @property
    def is_whole(self) -> bool:
        """Whether it lies in one piece."""
        return self.rows == 1 and not self.cont_bytes

    @property
    def positions(self) -> numpy.ndarray:
        """Where each byte lies in the memory."""
        behind = (self.stride_bytes * numpy.arange(self.rows)[:, None] + numpy.arange(self.row_bytes)).ravel()
        if not self.cont_bytes:
            return self.offset_bytes + behind
        return numpy.where(
            behind < self.cont_bytes, self.offset_bytes + behind, self.wrap_offset_bytes + behind - self.cont_bytes
        )

    def meets(self, other: Span) -> bool:
        """Whether both have a byte in common."""
        if self.memory != other.memory or self.first_byte >= other.end_bytes or other.first_byte >= self.end_bytes:
            return False
        return self.is_whole and other.is_whole or bool(numpy.isin(self.positions, other.positions).any())


@dataclass(frozen=True)
class Joint:
    """A tensor that nobody writes as a whole: each of its `rows` holds the rows of `members` one after the other."""

    members: tuple[str, ...]
    rows: int = 1


@dataclass(frozen=True)
class Piece:
    """A tensor that nobody writes: the bytes of `source` from `first_byte` on."""

    source: str
    first_byte: int = 0


@dataclass(frozen=True)
class Move:
    """One step: what it reads and writes, by tensor. `in_place` are positions in `reads` that output 0 may overwrite from the
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
    """Raise `CheckFailed` (PLAN02) unless every tensor keeps its bytes from its writing to its last reading.

    `memories` are bytes by name; `unwritten` says of what tensors that no step writes consist.
    """
    state = _Replay(spans, memories, unwritten)
    for name in inputs:
        state.write(name, spans[name], state.content(name), "start")
    for move in moves:
        step = f"step '{move.name}'"
        for name in move.reads:
            state.require_whole(name, step)
        _require_apart(move, spans, step)
        if move.scratch is not None:
            state.write("scratch", move.scratch, numpy.full(move.scratch.size_bytes, -1), step)
        for name in move.writes:
            state.write(name, spans[name], state.content(name), step)
    for name in outputs:
        state.require_whole(name, "end")


class _Replay:
    """The bytes of all memories: the number of the tensor that owns each, and which of its bytes it is."""

    def __init__(self, spans: Mapping[str, Span], memories: Mapping[str, int], unwritten: Mapping[str, Piece | Joint]):
        self.spans, self.unwritten = spans, unwritten
        self.owners = {memory: numpy.zeros(size, numpy.int64) for memory, size in memories.items()}
        self.numbers = {name: number for number, name in enumerate(spans, 1)}

    def content(self, name: str) -> numpy.ndarray:
        """What each byte of a tensor must be."""
        match self.unwritten.get(name):
            case Piece(source, first):
                return self.content(source)[first : first + self.spans[name].size_bytes]
            case Joint(members, rows):
                return numpy.concatenate([self.content(member).reshape(rows, -1) for member in members], axis=1).ravel()
        return (self.numbers[name] << OWNER_SHIFT) + numpy.arange(self.spans[name].size_bytes)

    def write(self, name: str, span: Span, content: numpy.ndarray, step: str) -> None:
        positions = self._positions(name, span, step)
        self.owners[span.memory][positions] = content

    def require_whole(self, name: str, step: str) -> None:
        span = self.spans[name]
        positions = self._positions(name, span, step)
        held = self.owners[span.memory][positions]
        wrong = numpy.flatnonzero(held != self.content(name))
        if len(wrong):
            number = held[wrong[0]] >> OWNER_SHIFT
            other = next((tensor for tensor, own in self.numbers.items() if own == number), "scratch or nothing")
            raise CheckFailed(f"byte {wrong[0]:,} of '{name}' holds '{other}'", where=f"memory plan, {step}", code="PLAN02")

    def _positions(self, name: str, span: Span, step: str) -> numpy.ndarray | slice:
        if span.memory not in self.owners or span.first_byte < 0 or span.end_bytes > len(self.owners[span.memory]):
            raise CheckFailed(f"'{name}' lies outside of {span.memory}", where=f"memory plan, {step}", code="PLAN02")
        return slice(span.offset_bytes, span.end_bytes) if span.is_whole else span.positions


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
            first_output = position == 0 and bool(move.writes) and not (span.cont_bytes or spans[read].cont_bytes)
            distance = spans[read].offset_bytes - span.offset_bytes
            if first_output and (index in move.in_place and distance == 0 or index in leads and distance >= leads[index]):
                continue
            raise CheckFailed(f"'{name}' overwrites '{read}' while it is read", where=f"memory plan, {step}", code="PLAN02")
