# SPDX-License-Identifier: MIT
"""Quantizes data once for several layers of dynamic quantization: tools write a DynamicQuantizeLinear for each layer."""

from __future__ import annotations

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.quantize import DynamicQuantizeLinear
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True)
def quantize_once(view: GraphView) -> GraphView:
    """Merges DynamicQuantizeLinear nodes 1. of the same tensor, 2. of the same views of a tensor. The second one stays if a
    result of it is a graph output."""
    rewrite = Rewrite(view)
    first: dict[tuple, Node] = {}
    for node in view.nodes:
        if not isinstance(node.operator, DynamicQuantizeLinear):
            continue
        before = first.setdefault(_seen(view, node.input), node)
        if before is node or any(map(view.is_output, node.outputs)):
            continue
        for old, new in zip(node.outputs, before.outputs):
            rewrite.redirect(old, new)
    return rewrite.finish()


def _seen(view: GraphView, name: str) -> tuple:
    """Returns the tensor that views show under this name, and the views."""
    views = []
    while (producer := view.producer(name)) is not None and producer.operator.views:
        views.append(producer.operator)
        name = producer.input
    return (name, *views)
