# SPDX-License-Identifier: MIT
"""The keys of QuantizeLinear: each is the first number of its step, for every kind of float."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.arithmetic.float_thresholds import number_of, quantize_keys
from aidge_build.arithmetic.requantize import quantize
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import per_tensor

F = numpy.float32
ENDS = F([-numpy.inf, -3.4e38, -1e-45, -0.0, 0.0, 1e-45, 1.2e-38, 3.4e38, numpy.inf])
CASES = [(0.1, 0), (0.0517, -128), (1.0, 127), (3.1e-5, 5), (1e-45, 0), (3e38, -3), (1e38, -128), (2.0**-126, 100)]


def keys_of(numbers: numpy.ndarray) -> numpy.ndarray:
    patterns = numbers.view(numpy.int32).astype(numpy.int64)
    return numpy.where(patterns < 0, patterns ^ 0x7FFFFFFF, patterns)


def test_keys_are_in_the_order_of_their_numbers():
    assert (numpy.diff(keys_of(ENDS)) > 0).all()
    assert (number_of(keys_of(ENDS)).view(numpy.int32) == ENDS.view(numpy.int32)).all()


@pytest.mark.parametrize("dtype", [DType.int8, DType.uint8])
@pytest.mark.parametrize("scale, zero_point", CASES)
def test_the_steps_that_a_number_has_reached_are_its_stored_value(scale, zero_point, dtype):
    quantization = per_tensor(scale, zero_point - dtype.range[0] + DType.int8.range[0])
    keys = quantize_keys(quantization, dtype)
    assert keys.dtype == numpy.int32 and len(keys) == 255 and (numpy.diff(keys.astype(numpy.int64)) >= 0).all()
    around = keys.astype(numpy.int64)
    tried = [number_of(numpy.clip(around + step, *keys_of(ENDS[[0, -1]]))) for step in (-1, 0, 1)]
    random = numpy.random.default_rng(3).integers(-(1 << 31), 1 << 31, 2000).astype(numpy.int32).view(F)
    with numpy.errstate(over="ignore"):
        numbers = numpy.concatenate([*tried, ENDS, random[~numpy.isnan(random)], F(scale) * F(numpy.arange(-300, 300) / 2)])
        wanted = quantize(numbers, quantization, dtype)
    reached = (keys_of(numbers)[:, None] >= keys).sum(axis=1) + dtype.range[0]
    assert (reached == wanted).all()
