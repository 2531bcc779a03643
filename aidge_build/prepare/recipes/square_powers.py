# SPDX-License-Identifier: MIT
"""Turns Pow with the exponent 2 into a product of the tensor with itself, so that the firmware needs no powf."""

from __future__ import annotations

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.binary import Mul, Pow
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True)
def square_powers(view: GraphView) -> GraphView:
    """Only float tensors: a function of one quantized input is a table already. Both give the exact square, rounded once."""
    rewrite = Rewrite(view)
    for node in view.nodes:
        if isinstance(node.operator, Pow) and _squares(view, node):
            rewrite.replace_node(node, node.with_(operator=Mul(), inputs=(node.input, node.input)))
    return rewrite.finish()


def _squares(view: GraphView, node: Node) -> bool:
    base, exponent = (view.tensor(name) for name in node.inputs)
    (result,) = view.output_tensors(node)
    is_two = exponent.is_constant and bool((exponent.data == 2).all())
    return is_two and base.dtype is result.dtype is DType.float32 and result.dims == base.dims
