# SPDX-License-Identifier: MIT
"""Stores the rows of caches as bytes with a scale each: a quarter of the RAM of keys and values (--state-type int8)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node, State
from aidge_build.operators.binary import Mul
from aidge_build.operators.matmul import MatMul
from aidge_build.operators.row_bytes import RowBytes
from aidge_build.operators.scatter import ScatterND
from aidge_build.operators.view import Reshape

SECOND = 1  # the operand of a product that is a cache


def byte_caches(view: GraphView) -> GraphView:
    """Returns the graph in which each float32 state that is a cache holds int8 rows, and a state more their scales. A cache gets
    rows by ScatterND, and only products of matrices read it, through views that keep its rows apart. The products read bytes;
    scales are multiplied to their results (rows that are columns of the product) or to their first operand. Not exact.
    """
    for state in view.states:
        cache = _cache_of(view, state)
        if cache is not None:
            view = _in_bytes(view, cache)
    return view


@dataclass(frozen=True)
class _Reader:
    """A product that reads the cache through views; rows are an axis of its second operand, counted from the end."""

    views: tuple[Node, ...]
    product: Node
    axis: int


@dataclass(frozen=True)
class _Cache:
    state: State
    scatter: Node
    readers: tuple[_Reader, ...]


def _cache_of(view: GraphView, state: State) -> _Cache | None:
    """Returns how the state is written and read if it is a cache."""
    node = view.producer(state.written)
    if node is None or not isinstance(node.operator, ScatterND) or node.operator.reduction != "none":
        return None
    data, indices = (view.tensor(name) for name in node.inputs[:2])
    is_rows = indices.rank == 2 and indices.dims[1] == 1 and data.rank > 1 and data.dtype is DType.float32
    if not is_rows or node.input != state.read or view.consumers(state.read) != (node,):
        return None
    rows = numpy.arange(data.dims[0]).reshape(-1, *(1,) * (data.rank - 1))
    readers = tuple(_readers(view, node.output, (), numpy.broadcast_to(rows, data.dims)))
    return _Cache(state, node, readers) if readers and None not in readers else None


def _readers(view: GraphView, name: str, views: tuple[Node, ...], rows: numpy.ndarray) -> Iterator[_Reader | None]:
    """Yields the products behind a tensor; None for another reader. `rows`: the row of the cache that each element is of."""
    for node in view.consumers(name):
        if node.operator.views and not view.is_output(node.output):
            yield from _readers(view, node.output, (*views, node), node.operator.forward(rows))
            continue
        axis = _axis_of(rows)
        is_product = isinstance(node.operator, MatMul) and node.inputs.index(name) == SECOND
        is_read = is_product and axis is not None and view.tensor(node.inputs[0]).rank > 1
        yield _Reader(views, node, axis) if is_read else None


def _axis_of(rows: numpy.ndarray) -> int | None:
    """Returns the one of the last two axes that counts the rows, from the end; None if none does."""
    for axis in (-1, -2) if rows.ndim > 1 else ():
        counted = numpy.arange(rows.shape[axis]).reshape(-1, *(1,) * (-1 - axis))
        if numpy.array_equal(rows, numpy.broadcast_to(counted, rows.shape)):
            return axis
    return None


def _in_bytes(view: GraphView, cache: _Cache) -> GraphView:
    """Returns the graph with this cache in bytes."""
    rewrite, state, scatter = Rewrite(view), cache.state, cache.scatter
    data, indices, updates = scatter.inputs
    first = {name: view.tensor(name) for name in (data, scatter.output, updates)}
    for name in (data, scatter.output):
        rewrite.update_tensor(name, dtype=DType.int8)
    rows = rewrite.add_tensor(Tensor(f"{updates}_bytes", first[updates].dims, DType.int8))
    row_scales = rewrite.add_tensor(Tensor(f"{updates}_scales", (first[updates].dims[0], 1), DType.float32))
    scales = Tensor("", (first[data].dims[0], 1), DType.float32)
    old, new = (rewrite.add_tensor(scales.with_(name=f"{name}_scales")) for name in (data, scatter.output))
    rewrite.replace_node(
        scatter,
        Node(f"{scatter.name}_bytes", RowBytes(), (updates,), (rows, row_scales), scatter.origin),
        scatter.with_(inputs=(data, indices, rows)),
        Node(f"{scatter.name}_scales", scatter.operator, (old, indices, row_scales), (new,), scatter.origin),
    )
    for reader in cache.readers:
        for node in reader.views:
            rewrite.update_tensor(node.output, dtype=DType.int8)
        _scale(view, rewrite, reader, new)
    levels, initial_scales = RowBytes().forward(state.initial)
    with_bytes = replace(state, initial=levels)
    rewrite.states = tuple(with_bytes if one is state else one for one in view.states)
    rewrite.states += (State(old, new, initial_scales),)
    rewrite.outputs = (*view.outputs, new)
    return replace(rewrite.finish(), inputs=(*view.inputs, old))


def _scale(view: GraphView, rewrite: Rewrite, reader: _Reader, scales: str) -> None:
    """Multiplies the scales to what the product makes of the columns, or to its first operand."""
    node, count = reader.product, rewrite.tensors[scales].dims[0]
    row = rewrite.add_tensor(Tensor(f"{node.name}_row_scales", (count,), DType.float32))
    flat = Node(row, Reshape((count,)), (scales,), (row,), node.origin)
    first, result = (view.tensor(name) for name in (node.inputs[0], node.output))
    if reader.axis == -1:
        product = rewrite.add_tensor(result.with_(name=f"{result.name}_unscaled", format=None))
        scaled = Node(f"{node.name}_scaled", Mul(), (product, row), (result.name,), node.origin)
        rewrite.replace_node(node, flat, node.with_(outputs=(product,)), scaled)
    else:
        weighted = rewrite.add_tensor(first.with_(name=f"{first.name}_scaled", format=None))
        scaled = Node(f"{node.name}_scaled", Mul(), (first.name, row), (weighted,), node.origin)
        rewrite.replace_node(node, flat, scaled, node.with_(inputs=(weighted, *node.inputs[SECOND:])))
