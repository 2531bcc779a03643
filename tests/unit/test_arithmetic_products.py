# SPDX-License-Identifier: MIT
"""Products of two int8 values as a staircase: what follows from it is the meaning, and a line passes between its steps."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.graph.quantization import per_tensor
from aidge_build.operators.arithmetic.affine import FIRST, SECOND
from aidge_build.operators.arithmetic.narrow_products import narrow_form
from aidge_build.operators.arithmetic.products import product_staircase, products_of
from aidge_build.operators.arithmetic.thresholds import LEVELS

POINTS = [(0, 0, 0), (-128, -5, -128), (127, -128, 17), (3, -128, -100)]


def ratio_of(first, second, result) -> float:
    return float(first.scale) * float(second.scale) / float(result.scale)


def meaning(first, second, result) -> numpy.ndarray:
    """The real number, rounded half to even."""
    real = products_of(first, second) * ratio_of(first, second, result)
    return numpy.clip(numpy.rint(real).astype(numpy.int64) + result.zero_point, -128, 127)


def drawn(seed: int, points: tuple[int, int, int]):
    random = numpy.random.default_rng(seed)
    scales = numpy.exp(random.uniform(-5, -2, 3)).astype(numpy.float32).tolist()
    return [per_tensor(scale, point) for scale, point in zip(scales, points)]


def test_products_are_those_of_values_without_their_zero_points():
    found = products_of(per_tensor(0.1, -3), per_tensor(0.2, 5))
    assert numpy.array_equal(found, (FIRST + 3) * (SECOND - 5)) and found[0, 255] == -125 * 122


@pytest.mark.parametrize("points", POINTS)
def test_the_steps_tell_the_stored_value_of_every_pair(points):
    for seed in range(4):
        quantizations = drawn(seed, points)
        wanted = meaning(*quantizations)
        stairs = product_staircase(*quantizations, wanted)
        products = products_of(*quantizations[:2])
        assert (stairs.low, stairs.high) == (products.min(), products.max())
        levels = (products[..., None] >= stairs.steps[0]).sum(axis=2) - 128
        assert numpy.array_equal(levels, wanted)
        assert (stairs.steps >= stairs.low).all() and (stairs.steps <= stairs.high + 1).all()


@pytest.mark.parametrize("points", POINTS)
def test_a_line_passes_between_the_steps(points):
    for seed in range(8):
        quantizations = drawn(seed, points)
        wanted = meaning(*quantizations)
        stairs = product_staircase(*quantizations, wanted)
        ratio = ratio_of(*quantizations)
        inside = (stairs.steps[0] > stairs.low) & (stairs.steps[0] <= stairs.high)
        real = (LEVELS - quantizations[2].zero_point - 0.5) / ratio
        assert (abs(stairs.steps[0] - real)[inside] <= 1).all() and abs(stairs.slopes[0] / ratio - 1) < 1e-12
        form = narrow_form(stairs, (-128, 127))
        assert form.proved[0] and not form.corrections[0]
        assert numpy.array_equal(form.apply(0, products_of(*quantizations[:2])), wanted)


def test_products_in_the_middle_of_two_levels_go_to_the_even_one():
    quantizations = [per_tensor(scale, 0) for scale in (0.5, 1.0, 1.0)]
    stairs = product_staircase(*quantizations, meaning(*quantizations))
    assert stairs.steps[0, 127:131].tolist() == [-1, 2, 3, 6]  # of the levels 0 to 3


def test_where_the_product_does_not_decide_there_are_no_steps():
    quantizations = drawn(0, (0, 0, 0))
    wanted = meaning(*quantizations)
    (pair,) = numpy.argwhere((FIRST == 6) & (SECOND == 4))
    wanted[tuple(pair)] += 1  # 4 * 6 gives less
    assert product_staircase(*quantizations, wanted) is None


def test_where_a_larger_product_gives_less_there_are_no_steps():
    quantizations = drawn(0, (0, 0, 0))
    assert product_staircase(*quantizations, -meaning(*quantizations)) is None
