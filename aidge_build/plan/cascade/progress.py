# SPDX-License-Identifier: MIT
"""What a model remembers between two calls that bring or take rows: where the inference waits. It is RAM of its own, as a state
is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from aidge_build.plan.cascade.cascade import Cascade, Line

_LARGEST_HALF = (1 << 16) - 1


@dataclass(frozen=True)
class Progress:
    """The fields of the struct: `pointers` to inputs and outputs, `cursors` into whole tensors, the `counts` of rows, then the
    number of the next step. `waiting` are the cascades whose steps wait for the firmware, in order; `arriving` is the line of the
    input that comes by rows, `departing` that of the output that leaves so."""

    waiting: tuple[Cascade, ...]
    pointers: int

    @staticmethod
    def of(cascades: tuple[Cascade, ...], ports: int) -> Progress | None:
        """None where nothing goes by rows. `ports`: the inputs and outputs that are the firmware's."""
        waiting = tuple(cascade for cascade in cascades if cascade.waits)
        by_rows = sum(bool(name) for cascade in waiting for name in (cascade.arriving, cascade.departing))
        return Progress(waiting, max(0, ports - by_rows)) if waiting else None

    @cached_property
    def arriving(self) -> Line | None:
        """None where the input is whole."""
        return next((cascade.lines[cascade.arriving] for cascade in self.waiting if cascade.arriving), None)

    @cached_property
    def departing(self) -> Line | None:
        """None where the output is whole."""
        return next((cascade.lines[cascade.departing] for cascade in self.waiting if cascade.departing), None)

    @property
    def takes_turns(self) -> bool:
        """Whether rows of the output leave while others of the input are still to come."""
        return any(cascade.arriving and cascade.departing for cascade in self.waiting)

    @property
    def cursors(self) -> int:
        """How many there are."""
        return sum(len(cascade.walked) for cascade in self.waiting)

    @property
    def counts(self) -> tuple[str, ...]:
        """The rows that came, those that went, those of the step that waits; where both sides take turns those of the push and of
        the pull that are to be repeated."""
        came, went = ("rows",) if self.arriving else (), ("gone",) if self.departing else ()
        return (*came, *went, "part", *(("pushed", "pulled") if self.takes_turns else ()))

    @property
    def count_bytes(self) -> int:
        """Of a number of rows."""
        most = max(line.height for line in (self.arriving, self.departing) if line is not None)
        return 2 if most <= _LARGEST_HALF else 4

    def alignment(self, pointer_bytes: int) -> int:
        """Of the struct, on a target with pointers of so many bytes."""
        return max(pointer_bytes if self.pointers else 2, 4 if self.cursors else 2, self.count_bytes)

    def size_bytes(self, pointer_bytes: int) -> int:
        """Of the struct, by the rules that all of C's compilers for these targets follow: fields in order, the widest first."""
        used = self.pointers * pointer_bytes + 4 * self.cursors + len(self.counts) * self.count_bytes + 2
        step = self.alignment(pointer_bytes)
        return -(-used // step) * step
