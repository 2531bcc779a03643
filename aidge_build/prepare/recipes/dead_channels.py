# SPDX-License-Identifier: MIT
"""Replaces data with a scale of 0, which pruning leaves: the real values are 0, whatever is stored."""

from __future__ import annotations

import numpy

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.prepare.recipes.recipe import recipe

TINY = numpy.finfo(numpy.float32).tiny  # a scale for values that are all 0; products of it stay small


@recipe(exact=True)
def dead_channels(view: GraphView) -> GraphView:
    """1. In a constant, the channels with scale 0 get their zero point as values, and another scale. 2. A computed tensor with
    one scale of 0 becomes a constant of zeros.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type != "DequantizeLinear":
            continue
        data, scale, points, *_ = (*view.input_tensors(node), None)
        if scale.is_constant and not scale.data.all():
            if data.is_constant:
                _state_anew(rewrite, node, data, scale, points)
            else:
                _replace(view, rewrite, node)
    return rewrite.finish()


def _state_anew(rewrite: Rewrite, node: Node, data: Tensor, scale: Tensor, points: Tensor | None) -> None:
    zeros = numpy.zeros(scale.dims, data.data.dtype) if points is None else points.data
    dead, shape = scale.data == 0, [1] * data.rank
    if scale.dims:
        shape[node.operator.axis] = scale.elements
    values = numpy.where(dead.reshape(shape), zeros.reshape(shape), data.data)
    names = (
        rewrite.add_tensor(data.with_(name=f"{data.name}_pruned", data=values)),
        rewrite.add_tensor(constant(f"{scale.name}_pruned", numpy.where(dead, TINY, scale.data))),
    )
    rewrite.replace_node(node, node.with_(inputs=(*names, *node.inputs[2:])))


def _replace(view: GraphView, rewrite: Rewrite, node: Node) -> None:
    (result,) = view.output_tensors(node)
    zeros = numpy.zeros(result.dims, result.dtype.numpy)
    if view.is_output(result.name):
        rewrite.update_tensor(result.name, data=zeros)
    else:
        rewrite.redirect(result.name, rewrite.add_tensor(constant(f"{result.name}_zeros", zeros)))
    rewrite.remove_node(node)
