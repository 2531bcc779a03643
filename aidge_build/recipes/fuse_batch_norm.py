# SPDX-License-Identifier: MIT
"""BatchNormalization behind a convolution or FC with float constants is folded into weights and bias."""

from __future__ import annotations

import numpy

from aidge_build.graph.pattern import find
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.recipes.recipe import recipe


@recipe(exact=False)
def fuse_batch_norm(view: GraphView) -> GraphView:
    """w' = w * g, b' = (b - mean) * g + beta with g = gamma / sqrt(variance + epsilon), in float64, rounded once."""
    rewrite = Rewrite(view)
    for found in find(view, "(Conv|FC)-0>BatchNormalization"):
        behind, node = found.nodes
        if not _foldable(view, node, behind):
            continue
        gamma, beta, mean, variance = (view.tensor(name).data.astype(numpy.float64) for name in node.inputs[1:5])
        factor = gamma / numpy.sqrt(variance + node.operator.epsilon)
        weights = view.tensor(behind.inputs[1])
        bias = view.tensor(behind.inputs[2]).data.astype(numpy.float64) if len(behind.inputs) > 2 and behind.inputs[2] else 0.0
        new_weights = weights.data.astype(numpy.float64) * factor.reshape(-1, *(1,) * (weights.rank - 1))
        names = (
            rewrite.add_tensor(constant(f"{weights.name}_normalized", new_weights.astype(numpy.float32))),
            rewrite.add_tensor(constant(f"{node.inputs[2]}_folded", ((bias - mean) * factor + beta).astype(numpy.float32))),
        )
        rewrite.replace_node(
            behind, behind.with_(inputs=(behind.inputs[0], *names), outputs=node.outputs[:1], origin=found.origin)
        )
        rewrite.remove_node(node)
    return rewrite.finish()


def _foldable(view: GraphView, node: Node, behind: Node) -> bool:
    if behind.operator.clamps:
        return False
    constants = [view.tensor(name) for name in (*node.inputs[1:5], *behind.inputs[1:]) if name]
    return all(tensor.is_constant and tensor.quantization is None for tensor in constants)
