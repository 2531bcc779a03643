# SPDX-License-Identifier: MIT
"""Puts Quantize, Dequantize or Cast around nodes that no kernel accepts as they are, if a kernel then accepts them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy

from aidge_build.contract.library import Library
from aidge_build.contract.spec import NodeView
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import constant
from aidge_build.graph.view import GraphView, Node, graph_view
from aidge_build.operators.cast import Cast
from aidge_build.operators.quantize import DequantizeLinear, QuantizeLinear
from aidge_build.prepare.adaptation.conversions import INPUT, Adaptation, Step, adaptation
from aidge_build.prepare.adaptation.match import Match, Target, match

_Added = tuple[list[Node], Node, list[Node]]  # before, the node itself, after


def widen(
    view: GraphView, libraries: Sequence[Library], target: Target, matches_in: Callable[[GraphView, Node], Match]
) -> tuple[GraphView, dict[str, str]]:
    """Returns the graph in which nodes without a kernel are wrapped in conversions, and the rule for each such node by name.

    The most preferred library decides, and in it the kernel with the conversions that move the fewest bytes; then the most
    specific. Between quantized tensors the node then computes in float32, as its QuantizeLinear and DequantizeLinear in the model
    say. A stored value changes only if the C kernel's float32 differs from the numpy backend's (functions of libm, sums in
    another order) and is next to the middle between two quantized values.
    """
    rewrite, rules = Rewrite(view), {}
    for node in view.nodes:
        if node.operator.views or matches_in(view, node).accepted:
            continue
        seen = NodeView.of(view, node)
        for found in [one for library in libraries for one in _candidates(seen, library, target)]:
            wrapped = _wrapped(rewrite, node, found, libraries, target)
            if wrapped is not None:
                before, inner, after = wrapped
                rewrite.replace_node(node, *before, inner, *after)
                types = sorted({f"{step.type} to {step.written.dtype.name}" for step in found.steps if step.cost_bytes})
                rules[node.name] = f"no kernel accepts it as it is: {', '.join(types)}"
                break
    return rewrite.finish(), rules


def _candidates(seen: NodeView, library: Library, target: Target) -> list[Adaptation]:
    found = []
    for kernel in library.kernels_for(seen.node.type, seen.operator.kinds()):
        with kernel.running("a predicate of the spec", seen.node):
            found.append(adaptation(seen, kernel.spec, features=target.features, rounding=target.rounding))
    return sorted((one for one in found if isinstance(one, Adaptation) and one.steps), key=lambda one: one.cost_bytes)


def _wrapped(rewrite: Rewrite, node: Node, found: Adaptation, libraries: Sequence[Library], target: Target) -> _Added | None:
    """Returns the node between its conversions; None if a conversion itself has no kernel."""
    draft = dict(rewrite.tensors)
    inputs, outputs, before, after = list(node.inputs), list(node.outputs), [], []
    for position, step in enumerate(step for step in found.steps if step.type != "Transpose"):
        outer = (node.inputs if step.side == INPUT else node.outputs)[step.index]
        kept = step.written if step.side == INPUT else step.read
        inner = rewrite.add_tensor(kept.with_(name=f"{outer}_{step.type.lower()}d", format=None))
        if step.side == INPUT:
            inputs[step.index] = inner
            if not step.read.is_constant:
                before.append(_conversion(rewrite, f"{node.name}_{step.type.lower()}_{position}", step, outer, inner, node))
        else:
            outputs[step.index] = inner
            after.append(_conversion(rewrite, f"{node.name}_{step.type.lower()}_{position}", step, inner, outer, node))
    wrapped = node.with_(inputs=tuple(inputs), outputs=tuple(outputs))
    # an optional input or output that is left out is an empty name, and no tensor
    given, handed_out = (tuple(name for name in names if name) for names in (node.inputs, node.outputs))
    around = graph_view("", [*before, wrapped, *after], rewrite.tensors, given, handed_out)
    if all(match(NodeView.of(around, one).before_orders(), libraries, target).accepted for one in around.nodes):
        return before, wrapped, after
    rewrite.tensors = draft
    return None


def _conversion(rewrite: Rewrite, name: str, step: Step, source: str, result: str, node: Node) -> Node:
    if step.type == "Cast":
        return Node(name, Cast(step.written.dtype), (source,), (result,), node.origin)
    quantized = step.read if step.type == "Dequantize" else step.written
    quantization = quantized.quantization
    scales, zero_points = (
        numpy.array(values if quantization.axis is not None else values[0], kind)
        for values, kind in ((quantization.scales, numpy.float32), (quantization.zero_points, quantized.dtype.numpy))
    )
    parameters = (
        rewrite.add_tensor(constant(f"{name}_scale", scales)),
        rewrite.add_tensor(constant(f"{name}_zero_point", zero_points)),
    )
    axis = quantization.axis or 0
    operator = DequantizeLinear(axis) if step.type == "Dequantize" else QuantizeLinear(axis, quantized.dtype)
    return Node(name, operator, (source, *parameters), (result,), node.origin)
