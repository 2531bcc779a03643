# SPDX-License-Identifier: MIT
"""The places of a model's tensors, and of its arena."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from aidge_build.contract.mem_info import MemInfo
from aidge_build.plan.memory.buffer import Buffer
from aidge_build.plan.memory.plan import MemoryPlan
from aidge_build.plan.schedule.stores import NO_STATE, StateMemory


@dataclass(frozen=True)
class Place:
    """The place of a tensor. `kind` is "input" or "output" (`index`: position in the signature), "arena" or "state"
    (`offset_bytes`), or "constant" (in flash). A member of a concatenation may be in `rows` that begin `stride_bytes` apart;
    `plane` is the choice of a memory manager instead: with gaps between positions, or wrapped around an end. `line_bytes` (not 0)
    are the bytes of the rows that a cascade keeps of the tensor's `line_height` rows: the other rows are not in memory."""

    kind: str
    index: int = 0
    offset_bytes: int = 0
    rows: int = 1
    stride_bytes: int = 0
    plane: MemInfo | None = None
    line_bytes: int = 0
    line_height: int = 0

    def extent_bytes(self, size_bytes: int) -> int:
        """Returns the bytes from the first to the last byte of a tensor of this size, gaps between its rows included (up to the
        end at which it wraps)."""
        if self.line_bytes:
            return self.line_bytes
        if self.plane is not None:
            return self.plane.cont_size - self.plane.gap_bytes if self.plane.wrap_size else self.plane.extent_bytes
        return self.stride_bytes * (self.rows - 1) + size_bytes // self.rows


@dataclass(frozen=True)
class ArenaPart:
    """The bytes of the arena from `start_bytes` on, which are in `region` ("": not known); offsets in `plan` count from there.
    Several parts are arrays of their own, named after their regions; an arena in one piece is one part without a name."""

    region: str
    start_bytes: int
    plan: MemoryPlan
    name: str = ""  # "" or "dtcm"
    component: int = 0  # the number that memory info gives it

    @property
    def size_bytes(self) -> int:
        """The bytes of the array."""
        return self.plan.peak_bytes

    @property
    def ending(self) -> str:
        """The ending of the part's C names."""
        return f"_{self.name}" if self.name else ""


@dataclass(frozen=True)
class Placed:
    """The places of all tensors and of the arena in RAM. `arena` is the plan as it is linked; `peak` is the plan with the graph's
    inputs and outputs inside."""

    arena: MemoryPlan
    arena_buffers: tuple[Buffer, ...]
    peak: MemoryPlan
    places: Mapping[str, Place]
    io_bytes: int
    alignment: int
    region: str
    split: tuple[ArenaPart, ...] = ()
    split_proved: bool = False
    states: StateMemory = NO_STATE
    notices: tuple[str, ...] = ()
    whole_peak_bytes: int = 0  # the peak of tensors as a whole, if cascades keep fewer bytes
    room_bytes: int = 0  # bytes that `region` has for an arena

    @cached_property
    def parts(self) -> tuple[ArenaPart, ...]:
        """The parts of the arena, from the lowest byte up."""
        return self.split or (ArenaPart(self.region, 0, self.arena),)

    def part_at(self, offset_bytes: int) -> ArenaPart:
        """Returns the part that holds a byte of the arena."""
        if not self.split:
            return self.parts[0]
        return next(part for part in reversed(self.parts) if part.start_bytes <= max(0, offset_bytes))
