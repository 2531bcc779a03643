# SPDX-License-Identifier: MIT
"""`@recipe(exact=True)` marks a function from graph to graph as a rewrite that keeps every output's value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aidge_build.graph.view import GraphView

Rewriting = Callable[[GraphView], GraphView]


@dataclass(frozen=True)
class Recipe:
    """A rewrite. `exact`: every output keeps its value bit for bit; else floats keep it within rounding, and quantized values
    that lie that near to the middle between two levels may become either."""

    rewrite: Rewriting
    exact: bool

    @property
    def name(self) -> str:
        """The name that messages give."""
        return self.rewrite.__name__

    def __call__(self, view: GraphView) -> GraphView:
        return self.rewrite(view)


def recipe(*, exact: bool) -> Callable[[Rewriting], Recipe]:
    """The decorator: a recipe says whether it is exact."""
    return lambda rewrite: Recipe(rewrite, exact)
