# SPDX-License-Identifier: MIT
"""Rows that are written into a cache, and rows of a softmax that are NaN: in place, and into a copy."""

from __future__ import annotations

import numpy
import pytest
from harness import case, differing, run
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.format import channels_last
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.cache import TensorScatter
from aidge_build.operators.softmax import ZeroedRows


def cases(dtype: DType):
    random = Randomness(44)
    for dims, axis, count, first, mode in (
        ((1, 2, 7, 3), 2, 1, [4], "linear"),
        ((1, 2, 7, 3), 2, 1, [9], "linear"),
        ((1, 2, 7, 3), -2, 2, [-3], "linear"),
        ((1, 2, 7, 3), 2, 2, [6], "linear"),
        ((2, 5, 3), 1, 2, [4, 1], "circular"),
        ((2, 5, 3), 1, 5, [-2, 7], "circular"),
        ((2, 5, 3), 2, 1, [1, 0], "linear"),
        ((1, 4, 2), 1, 3, None, "linear"),
    ):
        rows = tuple(count if place == axis % len(dims) else size for place, size in enumerate(dims))
        for order in (None, channels_last(len(dims))):
            tensors = [Tensor("x", dims, dtype, format=order), Tensor("u", rows, dtype, format=order)]
            values = [random.numbers.integers(-100, 100, size).astype(dtype.numpy) for size in (dims, rows)]
            if first is not None:
                index = DType.int32 if order else DType.int64
                tensors.append(Tensor("i", (dims[0],), index))
                values.append(numpy.array(first, index.numpy))
            yield case(TensorScatter(axis, mode), tensors, values, format=order)


def zeroed_rows():
    """One row of NaN in each tensor."""
    for dims, axis in (((3, 4), 1), ((3, 4), 0), ((1, 2, 3, 5), 3), ((1, 2, 3, 5), 2), ((6,), 0)):
        values = Randomness(45).float32(*dims)
        numpy.moveaxis(values, axis, 0)[(slice(None), *(0,) * (len(dims) - 1))] = numpy.nan
        yield case(ZeroedRows(axis), [Tensor("x", dims, DType.float32)], [values.astype(numpy.float32)])


@pytest.mark.parametrize("where", [{}, {"overwritten": 0}], ids=["a copy", "in place"])
def test_rows_of_nan_become_zeros(where):
    made = list(zeroed_rows())
    assert differing(made, run(made, **where)) == []


@pytest.mark.parametrize("dtype", [DType.int8, DType.float32])
@pytest.mark.parametrize("where", [{}, {"overwritten": 0}], ids=["a copy", "in place"])
def test_rows_are_written_from_the_index_on(dtype, where):
    made = list(cases(dtype))
    assert differing(made, run(made, **where)) == []
