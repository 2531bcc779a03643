# SPDX-License-Identifier: MIT
"""Cases of float32 products with a second matrix, float32 or int8, that a Transpose turns: read as it is stored."""

from __future__ import annotations

from collections.abc import Callable

import numpy
from harness import Case
from random_tensors import Randomness

from aidge_build.contract.kernel_kit.matmul_float32 import STORED, STORED_SEEN
from aidge_build.graph.dtype import DType
from aidge_build.graph.pattern import find
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import Node, graph_view
from aidge_build.operators.matmul import MatMul
from aidge_build.operators.row_bytes import RowBytes
from aidge_build.operators.seen_product import SeenMatMul
from aidge_build.operators.view import Transpose
from aidge_build.prepare.adaptation.meta_operator import meta_node

# Dims of the first matrix, the stored dims of the second one, its permutation: keys and values of heads, tails of every length.
SHAPES = [
    ((4, 1, 32), (16, 4, 32), (1, 2, 0)),
    ((4, 1, 16), (16, 4, 32), (1, 0, 2)),
    ((2, 3, 7), (5, 2, 7), (1, 2, 0)),
    ((2, 3, 5), (5, 2, 7), (1, 0, 2)),
    ((1, 5, 9), (6, 9), (1, 0)),
    ((3, 4, 6), (4, 6), (1, 0)),
    ((2, 3, 1, 4), (2, 9, 3, 4), (0, 2, 3, 1)),
    ((2, 3, 5, 9), (2, 9, 3, 13), (0, 2, 1, 3)),
    ((1, 4, 2, 8), (5, 1, 4, 8), (1, 2, 3, 0)),
    ((1, 1, 1), (4, 1, 1), (1, 2, 0)),
    ((3, 130), (2, 131, 130), (0, 2, 1)),
    ((2, 2, 7), (2, 2, 7), (0, 2, 1)),
    ((2, 5, 6), (6, 2, 3), (1, 0, 2)),
]


def stored_products(case: Callable[..., Case]) -> list[Case]:
    """The cases, made by the harness of a library."""
    return [_stored(case, seed, dtype, *shape) for dtype in (DType.float32, DType.int8) for seed, shape in enumerate(SHAPES)]


def products_with_bytes(case: Callable[..., Case]) -> list[Case]:
    """A second matrix of bytes whose rows or columns nothing turns."""
    made = []
    for seed, (first, second) in enumerate((((4, 1, 16), (4, 16, 32)), ((2, 3, 5), (5, 7)), ((5, 9), (9, 13)), ((1, 1), (1, 4)))):
        random = Randomness(seed)
        inputs = [random.real(*first, name="a"), Tensor("b", second, DType.int8)]
        made.append(case(MatMul(), inputs, [random.float32(*first), random.int8(*second)]))
    return made


def seen_products(case: Callable[..., Case]) -> list[Case]:
    """Rows of a cache up to a position, or all if it is no row: heads of keys and values as they are stored, in both orders."""
    made = []
    for seed, position in enumerate((0, 1, 2, 6, 10, 11, 12, -1)):
        for dtype in (DType.float32, DType.int8):
            for inner, permutation in ((False, (1, 2, 0)), (True, (1, 0, 2)), (True, ()), (False, ())):
                made.append(_seen(case, seed, dtype, position, inner, permutation))
    return made


def _seen(case, seed: int, dtype: DType, position: int, inner: bool, permutation: tuple[int, ...]) -> Case:
    random, rows, size = Randomness(seed), 12, 8 if seed % 2 else 36
    first, turned = ((2, 1, rows), (2, rows, size)) if inner else ((2, 1, size), (2, size, rows))
    stored = tuple(turned[permutation.index(axis)] for axis in range(3)) if permutation else turned
    where = Tensor("p", (1,), DType.int64 if seed % 3 else DType.int32)
    a, b = random.real(*first, name="a"), random.real(*stored, name="b").with_(dtype=dtype)
    given = {"a": random.float32(*first), "b": (random.int8 if dtype is DType.int8 else random.float32)(*stored)}
    given["p"] = numpy.array([position], where.dtype.numpy)
    operator = SeenMatMul(inner=inner)
    if not permutation:
        return case(operator, [a, b, where], list(given.values()))
    t, y = b.with_(name="t", dims=turned), a.with_(name="y", dims=(2, 1, turned[-1]))
    nodes = (Node("t", Transpose(permutation), ("b",), ("t",)), Node("y", operator, ("a", "t", "p"), ("y",)))
    tensors = {one.name: one for one in (a, b, where, t, y)}
    graph = graph_view("net", nodes, tensors, ("a", "b", "p"), ("y",))
    (found,) = find(graph, STORED_SEEN)
    node = meta_node(graph, "StoredSeenMatMul", found)
    inputs = [tensors[name].with_(name=f"{name}_copy") for name in node.inputs]
    return case(node.operator, inputs, [given[name] for name in node.inputs])


def rows_as_bytes(case: Callable[..., Case]) -> list[Case]:
    """Rows of all magnitudes; zeros, numbers that count as zeros, NaN, infinity, halves of levels."""
    random, made = Randomness(3), []
    for dims in ((1, 128), (5, 3, 7), (4, 1)):
        exponents = numpy.arange(-2, 2 * dims[0] - 2, 2).reshape(-1, *(1,) * (len(dims) - 1))
        values = (random.float32(*dims) * 10.0**exponents).astype(numpy.float32)
        made.append(case(RowBytes(), [random.real(*dims)], [values]))
    special = [[0, 0, 0], [1e-31, 0, -1e-32], [numpy.nan, 2, -1], [numpy.inf, 0, 1], [-127, 63.5, 64.5]]
    return [*made, case(RowBytes(), [random.real(5, 3)], [numpy.array(special, numpy.float32)])]


def _stored(
    case: Callable[..., Case],
    seed: int,
    dtype: DType,
    first: tuple[int, ...],
    stored: tuple[int, ...],
    permutation: tuple[int, ...],
):
    random = Randomness(seed)
    a, b = random.real(*first, name="a"), random.real(*stored, name="b").with_(dtype=dtype)
    turned = b.with_(name="t", dims=tuple(stored[axis] for axis in permutation))
    dims = (*numpy.broadcast_shapes(first[:-2], turned.dims[:-2]), first[-2], turned.dims[-1])
    nodes = (Node("t", Transpose(permutation), ("b",), ("t",)), Node("y", MatMul(), ("a", "t"), ("y",)))
    tensors = {one.name: one for one in (a, b, turned, a.with_(name="y", dims=dims))}
    graph = graph_view("net", nodes, tensors, ("a", "b"), ("y",))
    (found,) = find(graph, STORED)
    node = meta_node(graph, "StoredMatMul", found)
    inputs = [tensors[name].with_(name=f"{name}_copy") for name in node.inputs]  # as after a change of format
    values = [(random.int8 if tensor.dtype is DType.int8 else random.float32)(*tensor.dims) for tensor in inputs]
    return case(node.operator, inputs, values)
