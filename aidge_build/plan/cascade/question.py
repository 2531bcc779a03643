# SPDX-License-Identifier: MIT
"""The question of a search for cascades: whether given layers form a cascade with bands of so many rows, and what it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from aidge_build.plan.cascade.cascade import Cascade
from aidge_build.plan.cascade.cost import beyond
from aidge_build.plan.cascade.lifetimes import Run, with_cascades
from aidge_build.plan.cascade.row_layer import RowLayer
from aidge_build.plan.cascade.rowed_graph import Graph
from aidge_build.plan.cascade.unroll import cascade_of, walked
from aidge_build.plan.memory.plan import MemoryPlan
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.schedule.schedule import Schedule


@dataclass(frozen=True)
class Found:
    """A schedule with its plan and its cost: estimated instructions in addition to whole layers."""

    schedule: Schedule
    peak: MemoryPlan
    runs: tuple[Run, ...] = ()

    @property
    def cost(self) -> float:
        """The estimated instructions in addition to whole layers."""
        return sum(run.cascade.beyond for run in self.runs)


@dataclass(frozen=True)
class _Known:
    """The results so far: a search meets the same cascades again and again."""

    runs: dict[tuple, Run | None] = field(default_factory=dict)
    live: dict[int, list[int]] = field(default_factory=dict)  # by the identity of runs, which `runs` keeps
    plans: dict[tuple[int, ...], Found] = field(default_factory=dict)
    drafts: dict[tuple[tuple[int, ...], int], Found] = field(default_factory=dict)
    refusals: list[Found] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Question:
    """`alone` is the schedule in which nothing shares bytes, `rescheduled` makes the schedule in which the given nodes share
    nothing. `keeps` says whether each step of a cascade is short enough."""

    graph: Graph
    alone: Schedule
    rescheduled: Callable[[frozenset[str]], Schedule]
    keeps: Callable[[Cascade, Sequence[RowLayer]], bool] = lambda cascade, layers: True
    _known: _Known = field(default_factory=_Known, init=False)

    def planned(self, runs: Sequence[Run], enough_bytes: int = 0) -> Found:
        """Returns the plan in which these cascades run. The search for its offsets ends at a peak of `enough_bytes`: a plan that
        only has to fit into them costs less to find."""
        runs = tuple(sorted(runs, key=lambda run: run.first))
        key = tuple(map(id, runs))
        known = self._known.plans.get(key) or self._known.drafts.get((key, enough_bytes))
        if known is not None:
            return known
        nodes = frozenset(name for run in runs for name in run.cascade.nodes)
        schedule = with_cascades(self.rescheduled(nodes), runs)
        found = Found(schedule, plan(schedule.buffers, overlaps=schedule.overlaps, enough_bytes=enough_bytes), runs)
        if found.peak.peak_bytes > enough_bytes or found.peak.offsets_proved_optimal:
            self._known.plans[key] = found
        else:
            self._known.drafts[key, enough_bytes] = found
        return found

    def agree(self, found: Found) -> bool:
        """Whether the kernels of all bands agree with each other; bands that do not agree are refused from now on."""
        kernels = self.graph.kernels
        layers = [
            (layer, run.cascade.bands_of(layer.name))
            for run in found.runs
            for layer in map(kernels.layer, self.alone.steps[run.first : run.last])
            if layer is not None
        ]
        agree = all([kernels.agree(layer, bands) for layer, bands in layers])
        if not agree:
            self._known.refusals.append(found)
            for known in (self._known.runs, self._known.live, self._known.plans, self._known.drafts):
                known.clear()
        return agree

    @property
    def has_refused(self) -> bool:
        """Whether a plan was found with kernels that do not agree."""
        return bool(self._known.refusals)

    def live_inside(self, run: Run) -> list[int]:
        """Returns the bytes that are live in each step of the cascade."""
        if id(run) not in self._known.live:
            self._known.live[id(run)] = live_bytes(with_cascades(self.alone, (run,)))[run.first : run.last]
        return self._known.live[id(run)]

    def run(self, first: int, rows: Mapping[str, int], ahead: frozenset[str] = frozenset()) -> Run | None:
        """Returns the cascade of the layers in `rows`, which begin at the step `first`; None if its kernels accept none."""
        steps = self.alone.steps[first : first + len(rows)]
        layers = [layer for layer in map(self.graph.kernels.layer, steps) if layer is not None]
        key = first, tuple(layer.most_rows(rows[layer.name]) for layer in layers), ahead
        if key not in self._known.runs:
            self._known.runs[key] = self._run(first, layers, rows, ahead)
        return self._known.runs[key]

    def _run(self, first: int, layers: Sequence[RowLayer], rows: Mapping[str, int], ahead: frozenset[str]) -> Run | None:
        steps = self.alone.steps[first : first + len(rows)]
        arrival = self.graph.arrival(steps, first, self.readers)
        inside = {node.name for node in steps}
        outer = frozenset(layer.output.name for layer in layers if not self.readers.get(layer.output.name, set()) <= inside)
        departure = self.graph.departure(self.alone.steps, first, first + len(rows), self.readers)
        rowed = [rowed for rowed in (arrival, *layers, departure) if rowed is not None]
        walk = walked(rowed, self.graph.whole | outer, rows, ahead) if self.graph.allows(layers) else None
        if walk is None or not walk.is_aligned or arrival is not None and not walk.times(arrival):
            return None
        cascade = cascade_of(walk, ahead)
        if not self.keeps(cascade, layers):
            return None
        demands = {}
        for layer in layers:
            wanted = self.graph.kernels.demands(layer, cascade.bands_of(layer.name))
            if wanted is None:
                return None
            demands[layer.name] = wanted
        return Run(replace(cascade, beyond=beyond(cascade.work, layers, self.graph.kernels)), first, demands)

    @cached_property
    def readers(self) -> dict[str, set[str]]:
        """The nodes that read each tensor."""
        found: dict[str, set[str]] = {}
        for node in self.alone.steps:
            for name in node.inputs:
                found.setdefault(name, set()).add(node.name)
        return found


def live_bytes(schedule: Schedule) -> list[int]:
    """Returns the bytes that are live in each step; bytes that buffers share count once."""
    found = [0] * len(schedule.steps)
    buffers = {buffer.name: buffer for buffer in schedule.buffers}
    for overlap in schedule.overlaps:
        lower, upper = buffers[overlap.lower], buffers[overlap.upper]
        step = lower.first
        low, high = (buffer.live_bytes(step)[1] for buffer in (lower, upper))
        found[step] -= low + high - max(overlap.lead_bytes + high, low)
    for buffer in schedule.buffers:
        for window in buffer.extents:
            size = window.high_bytes - window.low_bytes
            for step in range(window.first, min(window.last, len(found))):
                found[step] += size
    return found
