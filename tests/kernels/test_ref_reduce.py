# SPDX-License-Identifier: MIT
"""Reductions of `ref` over any axes: one output at a time, or several neighbours, with and without places to divide for."""

from __future__ import annotations

import numpy
from harness import case, differing, far, run

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators import builtin_operators

SHAPES = [  # dims, axes
    ((6,), (0,)),
    ((1, 6, 8), (1,)),
    ((3, 5), (1,)),
    ((3, 5), (0,)),
    ((4, 2), (0,)),
    ((2, 7, 3), (1,)),
    ((4, 3, 2), (0,)),
    ((2, 3, 4, 5), (1, 3)),
    ((2, 3, 4, 5), (0, 2)),
    ((2, 3, 1, 9), (0, 1)),
    ((3, 2, 2, 3, 2), (0, 2, 4)),
    ((5, 0), (1,)),
]


def reductions(dtype: DType, types: tuple[str, ...]) -> list:
    cases = []
    for seed, (dims, axes) in enumerate(SHAPES):
        random = numpy.random.default_rng(seed)
        values = random.uniform(0.5, 2, dims) if dtype is DType.float32 else random.integers(-9, 9, dims)
        for name in types:
            if 0 not in dims or name not in ("LogSum", "LogSumExp", "Max", "Mean", "Min"):  # numpy has no largest element of none
                operator = builtin_operators()[f"Reduce{name}"](axes=axes, keep=seed % 2 == 0)
                cases.append(case(operator, [Tensor("x", dims, dtype)], [values.astype(dtype.numpy)]))
    return cases


def test_reductions_of_floats_are_those_of_numpy():
    cases = reductions(DType.float32, ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"))
    forms = {entry.call.function.removeprefix("aidge_ref_reducesum_float32") for entry in cases}
    assert forms >= {"", "_flat", "_by_2_flat", "_by_3", "_by_4_flat", "_by_4"}
    assert far(cases, run(cases)) == []


def test_reductions_of_integers_equal_those_of_numpy():
    cases = reductions(DType.int32, ("L1", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"))
    cases += [entry for dtype in (DType.int8, DType.uint8) for entry in reductions(dtype, ("Max", "Min"))]
    assert differing(cases, run(cases)) == []
