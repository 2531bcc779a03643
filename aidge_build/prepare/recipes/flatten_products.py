# SPDX-License-Identifier: MIT
"""Turns a product of a sequence with constant weights into a product of a matrix, between two views."""

from __future__ import annotations

import math

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.view import Reshape
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=False)
def flatten_products(view: GraphView) -> GraphView:
    """MatMul(X, W) of X [..., K] of three or more axes with constant W [K, M], and an Add of a constant vector [M] after it,
    become Reshape to [N, K], MatMul, Add, Reshape to [..., M]. Such products become fully connected layers.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type != "MatMul":
            continue
        data, weights = view.input_tensors(node)
        if not data.is_constant and data.rank > 2 and weights.is_constant and weights.rank == 2:
            _flatten(view, rewrite, node, data, weights.dims[1])
    return rewrite.finish()


def _flatten(view: GraphView, rewrite: Rewrite, product: Node, data: Tensor, outputs: int) -> None:
    rows = math.prod(data.dims[:-1])
    flat_data = rewrite.add_tensor(Tensor(f"{data.name}_rows", (rows, data.dims[-1]), data.dtype))
    flat_product = rewrite.add_tensor(Tensor(f"{product.output}_rows", (rows, outputs), data.dtype))
    steps = [
        _reshape(product, "flatten", data.name, flat_data, (rows, data.dims[-1])),
        product.with_(inputs=(flat_data, product.inputs[1]), outputs=(flat_product,)),
    ]
    last, flat = product, flat_product
    add = view.only_consumer(product.output)
    if add is not None and _adds_vector(view, add, product.output, outputs):
        last, flat = add, rewrite.add_tensor(Tensor(f"{add.output}_rows", (rows, outputs), data.dtype))
        inputs = tuple(flat_product if name == product.output else name for name in add.inputs)
        steps.append(add.with_(inputs=inputs, outputs=(flat,)))
        rewrite.remove_node(add)
    steps.append(_reshape(last, "unflatten", flat, last.output, (*data.dims[:-1], outputs)))
    rewrite.replace_node(product, *steps)


def _adds_vector(view: GraphView, add: Node, sums: str, outputs: int) -> bool:
    """Whether `add` adds one constant for each output, and no axis."""
    if add.type != "Add":
        return False
    other = view.tensor(add.other_input(sums))
    return other.is_constant and other.dims == (outputs,)


def _reshape(node: Node, what: str, source: str, result: str, dims: tuple[int, ...]) -> Node:
    return Node(f"{node.name}_{what}", Reshape(dims), (source,), (result,), node.origin)
