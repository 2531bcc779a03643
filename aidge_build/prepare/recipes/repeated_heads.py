# SPDX-License-Identifier: MIT
"""Multiplies with keys and values as the cache holds them, where a file repeats them for the heads of queries that share them."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.view import Reshape, Transpose
from aidge_build.prepare.recipes.recipe import recipe

_SWAPPED = (0, 1, 3, 2)


@dataclass(frozen=True)
class _Repeated:
    """Heads that are repeated: `heads` is the tensor [batch, heads, rows, width] before that, `between` are the nodes from the
    repeated heads to the product."""

    heads: Tensor
    between: tuple[Node, ...]


@recipe(exact=False)
def repeated_heads(view: GraphView) -> GraphView:
    """MatMul(A, B) with A [batch, heads * n, rows, depth], and B the heads [batch, heads, ...] repeated n times by Unsqueeze,
    Expand and Reshape, perhaps transposed and scaled: A becomes [batch, heads, n * rows, depth] by a view, and B is not
    repeated. Every product is the same sum.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        if node.type != "MatMul" or view.tensor(node.inputs[0]).rank != 4:
            continue
        found = _repeated(view, node)
        if found is not None:
            _multiply_once(view, rewrite, node, found)
    return rewrite.finish()


def _repeated(view: GraphView, product: Node) -> _Repeated | None:
    name, between = product.inputs[1], list[Node]()
    while (node := view.producer(name)) is not None and view.only_consumer(name) is not None:
        if node.type == "Reshape":
            heads = _heads_before(view, node)
            fits = heads is not None and _fits(view.tensor(product.inputs[0]), heads, view.tensor(node.output))
            return _Repeated(heads, tuple(between[::-1])) if heads is not None and fits else None
        if not _keeps_heads(view, node):
            return None
        between.append(node)
        name = node.input
    return None


def _keeps_heads(view: GraphView, node: Node) -> bool:
    """Whether the node transposes rows and columns, or multiplies by one number."""
    if isinstance(node.operator, Transpose):
        return tuple(node.operator.permutation) == _SWAPPED
    factor = view.tensor(node.inputs[-1])
    return node.type == "Mul" and factor.is_constant and factor.elements == 1 and factor.rank <= 4


def _heads_before(view: GraphView, merge: Node) -> Tensor | None:
    """Returns the tensor [batch, heads, rows, width] that becomes [batch, heads, n, rows, width] before the Reshape."""
    repeat = view.producer(merge.input)
    if repeat is None or repeat.type not in ("Expand", "Tile") or view.only_consumer(merge.input) is None:
        return None
    apart = view.producer(repeat.input)
    if apart is None or apart.type not in ("Unsqueeze", "Reshape"):
        return None
    heads, one, many = view.tensor(apart.input), view.tensor(repeat.input).dims, view.tensor(repeat.output).dims
    if heads.rank != 4 or len(many) != 5 or one != (*heads.dims[:2], 1, *heads.dims[2:]):
        return None
    return heads if many == (*one[:2], many[2], *one[3:]) else None


def _fits(queries: Tensor, heads: Tensor, repeated: Tensor) -> bool:
    many = queries.dims[1]
    return repeated.dims == (heads.dims[0], many, *heads.dims[2:]) and queries.dims[0] == heads.dims[0]


def _multiply_once(view: GraphView, rewrite: Rewrite, product: Node, found: _Repeated) -> None:
    queries, (result,) = view.tensor(product.inputs[0]), view.output_tensors(product)
    batch, kept = found.heads.dims[:2]
    rows = queries.dims[1] // kept * queries.dims[2]
    name, nodes = found.heads.name, list[Node]()
    for node in found.between:
        (tensor,) = view.output_tensors(node)
        made = rewrite.add_tensor(Tensor(f"{tensor.name}_once", (batch, kept, *tensor.dims[2:]), tensor.dtype))
        nodes.append(Node(f"{node.name}_once", node.operator, (name, *node.inputs[1:]), (made,), node.origin))
        name = made
    grouped = (batch, kept, rows, queries.dims[3])
    left = rewrite.add_tensor(Tensor(f"{queries.name}_grouped", grouped, queries.dtype))
    right = rewrite.add_tensor(Tensor(f"{result.name}_grouped", (*grouped[:3], result.dims[3]), result.dtype))
    rewrite.replace_node(
        product,
        *nodes,
        Node(f"{product.name}_group", Reshape(grouped), (queries.name,), (left,), product.origin),
        product.with_(inputs=(left, name), outputs=(right,)),
        Node(f"{product.name}_ungroup", Reshape(result.dims), (right,), product.outputs, product.origin),
    )
