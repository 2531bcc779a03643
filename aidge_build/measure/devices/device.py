# SPDX-License-Identifier: MIT
"""A chip, or one core of it, as a machine-readable description has it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aidge_build.base.errors import AidgeError

CODE = "BOARD"


@dataclass(frozen=True)
class Memory:
    """`length_bytes` from `origin`. `is_flash`: programs do not write it. `is_default`: linkers use it unasked; `is_start`: the
    program begins there."""

    name: str
    origin: int
    length_bytes: int
    is_flash: bool
    is_default: bool = True
    is_start: bool = False

    @property
    def end(self) -> int:
        """The first address after the memory."""
        return self.origin + self.length_bytes


@dataclass(frozen=True)
class Device:
    """One core of a chip. `core` is gcc's name; `has_fpu`, `has_dsp`, `has_mve` and `has_double` (whether the FPU has double
    precision) are None if the description does not say; `clock_hz` is the highest clock, 0 if unknown; `described_by` names file
    and entry for a comment."""

    name: str
    core: str
    has_fpu: bool | None
    has_dsp: bool | None
    has_mve: bool | None
    clock_hz: int
    memories: tuple[Memory, ...]
    described_by: str
    has_double: bool | None = None


def joined(memories: tuple[Memory, ...]) -> tuple[Memory, ...]:
    """Memories of one kind that follow each other, and that linkers use in the same way, as one with the first one's name."""
    found: list[Memory] = []
    for memory in sorted(memories, key=lambda memory: (memory.origin, memory.name)):
        last = found[-1] if found else None
        if last and (last.end, last.is_flash, last.is_default) == (memory.origin, memory.is_flash, memory.is_default):
            length = last.length_bytes + memory.length_bytes
            found[-1] = replace(last, length_bytes=length, is_start=last.is_start or memory.is_start)
        else:
            found.append(memory)
    return tuple(found)


def flash_of(device: Device, where: str) -> Memory:
    """Returns the memory of the program: the memory where it starts, else the largest that linkers use."""
    flashes = [memory for memory in device.memories if memory.is_flash]
    if not flashes:
        raise AidgeError(
            f"{device.name} has no flash of its own in this description",
            where=where,
            code=CODE,
            hint="write the board file by hand (boards/README.md), with the external memory that holds the program",
        )
    return max(flashes, key=lambda memory: (memory.is_start, memory.is_default, memory.length_bytes, -memory.origin))


def rams_of(device: Device, where: str) -> tuple[Memory, ...]:
    """The memories for data, the ones that linkers use first, and the largest of these first."""
    rams = [memory for memory in device.memories if not memory.is_flash]
    if not rams:
        raise AidgeError(
            f"{device.name} has no RAM in this description", where=where, code=CODE, hint="is it another core's part?"
        )
    return tuple(sorted(rams, key=lambda memory: (not memory.is_default, -memory.length_bytes, memory.origin)))
