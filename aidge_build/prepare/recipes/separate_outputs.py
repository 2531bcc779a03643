# SPDX-License-Identifier: MIT
"""Turns a graph output that is a graph input into a copy with a name of its own: the firmware passes both."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.view import Identity


def separate_outputs(view: GraphView) -> tuple[GraphView, dict[str, str]]:
    """Returns the graph, and the new names of such outputs by their old names; the graph's signature changes."""
    rewrite, renamed = Rewrite(view), {}
    for name in view.outputs:
        if name in view.inputs:
            renamed[name] = rewrite.add_tensor(view.tensor(name).with_(name=f"{name}_output"))
            rewrite.append_node(Node(f"{name}_output", Identity(), (name,), (renamed[name],)))
    rewrite.outputs = tuple(renamed.get(name, name) for name in view.outputs)
    rewrite.states = tuple(replace(state, written=renamed.get(state.written, state.written)) for state in view.states)
    return rewrite.finish(), renamed
