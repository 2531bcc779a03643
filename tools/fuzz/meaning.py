# SPDX-License-Identifier: MIT
"""Whether a graph still means what its file says after it was adapted, tensor by tensor, where both have the tensor."""

from __future__ import annotations

from collections.abc import Mapping

import numpy

from aidge_build.contract.spec import NodeView
from aidge_build.graph.view import GraphView
from aidge_build.reference.evaluate import evaluate

# Levels by which a number may differ before it is quantized: float32's noise, where a sum lies in the middle of two levels (rules
# 1 and 2 of docs/arithmetic.md), and a level where integers compute by a formula of their own (rules 3 and 4).
NOISE, BY_INTEGERS = 1e-4, {"Resize": 1.0, "Softmax": 1.0}


def difference(view: GraphView, inputs: Mapping[str, numpy.ndarray], adapted: Mapping[str, numpy.ndarray]) -> str:
    """What is wrong with the `adapted` values of tensors, "" if nothing is.

    Nodes of `view` (as imported) are computed in their order from the adapted values, so that a difference is seen where it
    arises and is not handed on. Integers are equal but in the middle of two levels; floats are within 1e-4 of the largest.
    """
    values: dict[str, numpy.ndarray] = {name: tensor.data for name, tensor in view.tensors.items() if tensor.is_constant}
    values |= inputs
    makers = {name: node.type for node in view.nodes for name in node.outputs}
    for node in view.nodes:
        seen = NodeView.of(view, node)
        given = [values.get(name) for name in node.inputs]
        for name, ours in zip(node.outputs, evaluate(seen.operator, given, seen.inputs, seen.outputs)):
            theirs = adapted.get(name, ours)
            if (theirs.dtype, theirs.shape) != (ours.dtype, ours.shape):
                theirs = ours
            if ours.dtype.kind == "f":
                largest = numpy.abs(ours[numpy.isfinite(ours)]).max(initial=0)
                same = numpy.allclose(theirs, ours, rtol=0, atol=1e-4 * largest + 1e-6, equal_nan=True)
            else:
                same = numpy.array_equal(theirs, ours)
            if not same and node.type == "QuantizeLinear":
                same = _within(BY_INTEGERS.get(makers.get(node.inputs[0], ""), NOISE), seen, given, theirs)
            if not same:
                return f"'{name}' of {node.where()} is adapted to another meaning"
            values[name] = theirs
    return ""


def _within(levels: float, seen: NodeView, given: list, theirs: numpy.ndarray) -> bool:
    """Whether numbers that are nearer to those quantized than so many levels give what `theirs` holds."""
    data, scale, *rest = given
    step = levels * float(scale.min())
    (lowest,), (highest,) = (
        evaluate(seen.operator, [data + by, scale, *rest], seen.inputs, seen.outputs) for by in (-step, step)
    )
    return bool(((lowest <= theirs) & (theirs <= highest)).all())
