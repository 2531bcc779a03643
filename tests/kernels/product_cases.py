# SPDX-License-Identifier: MIT
"""Cases of products of two int8 matrices that are both computed at run time."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence

from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.matmul import MatMul

RANDOM_CASES = 200 if "AIDGE_STRESS" in os.environ else 16
ENDS = (-128, 127)

EDGES = [
    ((1, 1), (1, 1)),
    ((1, 3), (3, 4)),
    ((5, 7), (7, 1)),
    ((2, 9), (9, 5)),
    ((3, 4), (4, 6)),
    ((2, 16), (16, 8)),
    ((3, 33), (33, 11)),
    ((2, 130), (130, 9)),
    ((2, 3, 6), (2, 6, 7)),
    ((2, 1, 3, 5), (4, 5, 9)),
    ((3, 6), (2, 6, 4)),
    ((2, 1, 1, 2, 2, 8), (3, 1, 1, 8, 5)),
    ((7,), (7, 5)),
    ((2, 4, 7), (7,)),
    ((6,), (6,)),
    ((1, 257), (257, 67)),
]


def product(case: Callable, seed: int, first: tuple[int, ...], second: tuple[int, ...], points=None, constant_side: int = -1):
    """A case with random scales; `points` are the zero points of both operands, else random ones, too."""
    random = Randomness(seed)
    tensors, values = [], []
    for index, dims in enumerate((first, second)):
        quantization = random.quantization() if points is None else per_tensor(random.scale(), points[index])
        stored = random.int8(*dims)
        if index == constant_side:
            tensors.append(constant("ab"[index], stored, quantization))
        else:
            tensors.append(Tensor("ab"[index], dims, DType.int8, quantization=quantization))
            values.append(stored)
    around = 0.05 * 0.05 * 70 * math.sqrt(first[-1])
    return case(MatMul(), tensors, values, quantization=random.quantization(around))


def edge_products(case: Callable, edges: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], turns: int) -> list:
    """A library's own edge shapes: with random scales, with zero points at the ends, and four of them with a constant side."""
    mine = [product(case, 300 + 7 * turn + seed, *dims) for seed, dims in enumerate(edges) for turn in range(turns)]
    ends = [product(case, 400 + seed, *dims, points=(ENDS[seed % 2], ENDS[seed // 2 % 2])) for seed, dims in enumerate(edges)]
    return [*mine, *ends, *(product(case, 500 + seed, *dims, constant_side=seed % 2) for seed, dims in enumerate(edges[2:6]))]


def products(case: Callable) -> Iterator:
    """Edge shapes with random zero points and with those at the ends, a constant on either side, and random shapes."""
    for seed, dims in enumerate(EDGES):
        yield product(case, seed, *dims)
        yield product(case, 100 + seed, *dims, points=(ENDS[seed % 2], ENDS[seed // 2 % 2]))
    yield product(case, 7, (2, 3, 9), (2, 9, 6), constant_side=0)
    yield product(case, 8, (2, 3, 9), (2, 9, 6), constant_side=1)
    for seed in range(1000, 1000 + RANDOM_CASES):
        random = Randomness(seed)
        rows, inner, columns = random.integer(1, 9), random.integer(1, 40), random.integer(1, 24)
        batches = (random.integer(1, 3),) * random.integer(0, 1)
        yield product(case, seed, (*batches, rows, inner), (*batches, inner, columns))
