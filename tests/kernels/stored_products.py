# SPDX-License-Identifier: MIT
"""Cases of float32 products with a second matrix that a Transpose turns: read as it is stored."""

from __future__ import annotations

from collections.abc import Callable

import numpy
from harness import Case
from random_tensors import Randomness

from aidge_build.contract.kernel_kit.matmul_float32 import STORED
from aidge_build.graph.pattern import find
from aidge_build.graph.view import Node, graph_view
from aidge_build.operators.matmul import MatMul
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
    return [_stored(case, seed, *shape) for seed, shape in enumerate(SHAPES)]


def _stored(case: Callable[..., Case], seed: int, first: tuple[int, ...], stored: tuple[int, ...], permutation: tuple[int, ...]):
    random = Randomness(seed)
    a, b = random.real(*first, name="a"), random.real(*stored, name="b")
    turned = b.with_(name="t", dims=tuple(stored[axis] for axis in permutation))
    dims = (*numpy.broadcast_shapes(first[:-2], turned.dims[:-2]), first[-2], turned.dims[-1])
    nodes = (Node("t", Transpose(permutation), ("b",), ("t",)), Node("y", MatMul(), ("a", "t"), ("y",)))
    tensors = {one.name: one for one in (a, b, turned, a.with_(name="y", dims=dims))}
    graph = graph_view("net", nodes, tensors, ("a", "b"), ("y",))
    (found,) = find(graph, STORED)
    node = meta_node(graph, "StoredMatMul", found)
    inputs = [tensors[name].with_(name=f"{name}_copy") for name in node.inputs]  # as after a change of format
    return case(node.operator, inputs, [random.float32(*tensor.dims) for tensor in inputs])
