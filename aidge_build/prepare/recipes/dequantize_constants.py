# SPDX-License-Identifier: MIT
"""Turns each quantized constant that a float operator reads into the float32 constant that it means."""

from __future__ import annotations

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.arithmetic.requantize import dequantize_linear
from aidge_build.prepare.recipes.recipe import recipe

WIDENED = 3  # inputs: data, weights, weights of the state


@recipe(exact=False, of_quantized=True)
def dequantize_constants(view: GraphView) -> GraphView:
    """The value is float32(q - zero point) * scale, as in DequantizeLinear, for readers that compute in float. The data and the
    two weight matrices of an operator that widens them itself stay bytes.
    """
    rewrite = Rewrite(view)
    made: dict[str, str] = {}
    for node in view.nodes:
        if not _computes_in_float(view, node):
            continue
        names = []
        for place, name in enumerate(node.inputs):
            tensor = view.tensor(name) if name else None
            if tensor is not None and tensor.is_constant and tensor.quantization is not None and not _widened(node, place):
                if name not in made:
                    made[name] = rewrite.add_tensor(constant(f"{name}_real", dequantize_linear(tensor.data, tensor.quantization)))
                name = made[name]
            names.append(name)
        if tuple(names) != node.inputs:
            rewrite.replace_node(node, node.with_(inputs=tuple(names)))
    return rewrite.finish()


def _widened(node: Node, place: int) -> bool:
    return node.operator.widens and place < WIDENED


def _computes_in_float(view: GraphView, node: Node) -> bool:
    """Whether the node computes in float; a node that compares or searches stored values does not."""
    results_are_plain = all(tensor.quantization is None for tensor in view.output_tensors(node))
    computed = (tensor for tensor in view.input_tensors(node) if tensor is not None and not tensor.is_constant)
    reads_stored = any(tensor.quantization is not None for tensor in computed) and not node.operator.widens
    return node.type != "DequantizeLinear" and results_are_plain and not reads_stored
