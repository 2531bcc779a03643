# SPDX-License-Identifier: MIT
"""The scheduler of the inherited API: a graph, and what an export decides about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from aidge_build.base.errors import AidgeError
from aidge_build.compat.graph_handles import nodes_in
from aidge_build.compat.scheduler_calls import Scheduler
from aidge_build.compat.separate_buffers import retold, unshared
from aidge_build.contract.spec import Demands
from aidge_build.graph.view import GraphView, Node
from aidge_build.plan.arena_regions import accesses_of
from aidge_build.plan.cascade.question import Found
from aidge_build.plan.memory.plan import MemoryPlan
from aidge_build.plan.memory.regions import NoSpread, Room, spread
from aidge_build.plan.options import Options
from aidge_build.plan.placement import Arena, arena_of
from aidge_build.plan.planning import whole_tensors
from aidge_build.plan.program import Program
from aidge_build.plan.schedule.schedule import Schedule
from aidge_build.prepare.adaptation.assignment import Assignment


class Plans:
    """The plans of this tool's own planner for an export, which a memory manager may take or leave.

    `apart` is the schedule that a memory manager finds: all nodes run, every tensor has bytes of its own. `best` may leave out
    concatenations and splits: their parts are written directly to their final offsets.
    """

    def __init__(self, assignment: Assignment, demands: Callable[[Node], Demands], options: Options):
        self.demands, self._options = demands, options
        self.assignment, self._whole, self._joined = whole_tensors(assignment, demands, options)

    @cached_property
    def apart(self) -> Schedule:
        """The schedule with all nodes."""
        return unshared(self._whole.schedule, self.assignment, self.demands)

    @cached_property
    def best(self) -> Schedule:
        """The schedule of the smallest arena."""
        return unshared(self._joined.schedule, self.assignment, self.demands)

    @cached_property
    def arena(self) -> MemoryPlan:
        """The arena of `best`, without the inputs and outputs."""
        return retold(self._arena.plan, self._joined.schedule, self.best)

    def spread(self, rooms: Sequence[Room]) -> list[MemoryPlan]:
        """The arena of `best` over several memories: a plan for each, in the given order; AidgeError (code PLAN01) where they do
        not hold it."""
        shared, held = self._joined.schedule, self._arena
        found = spread(held.buffers, rooms, accesses_of(shared), shared.overlaps)
        if isinstance(found, NoSpread):
            sizes = ", ".join(f"{room.region} {room.size_bytes:,} B" for room in rooms)
            what = f"the tensors need {held.plan.peak_bytes:,} B, the memories have {sizes}"
            raise AidgeError(
                what, where=shared.steps[found.step].where(), code="PLAN01", hint="a larger memory, or a smaller model"
            )
        plans = {each.region: retold(each, shared, self.best) for each in found.plans}
        return [plans.get(room.region, MemoryPlan((), 0, 0, 0, True, room.region)) for room in rooms]

    @cached_property
    def _arena(self) -> Arena:
        return arena_of(self._joined.schedule, self._joined.peak, self._options)

    def peak(self, schedule: Schedule) -> MemoryPlan:
        """The plan of `apart` or `best` with the inputs and outputs inside."""
        found: Found = self._joined if schedule is self.best else self._whole
        return retold(found.peak, found.schedule, schedule)


@dataclass
class SequentialScheduler(Scheduler):
    """The nodes of a graph in the order in which they run. `scheduler_export` fills in what it decides: the adapted graph,
    the backend of each node, the program. While a memory manager runs, `plans` are the plans of this tool's own planner;
    the manager may name its memories (`memory_names`), and the arrays then have these names."""

    graph_view: GraphView
    assignment: Assignment | None = None
    schedule: Schedule | None = None
    program: Program | None = None
    plans: Plans | None = None
    memory_names: tuple[str, ...] = ()

    def get_static_scheduling(self) -> tuple[Node, ...]:
        """The nodes in order: the nodes of the graph, or after adaptation the nodes that run (views of other tensors do not)."""
        return nodes_in(self.graph_view, self.schedule.steps if self.schedule else self.graph_view.nodes)

    @property
    def backends(self) -> dict[str, str]:
        """The library of each node by its name, after the export."""
        choices = self.assignment.choices if self.assignment else {}
        return {name: choice.kernel.library for name, choice in choices.items() if choice.kernel is not None}
