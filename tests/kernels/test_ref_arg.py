# SPDX-License-Identifier: MIT
"""The index of an extreme element: of pixels and along any axis, with and without a loop over the elements."""

from __future__ import annotations

import cortexm_harness
import numpy
from harness import case, differing, run

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.search import ArgMax, ArgMin

PLACES = [
    ((1, 4, 3, 2), 1),
    ((2, 3, 5), 1),
    ((1, 1, 4, 4), 1),
    ((1, 16, 2, 2), 1),
    ((2, 17, 3), 1),
    ((3, 21), 1),
    ((7, 2, 3), 0),
    ((2, 3, 9), -1),
]


def searches(make):
    """With equal elements."""
    cases = []
    for seed, (dims, axis) in enumerate(PLACES):
        random = numpy.random.default_rng(seed)
        for dtype in (DType.int8, DType.uint8, DType.float32):
            values = random.integers(0, 6, dims).astype(dtype.numpy)
            made = (ArgMax, ArgMin)[seed % 2](axis % len(dims), keep=seed % 3 > 0, last=seed % 4 > 1)
            cases.append(make(made, [Tensor("x", dims, dtype)], [values]))
    return cases


def candidates():
    """For the tests of all kernels."""
    return searches(cortexm_harness.case)


def test_the_index_is_that_of_numpy():
    cases = searches(case)
    assert {entry.kernel.node_class.__name__ for entry in cases} == {"ArgOfAxis", "ArgChannels"}
    assert differing(cases, run(cases)) == []
