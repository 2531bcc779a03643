# SPDX-License-Identifier: MIT
"""Computes the next value of a state into a tensor of its own and stores it after all readers of the old value."""

from __future__ import annotations

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.reformat import Reformat


def store_states(view: GraphView) -> GraphView:
    """Returns the graph with a copy as the last node before each state's output. The schedule runs the copies last, and leaves a
    copy out if its tensor may be computed in the state's own bytes (`schedule/stores.py`).

    If the next value of a state is the old value of a state (a delay line), the old value is first read into a tensor of its own,
    so that no copy depends on another copy.
    """
    rewrite = Rewrite(view)
    stores: dict[str, list[Node]] = {}
    renamed: dict[str, str] = {}
    for state in view.states:
        name, producer = state.written, view.producer(state.written)
        if producer is None or name in renamed:
            continue
        renamed[name] = rewrite.add_tensor(view.tensor(name).with_(name=f"{name}_next", format=None))
        if view.consumers(name):
            rewrite.redirect(name, renamed[name])
        source, before = renamed[name], []
        if _root(view, name) in view.inputs:
            source = rewrite.add_tensor(view.tensor(name).with_(name=f"{name}_read", format=None))
            before = [Node(f"{name}_read", Reformat(), (renamed[name],), (source,), producer.origin)]
        stores.setdefault(producer.name, []).extend(
            [*before, Node(f"{name}_store", Reformat(), (source,), (name,), producer.origin)]
        )
    for node in view.nodes:
        if node.name in stores:
            outputs = tuple(renamed.get(output, output) for output in node.outputs)
            rewrite.replace_node(node, node.with_(outputs=outputs), *stores[node.name])
    return rewrite.finish()


def _root(view: GraphView, name: str) -> str:
    """Returns the tensor that this one may be an alias of, through all views."""
    node = view.producer(name)
    while node is not None and node.operator.views:
        name = node.input
        node = view.producer(name)
    return name
