# SPDX-License-Identifier: MIT
"""float32 products of activations, softmax, curves and quotients of `helium` against their numpy meaning."""

from __future__ import annotations

import itertools
import math
import os

import numpy
import pytest
from cortexm_harness import accepted
from helium_harness import case, needs_emulator, run
from random_tensors import Randomness
from stored_products import products_with_bytes, rows_as_bytes, seen_products, stored_products

from aidge_build.contract.kernel_kit.curves import ElementCurve
from aidge_build.graph.tensor import constant
from aidge_build.operators.activation import PReLU, Sigmoid, Tanh
from aidge_build.operators.binary import Div, Max, Min
from aidge_build.operators.matmul import MatMul
from aidge_build.operators.smooth import Gelu, Swish
from aidge_build.operators.softmax import Softmax
from aidge_build.operators.unary import Abs, Erf

STRESS = bool(os.environ.get("AIDGE_STRESS"))
CURVES = (Tanh(), Erf(), Gelu(), Swish(), Swish(-0.7), Gelu(with_tanh=True))
PRODUCTS = (
    ((3, 5), (5, 8)),
    ((1, 1), (1, 1)),
    ((2, 4, 7), (2, 7, 13)),
    ((2, 3, 6, 4), (3, 4, 9)),
    ((4, 16), (3, 16, 3)),
    ((2, 1, 5, 2), (1, 2, 2, 21)),
    ((7, 257), (257, 26)),
    ((1, 6), (6, 150)),
    ((5, 4), (4, 131)),
)
ROWS = ((2, 3, 17), (1, 4), (5, 1), (2, 9, 6), (3, 2, 5, 7), (1, 40))


def _real(random: Randomness, *shapes: tuple[int, ...], scale: float = 1.0):
    tensors = [random.real(*dims, name=f"x{place}") for place, dims in enumerate(shapes)]
    return tensors, [(scale * random.float32(*dims)).astype(numpy.float32) for dims in shapes]


def candidates():
    """Products with batches that repeat and a constant matrix, rows along every axis, each curve, quotients."""
    for seed, shapes in enumerate(PRODUCTS):
        tensors, values = _real(Randomness(seed), *shapes)
        yield case(MatMul(), tensors, values)
    yield case(MatMul(), [tensors[0], constant("m", values[1])], values[:1])
    yield from accepted([*stored_products(case), *products_with_bytes(case), *rows_as_bytes(case), *seen_products(case)])
    for seed, dims in enumerate(ROWS):
        for axis in range(len(dims)):
            yield case(Softmax(axis), *_real(Randomness(seed), dims, scale=9.0))
    yield case(Softmax(1, True), *_real(Randomness(9), ROWS[0]))
    for length in range(1, 10):
        for rows in (1, 3):
            yield case(Softmax(1), *_real(Randomness(length), (rows, length), scale=(1.0, 40.0)[length % 2]))
    for seed, operator in enumerate(CURVES, 1):  # of values far below 0 alone, Gelu and Swish are smaller than the curve's error
        for count in (1, 3, 4, 37):
            yield case(operator, *_real(Randomness(seed), (count,), scale=4.0))
    for seed, scale in enumerate((4.0, 30.0, 1e3)):
        yield case(Sigmoid(), *_real(Randomness(seed), (4 * seed + 3,), scale=scale))
    tensors, _ = _real(Randomness(1), (5,))
    yield case(Sigmoid(), tensors, [numpy.array([-30, -50, -41.5, -86, -33], numpy.float32)])
    yield case(Abs(), *_real(Randomness(3), (6,)))
    for seed, (operator, shapes) in enumerate(
        itertools.product((PReLU(), Max(), Min()), (((2, 5), (2, 5)), ((3, 4, 7), (4, 1))))
    ):
        yield case(operator, *_real(Randomness(seed), *shapes))
    for seed, shapes in enumerate((((2, 5), (2, 5)), ((3, 4, 7), (1,)), ((3, 4, 7), (4, 1)), ((1, 6), (5, 6)))):
        tensors, (first, second) = _real(Randomness(seed), *shapes)
        yield case(Div(), tensors, [first, numpy.float32(1.5) + abs(second)])


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-O0",), ("-Os",)][: 1 + 2 * STRESS], ids=str)
def test_results_are_within_tolerance(flags):
    assert run(list(candidates()), "-Wall", "-Wextra", "-Werror", *flags) == []


@needs_emulator
def test_infinite_values_have_the_results_of_their_limits():
    row = numpy.array([[3.0, -math.inf, 2.0, -200.0, 0.0, -math.inf]], numpy.float32)
    for entry in (case(Softmax(1), *_real(Randomness(1), row.shape)), case(Softmax(0), *_real(Randomness(1), row.T.shape))):
        values = row if entry.view.inputs[0].dims == row.shape else row.T.copy()
        masked = case(entry.view.operator, entry.view.inputs, [values])
        assert run([masked]) == []
    ends = numpy.array([1e30, math.inf, -math.inf, 0.0], numpy.float32)
    curves = [case(operator, _real(Randomness(1), (4,))[0], [ends]) for operator in (Tanh(), Erf(), Sigmoid())]
    assert run(curves) == []


@needs_emulator
def test_what_is_not_a_number_stays_it():
    first = numpy.array([math.nan, 1.0, math.nan, -2.0, 0.5], numpy.float32)
    second = numpy.array([1.0, math.nan, math.nan, 3.0, -0.5], numpy.float32)
    curves = [case(operator, _real(Randomness(1), (5,))[0], [first]) for operator in (*CURVES, Sigmoid())]
    larger = [case(operator, _real(Randomness(1), (5,), (5,))[0], [first, second]) for operator in (Max(), Min())]
    assert run([*curves, *larger]) == []


def test_gelu_is_x_times_a_share_that_is_right_to_22_bits():
    entry = case(Gelu(), *_real(Randomness(1), (4,)))
    x = numpy.concatenate([numpy.linspace(-30, 30, 60001), [1e-30, 0.0]]).astype(numpy.float32)
    (found,) = entry.call.steps.forward(x)
    assert (numpy.abs(found - Gelu().forward(x.astype(float))) <= 2.0**-22 * numpy.abs(x)).all()


@pytest.mark.parametrize("operator", CURVES, ids=str)
def test_curves_are_off_by_less_than_3e_minus_6_of_their_operator(operator):
    x = numpy.linspace(-20, 20, 40001)
    curve = ElementCurve.of(operator)
    terms, numbers = curve.terms, [float(number) for number in curve.numbers]
    inside = numpy.clip(x, -curve.limit, curve.limit)
    square = inside * inside
    under = numpy.polyval([1.0, *numbers[terms : 2 * terms - 1]], square)
    found = numbers[2 * terms - 1] + inside * numpy.polyval(numbers[:terms], square) / under
    wanted = operator.forward(x)
    assert numpy.abs((x if curve.times else 1.0) * found - wanted).max() < 6e-8 * (1 + numpy.abs(x[-1] if curve.times else 1.0))
