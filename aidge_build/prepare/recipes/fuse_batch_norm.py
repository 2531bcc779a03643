# SPDX-License-Identifier: MIT
"""Folds BatchNormalization after a convolution or FC with constant weights into the weights and the bias."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.graph.pattern import find
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView
from aidge_build.prepare.recipes.recipe import recipe
from aidge_build.prepare.recipes.scaled_layer import scaled_layer


@recipe(exact=False)
def fuse_batch_norm(view: GraphView) -> GraphView:
    """w' = w * g, b' = (b - mean) * g + beta with g = gamma / sqrt(variance + epsilon), in float64, rounded once."""
    rewrite = Rewrite(view)
    for found in find(view, "(Conv|FC)-0>BatchNormalization"):
        behind, node = found.nodes
        constants = [view.tensor(name) for name in node.inputs[1:5]]
        if behind.operator.clamps or not all(tensor.is_constant and tensor.quantization is None for tensor in constants):
            continue
        gamma, beta, mean, variance = (tensor.data.astype(numpy.float64) for tensor in constants)
        factors = gamma / numpy.sqrt(variance + node.operator.epsilon)
        made = scaled_layer(view, behind, factors, beta - mean * factors)
        if made is None:
            continue
        said = (f"{behind.inputs[1]}_normalized", f"{node.inputs[2]}_folded")
        names = (rewrite.add_tensor(tensor.with_(name=name)) for tensor, name in zip(made, said))
        operator = replace(behind.operator, minimum=node.operator.minimum, maximum=node.operator.maximum)
        folded = behind.with_(operator=operator, inputs=(behind.input, *names), outputs=node.outputs, origin=found.origin)
        rewrite.replace_node(behind, folded)
        rewrite.remove_node(node)
    return rewrite.finish()
