# SPDX-License-Identifier: MIT
"""A window that moves on by some frames: in place, and into a copy of the data."""

from __future__ import annotations

import pytest
from harness import case, differing, run
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.slide import Slide


def cases(dtype: DType):
    random = Randomness(43)
    for dims, axis, count in (
        ((7,), 0, 2),
        ((3, 5), 1, 1),
        ((3, 5), 0, 3),
        ((1, 6, 9), 2, 8),
        ((2, 3, 4), -2, 1),
        ((1, 1), 0, 1),
    ):
        added = tuple(count if place == axis % len(dims) else size for place, size in enumerate(dims))
        window, frames = (random.numbers.integers(-100, 100, size).astype(dtype.numpy) for size in (dims, added))
        yield case(Slide(axis), [Tensor("x", dims, dtype), Tensor("u", added, dtype)], [window, frames])


@pytest.mark.parametrize("dtype", [DType.int8, DType.float32, DType.int64])
@pytest.mark.parametrize("where", [{}, {"overwritten": 0}], ids=["a copy", "in place"])
def test_the_newest_frames_follow_the_ones_that_stay(dtype, where):
    made = list(cases(dtype))
    assert differing(made, run(made, **where)) == []
