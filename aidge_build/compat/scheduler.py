# SPDX-License-Identifier: MIT
"""The scheduler of the inherited API: a graph, and what an export decides about it."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.adaptation.assignment import Assignment
from aidge_build.compat.handles import InheritedNode, nodes_in
from aidge_build.compat.scheduler_calls import Scheduler
from aidge_build.graph.view import GraphView
from aidge_build.program import Program
from aidge_build.schedule.schedule import Schedule


@dataclass
class SequentialScheduler(Scheduler):
    """The nodes of a graph in the order in which they run. `scheduler_export` fills in what it decides: the adapted graph,
    the backend of each node, the program."""

    graph_view: GraphView
    assignment: Assignment | None = None
    schedule: Schedule | None = None
    program: Program | None = None

    def get_static_scheduling(self) -> tuple[InheritedNode, ...]:
        """The nodes in order: those of the graph, or after adaptation those that run (views of other tensors do not)."""
        return nodes_in(self.graph_view, self.schedule.steps if self.schedule else self.graph_view.nodes)

    @property
    def backends(self) -> dict[str, str]:
        """The library of each node by its name, after the export."""
        choices = self.assignment.choices if self.assignment else {}
        return {name: choice.kernel.library for name, choice in choices.items() if choice.kernel is not None}
