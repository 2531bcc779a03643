# SPDX-License-Identifier: MIT
"""Splits sums, means and extremes of many tensors into groups: the later tensors need no memory yet."""

from __future__ import annotations

import numpy

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.binary import Mean, Mul, Sum, Variadic
from aidge_build.operators.broadcasting import broadcast_dims
from aidge_build.prepare.recipes.recipe import recipe

MOST_OPERANDS = 23  # of one node, as kernels have them
GROUP = 16


@recipe(exact=True)
def group_operands(view: GraphView) -> GraphView:
    """1. Sum, Max or Min of more than MOST_OPERANDS: the first GROUP of them, then this result with the next ones, and so on,
    which is the order of the operator itself. 2. Mean: the sum, times the rounded reciprocal of the number of tensors.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        if isinstance(node.operator, Variadic) and len(node.inputs) > MOST_OPERANDS:
            rewrite.replace_node(node, *_in_groups(view, rewrite, node))
    return rewrite.finish()


def _in_groups(view: GraphView, rewrite: Rewrite, node: Node) -> list[Node]:
    is_mean = isinstance(node.operator, Mean)
    operator, (result,) = Sum() if is_mean else node.operator, view.output_tensors(node)
    taken, nodes = node.input, list[Node]()
    for start in range(1, len(node.inputs), GROUP - 1):
        names = (taken, *node.inputs[start : start + GROUP - 1])
        dims = broadcast_dims(*(rewrite.tensors[name].dims for name in names))
        taken = rewrite.add_tensor(Tensor(f"{result.name}_group_{len(nodes)}", dims, result.dtype))
        nodes.append(node.with_(name=f"{node.name}_group_{len(nodes)}", operator=operator, inputs=names, outputs=(taken,)))
    if not is_mean:
        return [*nodes[:-1], nodes[-1].with_(name=node.name, outputs=node.outputs)]
    share = constant(f"{node.name}_share", numpy.array(1 / len(node.inputs), result.dtype.numpy))
    return [*nodes, node.with_(operator=Mul(), inputs=(taken, rewrite.add_tensor(share)))]
