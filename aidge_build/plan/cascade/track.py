# SPDX-License-Identifier: MIT
"""The places of the rows of a tensor while the bands of a cascade run, for all steps at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.plan.cascade.arrival import Arrival
from aidge_build.plan.cascade.bands import Rowed
from aidge_build.plan.cascade.row_table import Bands

Counts = numpy.ndarray  # of steps: [n] is what holds before step n


@dataclass(frozen=True)
class Steps:
    """`order` is the number of the layer that runs in each step; `bands` are the bands of each layer, `counts[number]` says how
    many bands of a layer have run before each step, and `at[number]` in which steps the layer runs."""

    order: numpy.ndarray
    bands: tuple[Bands, ...]
    counts: tuple[Counts, ...]
    at: tuple[numpy.ndarray, ...]

    @staticmethod
    def of(order: Sequence[int], bands: Sequence[Bands]) -> Steps:
        """Returns the steps in this order."""
        numbers = numpy.array(order)
        mine = [numbers == number for number in range(len(bands))]
        counts = tuple(numpy.concatenate(([0], numpy.cumsum(each))) for each in mine)
        return Steps(numbers, tuple(bands), counts, tuple(numpy.flatnonzero(each) for each in mine))

    def __len__(self) -> int:
        return len(self.order)

    def low(self, tensor: str, height: int, readers: Mapping[int, Rowed]) -> Counts:
        """Returns the first row of the tensor that is still read."""
        found = numpy.full(len(self) + 1, height)
        for number, reader in readers.items():
            firsts = reader.table(self.bands[number]).of_tensors[tensor][:, 0]
            found = numpy.minimum(found, numpy.append(firsts, height)[self.counts[number]])
        return found

    def done(self, number: int) -> Counts:
        """Returns how many rows the layer has written."""
        return numpy.array([0, *(last for _, last in self.bands[number])])[self.counts[number]]


@dataclass(frozen=True)
class Track:
    """A tensor that is kept as at most `rows` rows. Before each step, rows below `done` are written, rows from `low` on are still
    read, and row 0 would be at the slot `-base`. `live` says how far rows reach while a step runs, 0 if there are none."""

    rows: int
    low: Counts
    done: Counts
    base: Counts
    live: numpy.ndarray

    @staticmethod
    def of(steps: Steps, number: int, layer: Rowed, readers: Mapping[int, Rowed]) -> Track:
        """Returns the track of the rows that this layer writes."""
        low = steps.low(layer.output.name, layer.height, readers)
        done, at = steps.done(number), steps.at[number]
        firsts, ends = numpy.array(steps.bands[number][: len(at)]).reshape(-1, 2).T
        rows = int(numpy.max(ends - numpy.minimum(firsts, low[at]), initial=0))
        is_there = ends > low[at]
        if isinstance(layer, Arrival):
            base, is_there = _base_of_arriving(steps, rows, low, done, number, readers), True  # even if nobody reads it
        else:
            base = _base(steps.counts[number], rows, low, ends)
        after = numpy.where(done > low, done - base, 0)  # the step before has run, and its rows have moved
        live = after[:-1].copy()
        live[at] = numpy.where(is_there, ends - base[at], 0)
        return Track(rows, low, done, base, live)

    @property
    def moving(self) -> numpy.ndarray:
        """The steps after which rows move to the front."""
        return numpy.flatnonzero((self.base[1:] > self.base[:-1]) & (self.low[1:] < self.done[1:]))

    @property
    def moved_rows(self) -> int:
        """How many rows move, in all."""
        after = self.moving + 1
        return int(numpy.sum(self.done[after] - self.low[after]))


def _base(ran: Counts, rows: int, low: Counts, ends: numpy.ndarray) -> Counts:
    """Returns the row at the front: new rows are written to the end of the line, and kept rows move as soon as there is room."""
    next_base = (ends - rows)[numpy.minimum(ran, len(ends) - 1)]  # after the last band nothing moves
    moved = numpy.where(low >= next_base, next_base, ends[0] - rows)
    return numpy.maximum.accumulate(moved)


def _base_of_arriving(steps: Steps, rows: int, low: Counts, done: Counts, number: int, readers: Mapping[int, Rowed]) -> Counts:
    """Returns the row at the front, for rows that arrive: they begin at the front of the line and move back to it, because
    kernels read from there and the front is aligned."""
    base = numpy.zeros(len(steps) + 1, int)
    ran, bands = steps.counts[number], steps.bands[number]
    for after in sorted({int(step) + 1 for each in (number, *readers) for step in steps.at[each]}):
        following = bands[ran[after] :][:1]  # the band that comes next
        if any(base[after] < end - rows <= low[after] for _, end in following):
            base[after:] = min(low[after], done[after])
    return base
