# SPDX-License-Identifier: MIT
"""Whether a graph still means what its file says after it was adapted, tensor by tensor, where both have the tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy

from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.contract.spec import NodeView
from aidge_build.graph.view import GraphView, Node

# Levels by which a number may differ before it is quantized: float32's noise, where a sum lies in the middle of two levels (rules
# 1 and 2 of docs/arithmetic.md), and a level where integers compute by a formula of their own (rules 3 and 4).
NOISE, BY_INTEGERS = 1e-4, {"Resize": 1.0, "Softmax": 1.0}


Span = tuple[numpy.ndarray, numpy.ndarray]


def difference(view: GraphView, inputs: Mapping[str, numpy.ndarray], adapted: Mapping[str, numpy.ndarray]) -> str:
    """What is wrong with the `adapted` values of tensors, "" if nothing is.

    Nodes of `view` (as imported) are computed in their order from the adapted values, so that a difference is seen where it
    arises and is not handed on. Integers are equal but in the middle of two levels; floats are within 1e-4 of the largest.
    Where such a middle lies in a tensor that the adapted graph has no more, what follows may come from either level.
    """
    values: dict[str, numpy.ndarray] = {name: tensor.data for name, tensor in view.tensors.items() if tensor.is_constant}
    values |= inputs
    spans: dict[str, Span] = {}  # of tensors that the adapted graph lacks: the lowest and highest that they may be
    makers = {name: node.type for node in view.nodes for name in node.outputs}
    for node in view.nodes:
        seen = NodeView.of(view, node)
        given = _possible_inputs(node, makers, values, spans)
        results = [evaluate(seen.operator, each, seen.inputs, seen.outputs) for each in given]
        for name, ours, *others in zip(node.outputs, *results):
            span = ours, ours
            for other in others:
                span = numpy.minimum(span[0], other), numpy.maximum(span[1], other)
            theirs = adapted.get(name)
            if theirs is None or (theirs.dtype, theirs.shape) != (ours.dtype, ours.shape):
                values[name] = ours
                if (span[0] < span[1]).any():
                    spans[name] = span
            elif _is_within(theirs, span):
                values[name] = theirs
            else:
                return f"'{name}' of {node.where()} is adapted to another meaning"
    return ""


def _possible_inputs(
    node: Node, makers: Mapping[str, str], values: Mapping[str, numpy.ndarray], spans: Mapping[str, Span]
) -> list[list]:
    """The inputs as they were computed, and with the lowest and the highest values of tensors that have a span; moved by as much
    as they may differ where the node quantizes them."""
    given = [[values.get(name) for name in node.inputs]]
    if not spans.keys().isdisjoint(node.inputs):
        given += [[spans[name][end] if name in spans else values.get(name) for name in node.inputs] for end in (0, 1)]
    if node.type == "QuantizeLinear":
        levels = BY_INTEGERS.get(makers.get(node.inputs[0], ""), NOISE)
        given += [_moved(each, by) for each in given for by in (-levels, levels)]
    return given


def _moved(given: Sequence, levels: float) -> list:
    """The inputs of QuantizeLinear, its numbers moved by so many levels."""
    data, scale, *rest = given
    return [data + levels * float(scale.min()), scale, *rest]


def _is_within(theirs: numpy.ndarray, span: Span) -> bool:
    """Whether all values lie between, floats with noise; infinities and numbers that are none are the same."""
    if theirs.dtype.kind != "f":
        return bool(((span[0] <= theirs) & (theirs <= span[1])).all())
    finite = numpy.isfinite(span[0]) & numpy.isfinite(span[1])
    noise = 1e-4 * numpy.abs(span[1][finite]).max(initial=0) + 1e-6
    inside = (span[0][finite] - noise <= theirs[finite]) & (theirs[finite] <= span[1][finite] + noise)
    return bool(inside.all()) and numpy.array_equal(theirs[~finite], span[0][~finite], equal_nan=True)
