# SPDX-License-Identifier: MIT
"""Products of two int8 matrices of `ref` against their numpy meaning, bit for bit, and that meaning against plain integers."""

from __future__ import annotations

import dataclasses

import harness
import numpy
import pytest
from product_cases import product, products

from aidge_build.graph.dtype import DType


def test_products_of_two_matrices_equal_the_meaning():
    cases = list(products(harness.case))
    assert harness.differing(cases, harness.run(cases)) == []


def test_a_product_of_quantized_matrices_is_an_integer_sum_that_is_rounded_once():
    entry = product(harness.case, 3, (2, 4, 9), (2, 9, 5), points=(-128, 127))
    (first, second), (output,) = entry.view.inputs, entry.view.outputs
    sums = numpy.einsum(
        "bik,bkj->bij", entry.values[0].astype(int) - first.quantization.zero_point, entry.values[1].astype(int) - 127
    )
    multiplier = numpy.float32(numpy.float32(first.quantization.scale * second.quantization.scale) / output.quantization.scale)
    levels = numpy.rint(sums.astype(numpy.float32) * multiplier) + output.quantization.zero_point
    assert numpy.array_equal(entry.expected[0], numpy.clip(levels, -128, 127).astype(numpy.int8))


def test_the_largest_sums_stay_within_int32():
    inner = (1 << 15) - 1
    entry = product(harness.case, 1, (1, inner), (inner, 4), points=(-128, 127))
    extreme = harness.Case(entry.view, (numpy.full((1, inner), 127, numpy.int8), numpy.full((inner, 4), -128, numpy.int8)))
    assert harness.differing([extreme], harness.run([extreme])) == []


@pytest.mark.parametrize(
    "dims, dtype, reason",
    [
        (((1, 1 << 15), (1 << 15, 1)), DType.int8, "could leave int32"),
        (((1, 4), (4, 1)), DType.int16, "input 0 is int16"),
        (((1, 1, 1, 1, 1, 2, 4), (4, 3)), DType.int8, "rank 7"),
    ],
)
def test_other_products_are_refused_with_a_reason(dims, dtype, reason):
    view = product(harness.case, 0, *dims).view
    view = dataclasses.replace(view, inputs=tuple(tensor.with_(dtype=dtype) for tensor in view.inputs))
    (kernel,) = [kernel for kernel in harness.library().kernels_for("MatMul", ()) if kernel.name.endswith("matmul_int8")]
    assert reason in kernel.spec.rejection(view, frozenset(), "onnx")


def test_a_core_with_an_fpu_rounds_in_float_and_gives_the_same():
    class CaseWithFpu(harness.Case):
        features = frozenset({"fpu"})

    cases = list(products(harness.case))
    with_fpu = [CaseWithFpu(entry.view, entry.values) for entry in cases]
    assert {entry.call.function for entry in with_fpu} == {"aidge_ref_matmul_int8"}
    assert sum(entry.call.function == "aidge_ref_matmul_int8_near" for entry in cases) > 30
    assert harness.differing(with_fpu, harness.run(with_fpu)) == []
