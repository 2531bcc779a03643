# SPDX-License-Identifier: MIT
"""The calls of schedulers of the inherited API that need nothing of this system's own."""

from __future__ import annotations

from typing import Any

from aidge_build.compat.graph_handles import InheritedGraph
from aidge_build.graph.view import Node


class Scheduler:
    """A graph, and the order of its nodes. `graph_view` may be read or called."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, InheritedGraph.seen_as(value) if name == "graph_view" else value)

    def generate_scheduling(self) -> None:
        """Accepted, and not needed: the nodes of a graph are in order."""

    def reset_scheduling(self) -> None:
        """Accepted, and not needed: nothing is kept that a change of the graph would make wrong."""

    def get_static_scheduling(self) -> tuple[Node, ...]:
        """The nodes in order."""
        raise NotImplementedError

    def get_sequential_static_scheduling(self) -> list[Node]:
        """The nodes in order, as a list."""
        return list(self.get_static_scheduling())
