# SPDX-License-Identifier: MIT
"""The integer forms of the requantization against float32 arithmetic of numpy."""

from __future__ import annotations

import ctypes
import subprocess

import numpy
import pytest
from harness import files_of

from aidge_build.build.emit.kernels import kernel_text
from aidge_build.operators.arithmetic.near_halves import near_factors, near_is_exact

LIMITS = numpy.iinfo(numpy.int32)


@pytest.fixture(scope="module", params=[(), ("-D__ARM_FP=4",)], ids=["integers", "C for an FPU"])
def compiled(request, tmp_path_factory):
    """aidge_kit_scale and aidge_kit_scale_near of this machine (no Arm FPU: the integer form, or that of floats) over arrays."""
    folder = tmp_path_factory.mktemp("requantize")
    parts = kernel_text(files_of("kit"), [("kit", "near.h")])
    text = "\n".join([*(f"#include {name}" for name in parts.system_includes), *(part.text for part in parts.files)])
    text += """
void scale_all(const int32_t *values, const float *multipliers, int32_t *results, int32_t count);
void scale_all(const int32_t *values, const float *multipliers, int32_t *results, int32_t count)
{
    for (int32_t i = 0; i < count; i++) { results[i] = aidge_kit_scale(values[i], multipliers[i]); }
}
void near_all(const int32_t *values, const float *multipliers, const int32_t *factors, int32_t *results, int32_t count);
void near_all(const int32_t *values, const float *multipliers, const int32_t *factors, int32_t *results, int32_t count)
{
    for (int32_t i = 0; i < count; i++) { results[i] = aidge_kit_scale_near(values[i], factors[i], multipliers[i]); }
}
"""
    (folder / "scale.c").write_text(text)
    subprocess.run(["cc", "-O2", *request.param, "-shared", "-fPIC", "-o", folder / "scale.so", folder / "scale.c"], check=True)
    return ctypes.CDLL(str(folder / "scale.so"))


@pytest.fixture(scope="module")
def scale(compiled):
    function = compiled.scale_all

    def run(values, multipliers):
        values, multipliers = numpy.asarray(values, numpy.int32), numpy.asarray(multipliers, numpy.float32)
        values, multipliers = numpy.broadcast_arrays(values, multipliers)
        values, multipliers = numpy.ascontiguousarray(values), numpy.ascontiguousarray(multipliers)
        results = numpy.empty(values.shape, numpy.int32)
        function(*(ctypes.c_void_p(array.ctypes.data) for array in (values, multipliers, results)), values.size)
        return results, expected(values, multipliers)

    return run


def expected(values, multipliers):
    with numpy.errstate(all="ignore"):
        scaled = numpy.rint(values.astype(numpy.float32) * multipliers).astype(numpy.float64)
    return numpy.clip(scaled, LIMITS.min, LIMITS.max).astype(numpy.int32)


def accumulators(random, count):
    """All magnitudes, both signs, and the ends of int32."""
    values = (random.integers(LIMITS.min, LIMITS.max, count, endpoint=True) >> random.integers(0, 31, count)).astype(numpy.int32)
    values[:6] = LIMITS.min, LIMITS.max, 0, 1, -1, LIMITS.min + 1
    return values


def test_two_million_random_pairs_are_equal(scale):
    random = numpy.random.default_rng(0)
    values = accumulators(random, 2_000_000)
    multipliers = numpy.exp2(random.uniform(-40, 4, values.size)).astype(numpy.float32)
    results, wanted = scale(values, multipliers)
    assert numpy.array_equal(results, wanted)


def test_every_positive_float_is_a_multiplier_subnormal_and_huge_ones_too(scale):
    random = numpy.random.default_rng(1)
    values = accumulators(random, 1_000_000)
    multipliers = random.integers(0, 0x7F800000, values.size, dtype=numpy.uint32).view(numpy.float32)
    multipliers[:4] = 0.0, 1e-45, numpy.finfo(numpy.float32).max, numpy.finfo(numpy.float32).tiny
    results, wanted = scale(values, multipliers)
    assert numpy.array_equal(results, wanted)


def test_ties_go_to_even(scale):
    random = numpy.random.default_rng(2)
    for shift in range(1, 31):
        odd = random.integers(-(1 << 23), 1 << 23, 100_000) | 1
        results, wanted = scale((odd << max(0, shift - 8)).clip(LIMITS.min, LIMITS.max), 2.0**-shift)
        assert numpy.array_equal(results, wanted)
    assert scale([1, 3, 5, -1, -3, -5], 0.5)[0].tolist() == [0, 2, 2, 0, -2, -2]


def test_products_beside_a_tie_round_twice_as_float32_does(scale):
    random = numpy.random.default_rng(3)
    multipliers = numpy.exp2(random.uniform(-14, -6, 300_000)).astype(numpy.float32)
    halves = random.integers(-300, 300, multipliers.size) + 0.5
    near = numpy.rint(halves / multipliers.astype(numpy.float64)).astype(numpy.int32)
    for step in (-1, 0, 1):
        results, wanted = scale(near + step, multipliers)
        assert numpy.array_equal(results, wanted)


def test_the_long_product_gives_the_same_where_its_error_is_proved_small(compiled):
    random = numpy.random.default_rng(3)
    multipliers = numpy.exp(random.uniform(-20, numpy.log(0.49), 300_000)).astype(numpy.float32)
    multipliers[::7] = 2.0 ** -random.integers(2, 16, len(multipliers[::7]))
    halves = numpy.rint((random.integers(-300, 300, len(multipliers)) + 0.5) / multipliers).clip(-(1 << 31), (1 << 31) - 1)
    values = numpy.where(random.random(len(multipliers)) < 0.5, halves, accumulators(random, len(multipliers))).astype(
        numpy.int32
    )
    proved = near_is_exact(multipliers, numpy.abs(values.astype(numpy.int64)))
    factors, got = near_factors(multipliers).astype(numpy.int32), numpy.empty_like(values)
    compiled.near_all(*(ctypes.c_void_p(array.ctypes.data) for array in (values, multipliers, factors, got)), values.size)
    assert proved.mean() > 0.7
    assert numpy.array_equal(got.clip(-383, 383)[proved], expected(values, multipliers).clip(-383, 383)[proved])
