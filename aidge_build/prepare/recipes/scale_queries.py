# SPDX-License-Identifier: MIT
"""Scales the smaller operand of a product: a query of one token instead of all keys of a cache."""

from __future__ import annotations

import numpy

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.binary import Mul
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=False)
def scale_queries(view: GraphView) -> GraphView:
    """MatMul(A, B * c) with one number c becomes MatMul(A * c, B) if A has fewer elements. A number that scales A already is
    multiplied with c in float64, and rounded once. No node clamps, and only the product reads the scaled operands.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type != "MatMul":
            continue
        small, large = (view.tensor(name) for name in node.inputs)
        scaled = _scaling(view, large)
        if scaled is None or small.is_constant or small.elements >= large.elements:
            continue
        _move(view, rewrite, node, scaled)
    return rewrite.finish()


def _scaling(view: GraphView, tensor: Tensor) -> Node | None:
    """Returns the node that multiplies float elements by one number, for one reader."""
    node = view.producer(tensor.name)
    if node is None or not isinstance(node.operator, Mul) or node.operator.clamps or view.only_consumer(tensor.name) is None:
        return None
    factor = view.tensor(node.inputs[1])
    return node if tensor.dtype.is_float and factor.is_constant and factor.elements == 1 and factor.rank <= tensor.rank else None


def _move(view: GraphView, rewrite: Rewrite, product: Node, scaled: Node) -> None:
    small = view.tensor(product.inputs[0])
    factor, source, origin = view.tensor(scaled.inputs[1]).data.astype(numpy.float64), small.name, scaled.origin
    before = _scaling(view, small)
    if before is not None:
        factor, source, origin = factor * view.tensor(before.inputs[1]).data, before.input, (*before.origin, *origin)
    number = rewrite.add_tensor(constant(f"{scaled.name}_factor", factor.reshape(()).astype(small.dtype.numpy)))
    name = rewrite.add_tensor(Tensor(f"{small.name}_scaled", small.dims, small.dtype))
    rewrite.replace_node(
        product,
        Node(scaled.name, Mul(), (source, number), (name,), origin),
        product.with_(inputs=(name, scaled.input)),
    )
    rewrite.remove_node(scaled)
