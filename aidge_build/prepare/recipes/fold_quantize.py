# SPDX-License-Identifier: MIT
"""Folds QuantizeLinear of a constant: some exporters store quantized weights as floats, or quantize them twice."""

from __future__ import annotations

from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True)
def fold_quantize(view: GraphView) -> GraphView:
    """Folds 1. QuantizeLinear of a constant, 2. QuantizeLinear of a DequantizeLinear of a constant. A graph output stays."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type != "QuantizeLinear" or view.is_output(node.output):
            continue
        before = view.producer(node.input)
        inputs = list(view.input_tensors(node))
        if before is not None and before.type == "DequantizeLinear":
            inputs[0] = _folded(view, before, list(view.input_tensors(before)))
        stored = _folded(view, node, inputs)
        if stored is not None:
            rewrite.redirect(node.output, rewrite.add_tensor(stored))
    return rewrite.finish()


def _folded(view: GraphView, node: Node, inputs: list[Tensor | None]) -> Tensor | None:
    """Returns the result as a constant; None if an input is computed."""
    if inputs[0] is None or any(tensor is not None and not tensor.is_constant for tensor in inputs):
        return None
    (values,) = evaluate(
        node.operator, [None if tensor is None else tensor.data for tensor in inputs], inputs, view.output_tensors(node)
    )
    return constant(f"{node.output}_folded", values)
