# SPDX-License-Identifier: MIT
"""`@recipe(exact=True)` marks a function from graph to graph as a rewrite that keeps every output's value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aidge_build.graph.view import GraphView

Rewriting = Callable[[GraphView], GraphView]


@dataclass(frozen=True)
class Recipe:
    """A rewrite. If it is `exact`, every output keeps its value bit for bit; else floats keep it within rounding, and a value so
    near to the middle between two quantized values may become either. An `of_quantized` rewrite changes only graphs with
    quantized tensors or nodes that quantize.
    """

    rewrite: Rewriting
    exact: bool
    of_quantized: bool = False

    @property
    def name(self) -> str:
        """The name in messages."""
        return self.rewrite.__name__

    def __call__(self, view: GraphView) -> GraphView:
        return self.rewrite(view) if not self.of_quantized or _is_quantized(view) else view


def _is_quantized(view: GraphView) -> bool:
    return view.has_quantization or not view.types.isdisjoint(("QuantizeLinear", "DequantizeLinear"))


def recipe(*, exact: bool, of_quantized: bool = False) -> Callable[[Rewriting], Recipe]:
    """The decorator of a recipe, with whether it is exact, and whether it changes only quantized graphs."""
    return lambda rewrite: Recipe(rewrite, exact, of_quantized)
