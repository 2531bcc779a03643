# SPDX-License-Identifier: MIT
"""Turns reads and writes at constant consecutive indices into Slice, and into Replace, which may be in-place."""

from __future__ import annotations

import math

import numpy

from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.rearrange import Slice
from aidge_build.operators.replace import Replace
from aidge_build.operators.view import Reshape
from aidge_build.prepare.recipes.recipe import recipe


@recipe(exact=True)
def replace_blocks(view: GraphView) -> GraphView:
    """1. ScatterND without reduction, with constant indices that name a block in the order of its elements: Replace. Exporters
       write `cache[:, 2:] = x` so. A block that is all of the data leaves only a view of the new elements.
    2. Gather by constant indices at equal distances, or by one: Slice (and Reshape); of all elements in their order: Reshape.
    """
    rewrite = Rewrite(view)
    for node in view.nodes:
        nodes = None
        if node.type == "ScatterND" and node.operator.reduction == "none":
            nodes = _replaced(view, rewrite, node)
        elif node.type == "Gather":
            nodes = _cut(view, rewrite, node)
        if nodes:
            rewrite.replace_node(node, *nodes)
    return rewrite.finish()


def _replaced(view: GraphView, rewrite: Rewrite, node: Node) -> list[Node] | None:
    data, indices, updates = (view.tensor(name) for name in node.inputs)
    if indices.data is None or not indices.data.size or data.quantization != updates.quantization:
        return None
    depth = indices.dims[-1]
    rows = indices.data.reshape(-1, depth)
    rows = numpy.where(rows < 0, rows + numpy.array(data.dims[:depth]), rows)
    starts = rows.min(axis=0)
    counts = tuple(int(size) for size in rows.max(axis=0) - starts + 1)
    if math.prod(counts) != len(rows) or not numpy.array_equal(rows - starts, numpy.indices(counts).reshape(depth, -1).T):
        return None
    dims = (*counts, *data.dims[depth:])
    if dims == data.dims and not updates.is_constant:
        return [Node(node.name, Reshape(dims), (updates.name,), node.outputs, node.origin)]
    if data.is_constant:
        return None
    block, before = _reshaped(rewrite, node, updates, dims)
    operator = Replace((*map(int, starts), *(0,) * (data.rank - depth)))
    return [*before, Node(node.name, operator, (data.name, block), node.outputs, node.origin)]


def _reshaped(rewrite: Rewrite, node: Node, tensor: Tensor, dims: tuple[int, ...]) -> tuple[str, list[Node]]:
    if tensor.dims == dims:
        return tensor.name, []
    data = None if tensor.data is None else tensor.data.reshape(dims)
    name = rewrite.add_tensor(tensor.with_(name=f"{tensor.name}_block", dims=dims, data=data, format=None))
    return name, [] if tensor.is_constant else [Node(f"{node.name}_block", Reshape(dims), (tensor.name,), (name,), node.origin)]


def _cut(view: GraphView, rewrite: Rewrite, node: Node) -> list[Node] | None:
    data, indices = (view.tensor(name) for name in node.inputs)
    if indices.data is None or data.is_constant or not indices.data.size:
        return None
    if data.quantization != view.tensor(node.output).quantization:
        return None
    axis, places = node.operator.axis % data.rank, indices.data.reshape(-1)
    places = numpy.where(places < 0, places + data.dims[axis], places)
    step = int(places[1] - places[0]) if len(places) > 1 else 1
    if step == 0 or not numpy.array_equal(places, places[0] + step * numpy.arange(len(places))):
        return None
    result = view.tensor(node.output)
    if step == 1 and len(places) == data.dims[axis]:
        return [Node(node.name, Reshape(result.dims), (data.name,), node.outputs, node.origin)]
    if indices.rank > 1:
        return None
    starts, counts, steps = [0] * data.rank, list(data.dims), [1] * data.rank
    starts[axis], counts[axis], steps[axis] = int(places[0]), len(places), step
    operator = Slice(tuple(starts), tuple(counts), tuple(steps))
    if indices.rank == 1:
        return [Node(node.name, operator, (data.name,), node.outputs, node.origin)]
    name = rewrite.add_tensor(result.with_(name=f"{result.name}_slice", dims=tuple(counts)))
    cut = Node(f"{node.name}_slice", operator, (data.name,), (name,), node.origin)
    return [cut, Node(node.name, Reshape(result.dims), (name,), node.outputs, node.origin)]
