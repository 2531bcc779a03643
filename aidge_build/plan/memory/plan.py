# SPDX-License-Identifier: MIT
"""A memory plan: one offset per buffer, the peak, the lower bound, and what is proved about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from aidge_build.base.errors import AidgeError
from aidge_build.plan.memory.buffer import Buffer, Overlap


@dataclass(frozen=True)
class Placement:
    """A buffer and the distance in bytes of its first byte from the start of the arena."""

    buffer: Buffer
    offset_bytes: int

    @property
    def end_bytes(self) -> int:
        """One past the last byte."""
        return self.offset_bytes + self.buffer.size_bytes


@dataclass(frozen=True)
class MemoryPlan:
    """The offset of every buffer in one arena.

    No arena below `lower_bound_bytes` can exist; `bound_step` is the step with the most live bytes. `offsets_proved_optimal` says
    that no arena below `peak_bytes` can exist: the bound is reached, or an exhaustive search ended. The arena must start at a
    multiple of `alignment`. `placements` are in the order of lifetime, size and name, whatever the order of the question was.
    """

    placements: tuple[Placement, ...]
    peak_bytes: int
    lower_bound_bytes: int
    bound_step: int
    offsets_proved_optimal: bool
    region: str = ""
    overlaps: tuple[Overlap, ...] = ()

    @property
    def alignment(self) -> int:
        """The alignment in bytes that the start of the arena needs."""
        return max((placement.buffer.alignment for placement in self.placements), default=1)

    @property
    def gap_bytes(self) -> int:
        """The bytes by which the peak exceeds the lower bound."""
        return self.peak_bytes - self.lower_bound_bytes

    @cached_property
    def _offsets(self) -> dict[str, int]:
        return {placement.buffer.name: placement.offset_bytes for placement in self.placements}

    def offset_of(self, name: str) -> int:
        """Returns the offset in bytes of the buffer `name`."""
        if name not in self._offsets:
            raise AidgeError(
                "the memory plan has no such buffer",
                where=f"buffer {name!r}",
                code="PLAN03",
                hint="this is a fault of the caller",
            )
        return self._offsets[name]

    def live_at(self, step: int) -> tuple[Placement, ...]:
        """Returns the placements that are live in `step`, from the lowest offset up."""
        live = [placement for placement in self.placements if placement.buffer.first <= step < placement.buffer.last]
        return tuple(sorted(live, key=lambda placement: placement.offset_bytes))

    def report_line(self, node: str = "", order: str = "") -> str:
        """Returns peak, lower bound and proof in one line; `node` runs in `bound_step`, `order` says how good the order is."""
        place = node or f"step {self.bound_step}"
        parts = [f"peak {self.peak_bytes:,} B", f"lower bound {self.lower_bound_bytes:,} B (max-live at {place})"]
        parts += [order] if order else []
        if self.offsets_proved_optimal:
            return "; ".join([*parts, "offsets optimal"])
        percent = 100 * self.gap_bytes / self.lower_bound_bytes
        return "; ".join([*parts, f"gap {percent:.2f} %", "not proven (node limit)"])


class CapacityExceeded(AidgeError):
    """The buffers do not fit (code PLAN01); the values let the caller add node names and a remedy."""

    def __init__(self, needed_bytes: int, available_bytes: int, step: int, live: Sequence[Buffer], *, region: str, proved: bool):
        place = f"region {region}" if region else "the arena"
        names = " + ".join(f"{buffer.name!r} {buffer.size_bytes:,} B" for buffer in live)
        super().__init__(
            f"the buffers need {needed_bytes:,} B, {place} has {available_bytes:,} B; peak: step {step} needs {names} at once",
            tried=() if proved else (f"the best arrangement found needs {needed_bytes:,} B; that none is smaller is not proven",),
            hint="a larger region, a smaller model, or int8 instead of float32",
            code="PLAN01",
        )
        self.needed_bytes = needed_bytes
        self.available_bytes = available_bytes
        self.step = step
        self.live = tuple(live)
        self.region = region
        self.proved = proved
