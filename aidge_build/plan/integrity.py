# SPDX-License-Identifier: MIT
"""The RAM of the checks at run time (`--integrity`): the struct of their progress, and the words next to the arena."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aidge_build.base.errors import AidgeError
from aidge_build.plan.arena_regions import ARENA_ALIGNMENT
from aidge_build.plan.memory.buffer import Buffer
from aidge_build.plan.memory.plan import MemoryPlan, Placement
from aidge_build.plan.options import Options

CANARY = 0xC3A5F09D
CANARY_BYTES = 4
BEFORE, AFTER = "canary before the arena", "canary after the arena"


@dataclass(frozen=True)
class Integrity:
    """The struct that a model keeps between calls, the widest fields first: with constants, `words` of 4 bytes (the CRC, the
    bytes of the current part so far, the length of bound weights) and the number of the part; then two bytes."""

    words: int

    @staticmethod
    def of(options: Options) -> Integrity | None:
        """Returns the struct; None for a model without checks at run time."""
        if options.integrity == "off":
            return None
        return Integrity(options.verifies_constants * (2 + options.replaces_weights))

    @property
    def alignment(self) -> int:
        """The alignment in bytes."""
        return 4 if self.words else 1

    @property
    def size_bytes(self) -> int:
        """The bytes of the struct."""
        return 4 * self.words + (4 if self.words else 2)


def with_canaries(plan: MemoryPlan, options: Options) -> MemoryPlan:
    """Returns the plan between two words that no layer writes, or with one word at its end if the caller owns the arena. The
    first word is the end of as many bytes as the arena's alignment, so every buffer keeps its alignment."""
    if not (options.has_canary and plan.peak_bytes):
        return plan
    first = max(ARENA_ALIGNMENT, plan.alignment) if options.arena == "static" else 0
    last_step = max(placement.buffer.last for placement in plan.placements)
    end = -(-(first + plan.peak_bytes) // CANARY_BYTES) * CANARY_BYTES
    words = [Placement(Buffer(AFTER, CANARY_BYTES, CANARY_BYTES, 0, last_step, "canary"), end)]
    if first:
        words.insert(0, Placement(Buffer(BEFORE, first, first, 0, last_step, "canary"), 0))
    moved = [replace(placement, offset_bytes=placement.offset_bytes + first) for placement in plan.placements]
    peak_bytes = end + CANARY_BYTES
    lower_bound_bytes = plan.lower_bound_bytes + peak_bytes - plan.peak_bytes
    return replace(plan, placements=(*moved, *words), peak_bytes=peak_bytes, lower_bound_bytes=lower_bound_bytes)


def canary_offsets(plan: MemoryPlan) -> tuple[int, ...]:
    """Returns the byte of the arena at which each canary begins, from the lowest up."""
    canaries = [placement for placement in plan.placements if placement.buffer.kind == "canary"]
    return tuple(sorted(placement.end_bytes - CANARY_BYTES for placement in canaries))


def require_one_piece(parts: int, options: Options) -> None:
    """Refuses canaries for an arena in several memories (USAGE)."""
    if parts and options.has_canary:
        raise AidgeError(
            f"the arena is in {parts} memories of the board, and canaries need it in one piece",
            where=f"--integrity {options.integrity}",
            hint="--integrity constants" if options.verifies_constants else "leave it out",
            code="USAGE",
        )
