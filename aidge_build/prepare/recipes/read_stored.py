# SPDX-License-Identifier: MIT
"""Lets an operator that widens its data itself read the stored values before a DequantizeLinear."""

from __future__ import annotations

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.prepare.recipes.quantize_constants import linear_quantization
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True)
def read_stored(view: GraphView) -> GraphView:
    """1. The operator `widens`. 2. Its data come from a DequantizeLinear with one scale, as the stored tensor has."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        stored = _stored_data(view, node) if node.operator.widens else ""
        if stored:
            rewrite.replace_node(node, node.with_(inputs=(stored, *node.inputs[1:])))
    return rewrite.finish()


def _stored_data(view: GraphView, node: Node) -> str:
    producer = view.producer(node.input)
    if producer is None or producer.type != "DequantizeLinear":
        return ""
    source = view.tensor(producer.input)
    known = source.quantization is not None and source.quantization.per_tensor
    return source.name if known and source.quantization == linear_quantization(view, producer) else ""
