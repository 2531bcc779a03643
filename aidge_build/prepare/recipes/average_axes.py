# SPDX-License-Identifier: MIT
"""Turns ReduceMean of 8-bit tensors into an average pool over a map, which integer kernels compute."""

from __future__ import annotations

import math

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.base import Operator
from aidge_build.operators.pool import GlobalAveragePooling
from aidge_build.operators.reduce import ReduceMean
from aidge_build.operators.view import Reshape, Transpose
from aidge_build.prepare.recipes.recipe import recipe

_BYTES = (DType.int8, DType.uint8)


@recipe(exact=False)
def average_axes(view: GraphView) -> GraphView:
    """ReduceMean over any axes becomes GlobalAveragePool of [batch, axes that stay, axes that go], between views that are the
    same bytes if formats allow it. Under the contract `double` the two round differently, so ReduceMean stays.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        if not isinstance(node.operator, ReduceMean):
            continue
        (data,), (result,) = view.input_tensors(node), view.output_tensors(node)
        if _stores_bytes(data) and _stores_bytes(result):
            rewrite.replace_node(node, *_pooled(rewrite, node, data, result))
    return rewrite.finish()


def _stores_bytes(tensor: Tensor) -> bool:
    quantization = tensor.quantization
    return tensor.dtype in _BYTES and quantization is not None and quantization.per_tensor and quantization.rounding != "double"


def _pooled(rewrite: Rewrite, node: Node, data: Tensor, result: Tensor) -> list[Node]:
    reduced = {axis % data.rank for axis in node.operator.axes}
    kept = [axis for axis in range(data.rank) if axis not in reduced]
    order = (*kept, *sorted(reduced))
    moved = tuple(data.dims[axis] for axis in order)
    mapped = _map_dims(moved, len(kept), 0 in kept)
    pooled = (*mapped[:2], *(1,) * (len(mapped) - 2))
    steps: list[tuple[str, Operator, Tensor]] = []
    if order != tuple(range(data.rank)):
        steps.append(("transposed", Transpose(order), data.with_(dims=moved)))
    if mapped != moved:
        steps.append(("map", Reshape(mapped), data.with_(dims=mapped)))
    steps.append(("pooled", GlobalAveragePooling(), result.with_(dims=pooled)))
    if pooled != result.dims:
        steps.append(("reshaped", Reshape(result.dims), result))
    source = data.name
    nodes: list[Node] = []
    for what, operator, made in steps:
        is_last = len(nodes) == len(steps) - 1
        name = result.name if is_last else rewrite.add_tensor(made.with_(name=f"{result.name}_{what}", data=None, format=None))
        nodes.append(Node(node.name if is_last else f"{node.name}_{what}", operator, (source,), (name,), node.origin))
        source = name
    return nodes


def _map_dims(dims: tuple[int, ...], kept: int, has_batch: bool) -> tuple[int, ...]:
    """Returns [batch, channels, map...] for dims with the first `kept` axes kept."""
    if kept == 2 and has_batch and len(dims) > 2:
        return dims
    batch = dims[0] if has_batch else 1
    return batch, math.prod(dims[has_batch:kept]), math.prod(dims[kept:])
