# SPDX-License-Identifier: MIT
"""Attention of one query reads the rows of its caches up to a position, where a mask hides all rows after it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.binary import Add
from aidge_build.operators.matmul import MatMul
from aidge_build.operators.seen_product import SeenMatMul
from aidge_build.operators.softmax import Softmax
from aidge_build.prepare.recipes.largest_values import LargestValues

NOTHING = 110.0  # e^-110 is 0 in float32, and changes no sum of float64 that is at least 1
MOST_ROWS = 4096  # the mask is computed for each position
MOST_NODES = 24  # of a mask


def seen_rows(view: GraphView) -> GraphView:
    """MatMul, Add of a mask, Softmax along the last axis, MatMul become products that read only the rows up to a position.

    The mask depends on one integer alone, and is computed for all its values that are rows. Proved from the largest values that
    queries and keys can have: scores of rows that the mask hides are so much lower than the score of the row at the position that
    Softmax makes 0 of them, also if the product is 0 there; values are finite, so that 0 times a value is 0.
    """
    values, rewrite, masks = LargestValues(view), Rewrite(view), {}
    for node in [node for node in view.nodes if type(node.operator) is Softmax]:
        found = _attention_of(view, node)
        if found is None:
            continue
        if found.mask not in masks:
            masks[found.mask] = _mask_of(view, found.mask, view.tensor(found.keys.output).dims[-1])
        mask = masks[found.mask]
        if mask is not None and _is_proved(view, values, found, mask):
            for product, is_inner in ((found.keys, False), (found.values, True)):
                made = product.with_(operator=SeenMatMul(inner=is_inner), inputs=(*product.inputs, mask.position))
                rewrite.replace_node(product, made)
    return rewrite.finish()


@dataclass(frozen=True)
class _Attention:
    keys: Node
    mask: str
    values: Node


@dataclass(frozen=True)
class _Mask:
    """The position, the lowest number for a row that is seen, and the highest one for a row that is hidden."""

    position: str
    seen: float
    hidden: float


def _attention_of(view: GraphView, node: Node) -> _Attention | None:
    """Returns the attention with this node as its Softmax."""
    if node.operator.until_end:
        return None
    scores, values = view.producer(node.input), view.only_consumer(node.output)
    rank = view.tensor(node.input).rank
    if scores is None or not isinstance(scores.operator, Add) or node.operator.axis % rank != rank - 1:
        return None
    if values is None or type(values.operator) is not MatMul or values.inputs[0] != node.output:
        return None
    for product, mask in (scores.inputs, scores.inputs[::-1]):
        keys = view.producer(product)
        if keys is not None and type(keys.operator) is MatMul and view.only_consumer(product) is scores:
            return _Attention(keys, mask, values) if _is_one_query(view, keys, values, mask) else None
    return None


def _is_one_query(view: GraphView, keys: Node, values: Node, mask: str) -> bool:
    """Whether the products are of one row each, on float32, and the mask has one number for each row of the cache."""
    result, hidden = view.tensor(keys.output), view.tensor(mask)
    tensors = [view.tensor(name) for node in (keys, values) for name in (*node.inputs, node.output)]
    is_real = all(tensor.dtype is DType.float32 and tensor.rank > 1 and not tensor.is_constant for tensor in tensors)
    in_fours = result.dims[-1] % 4 == tensors[0].dims[-1] % 4 == view.tensor(values.output).dims[-1] % 4 == 0  # as kernels want
    is_row = hidden.rank > 0 and hidden.elements == hidden.dims[-1] == result.dims[-1] <= MOST_ROWS
    return is_real and in_fours and is_row and result.dims[-2] == 1 and not view.is_output(keys.output)


def _mask_of(view: GraphView, name: str, rows: int) -> _Mask | None:
    """Returns what the mask hides if it depends on one integer alone, and hides the rows after it."""
    nodes: list[Node] = []
    roots, waiting = set(), [name]
    while waiting and len(nodes) <= MOST_NODES:
        tensor = waiting.pop()
        node = view.producer(tensor)
        if node is not None:
            nodes.append(node)
            waiting += [source for source in node.inputs if source and not view.tensor(source).is_constant]
        else:
            roots.add(tensor)
    if waiting or len(roots) != 1:
        return None
    (root,) = roots
    position = view.tensor(root)
    if position.elements != 1 or position.dtype not in (DType.int32, DType.int64):
        return None
    used = {node.name for node in nodes}
    ordered = [node for node in view.nodes if node.name in used]
    table = numpy.stack([_computed(view, ordered, root, place, name).reshape(-1) for place in range(rows)])
    is_seen = numpy.tri(rows, dtype=bool)
    return _Mask(root, float(table[is_seen].min()), float(table[~is_seen].max(initial=-math.inf)))


def _computed(view: GraphView, nodes: list[Node], root: str, place: int, name: str) -> numpy.ndarray:
    """Returns the mask for a position."""
    position = view.tensor(root)
    found = {root: numpy.full(position.dims, place, position.dtype.numpy)}
    for node in nodes:
        values = [found.get(source, view.tensor(source).data) if source else None for source in node.inputs]
        found |= zip(node.outputs, evaluate(node.operator, values, view.input_tensors(node), view.output_tensors(node)))
    return found[name]


def _is_proved(view: GraphView, values: LargestValues, found: _Attention, mask: _Mask) -> bool:
    queries, keys = (values.of(name).each for name in found.keys.inputs)
    largest = 1.01 * view.tensor(found.keys.inputs[0]).dims[-1] * queries * keys
    rounded = 1e-6 * abs(mask.hidden)  # of the sum of a score and the mask
    is_hidden = mask.hidden + 2 * largest - mask.seen <= -NOTHING - rounded  # the score at the position is seen - largest or more
    return is_hidden and math.isfinite(values.of(found.values.inputs[1]).each)
