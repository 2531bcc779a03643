# SPDX-License-Identifier: MIT
"""Makes a clamp before DynamicQuantizeLinear part of it: the clamp then bounds the range once, instead of every value."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.base import Activated
from aidge_build.operators.pool import MaxPooling
from aidge_build.operators.quantize import DynamicQuantizeLinear
from aidge_build.prepare.recipes.fuse_activations import bounds_of
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True)
def clamp_levels(view: GraphView) -> GraphView:
    """1. The clamp is part of an operator with a result that is only quantized. 2. Or it is a ReLU or Clip alone. 3. Views and
    MaxPooling may follow the clamp: the highest of clamped numbers is the highest number, clamped. The clamps are the ones that
    `DynamicQuantizeLinear` can have, from 0 on.

    A tensor that is no longer clamped gets a new name, because the file's name means clamped numbers.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        if isinstance(node.operator, DynamicQuantizeLinear) and not node.operator.clamps:
            _move(rewrite, view, node)
    return rewrite.finish()


def _move(rewrite: Rewrite, view: GraphView, node: Node) -> None:
    """Moves the clamp before this node, also from before views and MaxPooling, into the node if it may take the clamp."""
    chain: list[Node] = []  # between clamp and node, the last one first
    source = _source(view, node)
    while source is not None and _hands_on(source):
        chain.append(source)
        source = _source(view, source)
    if source is None:
        return
    is_clamp_alone = bounds_of(source) is not None
    if is_clamp_alone:
        bounds = bounds_of(source)
    elif isinstance(source.operator, Activated):
        bounds = source.operator.minimum, source.operator.maximum
    else:
        return
    if not DynamicQuantizeLinear.may_clamp(*bounds):
        return
    if is_clamp_alone:
        given, origin = source.input, source.origin
    else:
        given, origin = _unclamped(rewrite, view, source.output), ()
        free = replace(source.operator, minimum=-numpy.inf, maximum=numpy.inf)
        rewrite.replace_node(source, source.with_(operator=free, outputs=(given,)))
    for between in reversed(chain):
        result = _unclamped(rewrite, view, between.output)
        rewrite.replace_node(between, between.with_(inputs=(given,), outputs=(result,)))
        given = result
    operator = replace(node.operator, minimum=bounds[0], maximum=bounds[1])
    rewrite.replace_node(node, node.with_(operator=operator, inputs=(given,), origin=(*origin, *node.origin)))


def _source(view: GraphView, node: Node) -> Node | None:
    """Returns the node that computes the input, if only this node reads it."""
    return view.producer(node.input) if view.only_consumer(node.input) is node else None


def _hands_on(node: Node) -> bool:
    """Whether clamping the node's output is the same as clamping its input."""
    is_maximum = isinstance(node.operator, MaxPooling) and not node.operator.clamps
    return len(node.outputs) == 1 and (node.operator.views or is_maximum)


def _unclamped(rewrite: Rewrite, view: GraphView, name: str) -> str:
    """Adds a tensor like the named one and returns its name."""
    tensor = view.tensor(name)
    return rewrite.add_tensor(tensor.with_(name=f"{name}_unclamped"))
