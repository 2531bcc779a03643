# SPDX-License-Identifier: MIT
"""Removes nodes that hand on an input: Identity, Dropout, a Cast to the same type, a Transpose in the same order, an Expand to
the same dims, a Slice of all, a Pad of nothing, an And with nothing but true."""

from __future__ import annotations

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True)
def remove_identities(view: GraphView) -> GraphView:
    """1. Readers of the output read the input. 2. If the output is a graph output, the producer writes it directly. If the input
    has no producer (a graph input or constant), or is an output itself, the node stays: it is a copy.
    """
    rewrite = Rewrite(view)
    renamed: dict[str, str] = {}  # tensors that get a graph output's name, at most one for each producer
    handed: dict[str, str] = {}  # output of a removed node -> the tensor that it handed on, through other removed nodes
    for node in view.nodes:
        name = _handed_on(view, node)
        if name is None:
            continue
        source, result = handed.get(name, name), node.output
        if not view.is_output(result):
            handed[result] = source
            rewrite.redirect(result, source)
        elif view.producer(source) is not None and not view.is_output(source) and source not in renamed:
            renamed[source] = result
    view = rewrite.finish()
    for source, result in renamed.items():
        view = _take_over(view, source, result)
    return view


def _handed_on(view: GraphView, node: Node) -> str | None:
    """Returns the input that the node hands on; None if it does more."""
    kind = node.type
    if kind == "And":
        return _unmasked(view, node)
    if kind in ("Identity", "Dropout", "StopGrad"):
        hands_on = len(node.outputs) == 1
    elif kind == "Transpose":
        hands_on = list(node.operator.permutation) == sorted(node.operator.permutation)
    elif kind in ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand"):
        hands_on = view.tensor(node.input).dims == view.tensor(node.output).dims
    elif kind == "Slice":
        hands_on = view.tensor(node.input).dims == view.tensor(node.output).dims and set(node.operator.steps) <= {1}
    elif kind == "Pad":
        hands_on = not any((*node.operator.pads_begin, *node.operator.pads_end))
    else:
        hands_on = kind == "Cast" and view.tensor(node.input).dtype is view.tensor(node.output).dtype
    return node.input if hands_on else None


def _unmasked(view: GraphView, node: Node) -> str | None:
    """Returns the input of And where the other one is true."""
    for name, other in (node.inputs, node.inputs[::-1]):
        mask = view.tensor(other).data
        if mask is not None and mask.all() and view.tensor(name).dims == view.tensor(node.output).dims:
            return name
    return None


def _take_over(view: GraphView, source: str, result: str) -> GraphView:
    """Lets the producer of `source` write `result` (a graph output), and drops the node between them."""
    producer, between = view.producer(source), view.producer(result)
    if producer is None or between is None or between.input != source:
        return view
    rewrite = Rewrite(view)
    rewrite.replace_node(producer, producer.with_(outputs=tuple(result if name == source else name for name in producer.outputs)))
    rewrite.remove_node(between)
    rewrite.redirect(source, result)
    return rewrite.finish()
