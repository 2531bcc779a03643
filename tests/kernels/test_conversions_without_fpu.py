# SPDX-License-Identifier: MIT
"""QuantizeLinear and DequantizeLinear without float arithmetic: equal to their numpy meaning, and taken where that pays."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest
from harness import Case, case, differing, run
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.quantize import DequantizeLinear, QuantizeLinear

COUNT = 3000


def parameters(scale: float, zero_point: int):
    return [constant("scale", numpy.array(scale, numpy.float32)), constant("zero_point", numpy.array(zero_point, numpy.int8))]


def quantize_case(seed: int, count: int = COUNT) -> Case:
    random = Randomness(seed)
    scale = random.choice(0.05, 0.0517, 1.0, 3.3e-5, 1e30, 2e-38)
    ends = numpy.float32([numpy.inf, -numpy.inf, numpy.nan, -numpy.nan, 0.0, -0.0, 1e-45, -1e-45, 3.4e38])
    near = numpy.float32(scale) * numpy.float32(random.numbers.integers(-600, 600, count) / 2)
    values = numpy.concatenate([ends, near, numpy.float32(scale * 100) * random.float32(count)])[:count]
    values = numpy.where(random.numbers.random(len(values)) < 0.5, numpy.nextafter(values, numpy.float32(0)), values)
    given = parameters(scale, random.choice(-128, -3, 0, 127))
    return case(QuantizeLinear(0, DType.int8), [Tensor("x", values.shape, DType.float32), *given], [values])


def dequantize_case(seed: int, count: int = COUNT) -> Case:
    random = Randomness(seed)
    data = Tensor("x", (count,), DType.int8)
    given = parameters(random.choice(0.05, 1e-40, 1e36), random.choice(-128, -3, 127))
    return case(DequantizeLinear(0), [data, *given], [random.int8(count)])


def built_for(entry: Case, **changes) -> str:
    """The function that is taken."""
    return Case(replace(entry.view, **changes), entry.values).call.function


def test_both_are_exact():
    cases = [made(seed) for seed in range(12) for made in (quantize_case, dequantize_case)]
    by = {"aidge_ref_quantize_by_guess", "aidge_ref_quantize_by_keys", "aidge_ref_dequantize_by_table"}
    assert {entry.call.function for entry in cases} == by
    for flags in (("-O0",), ("-O2",)):
        assert differing(cases, run(cases, *flags)) == []


@pytest.mark.parametrize("made", [quantize_case, dequantize_case])
def test_a_table_is_taken_for_many_values_on_every_core_and_not_for_the_least_flash(made):
    float_function = "aidge_ref_quantize_float32_int8" if made is quantize_case else "aidge_ref_dequantize_int8_float32"
    assert "_by_" in built_for(made(0, 64)) and built_for(made(0, 63)) == float_function
    assert built_for(made(0), objective="size") == float_function
    assert "_by_" in built_for(made(0), features=frozenset({"fpu"}))
