# SPDX-License-Identifier: MIT
"""float32 operations in numpy as cores take them, and how exact the functions of kernels are by them."""

from __future__ import annotations

from fractions import Fraction

import numpy
import pytest

from aidge_build.contract.kernel_kit import float_functions as functions
from aidge_build.contract.kernel_kit.curves import ElementCurve
from aidge_build.contract.kernel_kit.float_layers import FloatCurve, Products, SoftmaxRows
from aidge_build.contract.kernel_kit.float_steps import FPU, PORTABLE, VECTORS, fused
from aidge_build.operators.activation import Sigmoid, Tanh
from aidge_build.operators.smooth import Gelu, Swish
from aidge_build.operators.unary import Erf, Exp

RECIPROCAL = 0x7EF311C3  # of helium's curves
RANDOM = numpy.random.Generator(numpy.random.PCG64(34))
PATTERNS = RANDOM.integers(0x30000000, 0x42B00000, 20000).astype(numpy.uint32)  # up to 88
SAMPLE = numpy.concatenate([PATTERNS.view(numpy.float32), -PATTERNS.view(numpy.float32)])
CENTRE = SAMPLE[numpy.abs(SAMPLE) < 12]


def nearest(real: Fraction) -> numpy.float32:
    """The float32 next to a real number of normal size; ties go to the even one."""
    first = numpy.float32(float(real))
    near = [first, numpy.nextafter(first, numpy.float32(-numpy.inf)), numpy.nextafter(first, numpy.float32(numpy.inf))]
    return min(near, key=lambda one: (abs(Fraction(float(one)) - real), int(one.view(numpy.int32)) & 1))


def test_a_fused_operation_rounds_the_real_number_once():
    a, b = ((1 + RANDOM.integers(0, 1 << 12, 400) / 4096.0).astype(numpy.float32) for _ in range(2))
    tiny = numpy.float32(2.0) ** RANDOM.integers(-60, -20, 400).astype(numpy.float32)
    for c in (tiny, -tiny, -(a * b)):  # near the middle of two floats, and where nearly all cancels
        wanted = [nearest(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))) for x, y, z in zip(a, b, c)]
        assert fused(a, b, c).tolist() == [float(one) for one in wanted]
    assert (a * b + tiny != fused(a, b, tiny)).any(), "two roundings give others"


def last_places(got: numpy.ndarray, wanted: numpy.ndarray, least: float = 0.0) -> float:
    """The largest error in units of the last place of the real result, or of `least` where that is larger."""
    _, exponent = numpy.frexp(numpy.maximum(numpy.abs(wanted), max(least, 1.2e-38)))
    return float((numpy.abs(got - wanted) * 2.0 ** (24 - exponent)).max())


@pytest.mark.parametrize("unit", [PORTABLE, FPU], ids=["portable", "fpu"])
@pytest.mark.parametrize("operator", [Exp(), Tanh(), Erf(), Sigmoid()], ids=lambda one: one.type)
def test_functions_of_portable_kernels_are_right_to_two_units_of_the_last_place(operator, unit):
    steps = functions.FunctionSteps.of(unit, operator)
    with numpy.errstate(over="ignore"):  # e^2x, where tanh is 1
        (found,) = steps.forward(SAMPLE)
    assert last_places(found, operator.forward(SAMPLE.astype(numpy.float64))) <= 2


@pytest.mark.parametrize("function", [functions.exponential_of_shifted, functions.exponential_of_rounded])
def test_exponentials_of_softmax_are_right_to_two_units_of_the_last_place(function):
    below = -numpy.abs(SAMPLE[numpy.abs(SAMPLE) < 87])
    assert last_places(function(FPU, below), numpy.exp(below.astype(numpy.float64))) <= 2


@pytest.mark.parametrize("function", [functions.logistic_of_shifted, functions.logistic_of_rounded])
def test_the_logistic_function_of_cores_with_an_fpu_is_right_to_two_units_of_the_last_place(function):
    x = SAMPLE[numpy.abs(SAMPLE) < 86]
    assert last_places(function(FPU, x), Sigmoid().forward(x.astype(numpy.float64))) <= 2


@pytest.mark.parametrize("reciprocal", [0, RECIPROCAL], ids=["quotients", "reciprocals"])
def test_curves_are_as_exact_as_the_page_on_arithmetic_says(reciprocal):
    x = CENTRE.astype(numpy.float64)
    for operator in (Tanh(), Erf()):
        found = FloatCurve(VECTORS if reciprocal else FPU, ElementCurve.of(operator), reciprocal).forward(CENTRE)[0]
        assert last_places(found, operator.forward(x)) <= 6
    for operator in (Gelu(), Gelu(with_tanh=True), Swish()):
        found = FloatCurve(VECTORS if reciprocal else FPU, ElementCurve.of(operator), reciprocal).forward(CENTRE)[0]
        assert (numpy.abs(found - operator.forward(x)) <= 2.0**-22 * numpy.abs(x)).all()


def test_lanes_are_added_in_pairs_and_rows_of_several_axes_are_one_row():
    first, second = RANDOM.normal(size=(2, 3, 7)).astype(numpy.float32), RANDOM.normal(size=(7, 5)).astype(numpy.float32)
    (found,) = Products(FPU, lanes=4).forward(first, second)
    lanes = [numpy.zeros((2, 3, 5), numpy.float32) for _ in range(4)]
    for place in range(7):
        lanes[place % 4] = fused(first[..., place, None], second[place], lanes[place % 4])
    assert numpy.array_equal(found, (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]))
    data = RANDOM.normal(size=(2, 3, 4)).astype(numpy.float32)
    (rows,) = SoftmaxRows(FPU, (1, 3), functions.exponential).forward(data)
    assert numpy.allclose(rows.sum((1, 2)), 1, atol=1e-6)
