# SPDX-License-Identifier: MIT
"""A block of a tensor replaced: in place, and into a copy of the data."""

from __future__ import annotations

import pytest
from harness import case, differing, run
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.replace import Replace


def cases(dtype: DType):
    random = Randomness(41)
    for dims in ((7,), (3, 5), (2, 3, 4), (2, 1, 4, 3, 5), (1, 1), (4, 9)):
        for _ in range(3):
            starts = tuple(random.integer(0, size - 1) for size in dims)
            counts = tuple(random.integer(1, size - start) for start, size in zip(starts, dims))
            data, block = (random.numbers.integers(-100, 100, size).astype(dtype.numpy) for size in (dims, counts))
            yield case(Replace(starts), [Tensor("x", dims, dtype), Tensor("u", counts, dtype)], [data, block])


@pytest.mark.parametrize("dtype", [DType.int8, DType.float32, DType.int64])
@pytest.mark.parametrize("where", [{}, {"overwritten": 0}], ids=["a copy", "in place"])
def test_the_block_is_replaced_and_nothing_else(dtype, where):
    made = list(cases(dtype))
    assert differing(made, run(made, **where)) == []
