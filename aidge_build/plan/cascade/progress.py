# SPDX-License-Identifier: MIT
"""The struct that keeps the position of an inference between two calls that bring or take rows. It is RAM of its own, like a
state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from aidge_build.plan.cascade.cascade import Cascade, Line
from aidge_build.plan.cascade.waiting import COUNTER_BYTES, CURSOR_BYTES, struct_bytes

_LARGEST_HALF = (1 << 16) - 1


@dataclass(frozen=True)
class Progress:
    """The fields of the struct are `pointers` to inputs and outputs, `cursors` into whole tensors, the `counts` of rows, then the
    number of the next step. `waiting` are the cascades that wait for the firmware, in order; `arriving` is the line of the input
    that comes by rows, `departing` is the line of the output that leaves by rows."""

    waiting: tuple[Cascade, ...]
    pointers: int

    @staticmethod
    def of(cascades: tuple[Cascade, ...], ports: int) -> Progress | None:
        """Returns the struct; None if nothing goes by rows. `ports` is the number of inputs and outputs that the firmware
        owns."""
        waiting = tuple(cascade for cascade in cascades if cascade.waits)
        by_rows = sum(bool(name) for cascade in waiting for name in (cascade.arriving, cascade.departing))
        return Progress(waiting, max(0, ports - by_rows)) if waiting else None

    @cached_property
    def arriving(self) -> Line | None:
        """The line of the input; None if the input is whole."""
        return next((cascade.lines[cascade.arriving] for cascade in self.waiting if cascade.arriving), None)

    @cached_property
    def departing(self) -> Line | None:
        """The line of the output; None if the output is whole."""
        return next((cascade.lines[cascade.departing] for cascade in self.waiting if cascade.departing), None)

    @property
    def takes_turns(self) -> bool:
        """Whether rows of the output leave while others of the input are still to come."""
        return any(cascade.arriving and cascade.departing for cascade in self.waiting)

    @property
    def cursors(self) -> int:
        """The number of cursors."""
        return sum(len(cascade.walked) for cascade in self.waiting)

    @property
    def counts(self) -> tuple[str, ...]:
        """The names of the counters: the rows that came, the rows that went, the rows of the step that waits; if both sides take
        turns, also the rows of the push and of the pull that are to be repeated."""
        came, went = ("rows",) if self.arriving else (), ("gone",) if self.departing else ()
        return (*came, *went, "part", *(("pushed", "pulled") if self.takes_turns else ()))

    @property
    def count_bytes(self) -> int:
        """The bytes of a counter of rows."""
        most = max(line.height for line in (self.arriving, self.departing) if line is not None)
        return 2 if most <= _LARGEST_HALF else 4

    def alignment(self, pointer_bytes: int) -> int:
        """Returns the alignment of the struct in bytes, on a target with pointers of `pointer_bytes`."""
        return max(self._fields(pointer_bytes))

    def size_bytes(self, pointer_bytes: int) -> int:
        """Returns the bytes of the struct."""
        return struct_bytes(self._fields(pointer_bytes))

    def _fields(self, pointer_bytes: int) -> list[int]:
        counts = [self.count_bytes for _ in self.counts]
        return [pointer_bytes] * self.pointers + [CURSOR_BYTES] * self.cursors + [*counts, COUNTER_BYTES]
