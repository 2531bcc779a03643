# SPDX-License-Identifier: MIT
"""Casts a truth value to the last of several types at once."""

from __future__ import annotations

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.cast import Cast
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True)
def cast_once(view: GraphView) -> GraphView:
    """A Cast of what another Cast made of bool reads the bool, through views: every type holds 0 and 1."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        found = _from_bool(view, node) if type(node.operator) is Cast and not view.tensor(node.input).is_constant else None
        if found is not None:
            rewrite.replace_node(node, *_short(view, rewrite, node, *found))
    return rewrite.finish()


def _from_bool(view: GraphView, node: Node) -> tuple[Node, list[Node]] | None:
    """Returns the cast of a bool that the node's input is, and the views between in their order."""
    views, before = list[Node](), view.producer(node.input)
    while before is not None and before.operator.views:
        views.insert(0, before)
        before = view.producer(before.input)
    fits = before is not None and type(before.operator) is Cast and view.tensor(before.input).dtype is DType.bool
    return (before, views) if before is not None and fits else None


def _short(view: GraphView, rewrite: Rewrite, node: Node, first: Node, views: list[Node]) -> list[Node]:
    name, nodes = first.input, list[Node]()
    for one in views:
        dims = view.tensor(one.output).dims
        made = rewrite.add_tensor(Tensor(f"{one.output}_bool", dims, DType.bool))
        nodes.append(Node(f"{one.name}_bool", one.operator, (name,), (made,), one.origin))
        name = made
    return [*nodes, node.with_(inputs=(name,))]
