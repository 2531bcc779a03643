# SPDX-License-Identifier: MIT
"""Parts of pools over the whole map: which pools have them, and what a part says of itself."""

from __future__ import annotations

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.pool import (
    AvgPooling,
    GlobalAveragePooling,
    GlobalMaxPooling,
    LpPooling,
    MaxPooling,
    MaxPoolingIndices,
)
from aidge_build.operators.pool_part import PoolPart
from aidge_build.operators.reduce import ReduceMean
from aidge_build.operators.window import Window

MAP = Window((6, 5), (1, 1), (1, 1), (0, 0), (0, 0))


def part(operator, batch=1, spatial=(6, 5), **fields):
    data = Tensor("x", (batch, 4, *spatial), DType.int8, **fields)
    outputs = tuple(Tensor("y", one.dims, one.dtype) for one in operator.infer((data,)))
    return operator.part((data,), outputs[:1], 2, 5)


@pytest.mark.parametrize(
    "operator",
    [
        AvgPooling(window=MAP),
        GlobalAveragePooling(maximum=1.0),
        MaxPooling(window=MAP),
        GlobalMaxPooling(),
        ReduceMean((2, 3)),
        ReduceMean((-2, -1)),
    ],
)
def test_a_pool_over_the_whole_map_takes_in_its_rows_in_parts(operator):
    found = part(operator)
    assert found.operator == PoolPart(operator, 6, 2, 5) and found.reads == ((2, 5),)
    rows = Tensor("x", (1, 4, 3, 5), DType.int8, quantization=per_tensor(0.5, 1))
    (inferred,) = found.operator.infer((rows,))
    assert inferred.dims == (1, 4, 1, 1)
    output = Tensor("y", (1, 4, 1, 1), DType.int8, quantization=per_tensor(0.5, 1))
    assert found.operator.type == f"{operator.type}Part"
    assert found.operator.hands_on == operator.hands_on
    assert found.operator.rounds((rows,), (output,)) == operator.rounds((rows,), (output,))
    with pytest.raises(AidgeError, match="has 3 rows, wants 2"):
        PoolPart(operator, 6, 2, 4).infer((rows,))


def test_the_first_and_the_last_part_know_it():
    flags = [(one.is_first, one.is_last) for one in (PoolPart(rows=6, first=first, last=first + 2) for first in (0, 2, 4))]
    assert flags == [(True, False), (False, False), (False, True)]


@pytest.mark.parametrize(
    "operator, fields",
    [
        (AvgPooling(window=Window((5, 5), (1, 1), (1, 1), (0, 0), (0, 0))), {}),
        (AvgPooling(window=Window((6, 4), (1, 1), (1, 1), (0, 0), (0, 0))), {}),
        (AvgPooling(window=Window((6, 5), (1, 1), (1, 1), (1, 0), (0, 0))), {}),
        (GlobalAveragePooling(), {"batch": 2}),
        (MaxPoolingIndices(window=MAP), {}),
        (LpPooling(window=MAP), {}),
        (ReduceMean((1, 2, 3)), {}),
        (ReduceMean((2,)), {}),
        (ReduceMean((2, 3), keep=False), {}),
    ],
)
def test_other_pools_have_no_parts(operator, fields):
    assert part(operator, **fields) is None


def test_a_part_means_nothing_by_itself():
    with pytest.raises(AidgeError, match="cannot be computed by itself"):
        part(GlobalAveragePooling()).operator.forward(None)
