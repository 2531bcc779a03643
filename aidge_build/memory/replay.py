# SPDX-License-Identifier: MIT
"""Replays a schedule byte by byte: every byte remembers which tensor wrote it last. Shares no code with the planner.

Refused are a read of bytes that something else has overwritten, an output or scratch that meets the bytes that the same step
still reads (unless its kernel allows that), bytes outside of their memory, and a graph output that is not whole at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.errors import CheckFailed


@dataclass(frozen=True)
class Span:
    """Bytes `[offset_bytes, offset_bytes + size_bytes)` of one memory (an arena, or an array of the firmware)."""

    memory: str
    offset_bytes: int
    size_bytes: int

    @property
    def end_bytes(self) -> int:
        return self.offset_bytes + self.size_bytes

    def meets(self, other: Span) -> bool:
        """Whether both have a byte in common."""
        return self.memory == other.memory and self.offset_bytes < other.end_bytes and other.offset_bytes < self.end_bytes


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


def replay(moves: Sequence[Move], spans: Mapping[str, Span], memories: Mapping[str, int], views: Mapping[str, str],
           inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Raise `CheckFailed` (PLAN02) unless every tensor keeps its bytes from its writing to its last reading.

    `memories` are bytes by name, `views` maps a tensor to the one whose bytes it names.
    """
    owners = {memory: numpy.zeros(size, numpy.int32) for memory, size in memories.items()}
    numbers = {name: number for number, name in enumerate(spans, 1)}

    def content(name: str) -> int:
        while name in views:
            name = views[name]
        return numbers[name]

    def bytes_of(name: str, span: Span, step: str) -> numpy.ndarray:
        if span.memory not in owners or span.offset_bytes < 0 or span.end_bytes > len(owners[span.memory]):
            raise CheckFailed(f"'{name}' lies outside of {span.memory}", where=f"memory plan, {step}", code="PLAN02")
        return owners[span.memory][span.offset_bytes:span.end_bytes]

    def require_whole(name: str, step: str) -> None:
        held = bytes_of(name, spans[name], step)
        wrong = numpy.flatnonzero(held != content(name))
        if len(wrong):
            other = next((tensor for tensor, number in numbers.items() if number == held[wrong[0]]), "scratch or nothing")
            raise CheckFailed(f"byte {wrong[0]:,} of '{name}' holds '{other}'", where=f"memory plan, {step}", code="PLAN02")

    for name in inputs:
        bytes_of(name, spans[name], "start")[:] = content(name)
    for move in moves:
        step = f"step '{move.name}'"
        for name in move.reads:
            require_whole(name, step)
        _require_apart(move, spans, step)
        if move.scratch is not None:
            bytes_of("scratch", move.scratch, step)[:] = -1
        for name in move.writes:
            bytes_of(name, spans[name], step)[:] = content(name)
    for name in outputs:
        require_whole(name, "end")


def _require_apart(move: Move, spans: Mapping[str, Span], step: str) -> None:
    leads = dict(move.leads)
    written = [(name, spans[name]) for name in move.writes] + ([("scratch", move.scratch)] if move.scratch else [])
    for position, (name, span) in enumerate(written):
        for other, other_span in written[:position]:
            if span.meets(other_span):
                raise CheckFailed(f"'{name}' and '{other}' are written at once and overlap", where=f"memory plan, {step}", code="PLAN02")
        for index, read in enumerate(move.reads):
            if not span.meets(spans[read]):
                continue
            first_output = position == 0 and bool(move.writes)
            distance = spans[read].offset_bytes - span.offset_bytes
            if first_output and (index in move.in_place and distance == 0 or index in leads and distance >= leads[index]):
                continue
            raise CheckFailed(f"'{name}' overwrites '{read}' while it is read", where=f"memory plan, {step}", code="PLAN02")
