# SPDX-License-Identifier: MIT
"""The keys of QuantizeLinear: each is the first number of its step, for every kind of float; guesses of how many are reached."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import per_tensor
from aidge_build.operators.arithmetic.float_thresholds import KeyGuess, key_guess, number_of, quantize_keys
from aidge_build.operators.arithmetic.requantize import quantize

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


ORDINARY = [0.1, 0.0517, 1.0, 1 / 128, 3.1e-5, 1e30, 255 / 256, 257 / 256, 2.0**-117, 2.0**120]


def samples(found: KeyGuess, keys: numpy.ndarray) -> numpy.ndarray:
    """Keys for which a guess holds: at every step, in front of it, at the ends, and anywhere."""
    ends = numpy.array([found.first >> 1, (found.first + found.span >> 1) - 1], numpy.int64)
    anywhere = numpy.random.default_rng(5).integers(ends[0], ends[1] + 1, 4000)
    steps = keys.astype(numpy.int64)
    all_of_them = numpy.concatenate([steps, steps - 1, ends, -1 - ends, anywhere, -1 - anywhere])
    sizes = numpy.where(all_of_them < 0, -1 - all_of_them, all_of_them)
    return all_of_them[(sizes >= ends[0]) & (sizes <= ends[1])]


@pytest.mark.parametrize("zero_point", [-128, 5, 127])
@pytest.mark.parametrize("scale", ORDINARY)
def test_a_guess_misses_one_step_at_most_and_none_outside_of_its_numbers(scale, zero_point):
    keys = quantize_keys(per_tensor(scale, zero_point), DType.int8)
    found = key_guess(per_tensor(scale, zero_point), keys)
    tried = samples(found, keys)
    missing = numpy.searchsorted(keys, tried, "right") - found.steps(tried)
    assert len(tried) > 8000 and set(missing.tolist()) == {0, 1}
    least, beyond = found.first >> 1, found.first + found.span >> 1
    outside = numpy.array([0, least - 1, -1, -least, beyond, 0x7F800000, -1 - beyond, -1 - 0x7F800000])
    assert numpy.searchsorted(keys, outside, "right").tolist() == [*[found.zero] * 4, 255, 255, 0, 0]


def test_the_products_of_a_guess_fit_32_bits():
    for scale in ORDINARY:
        found = key_guess(per_tensor(scale, 0), quantize_keys(per_tensor(scale, 0), DType.int8))
        assert found.multiplier * ((1 << 17) - 1) + found.start < 1 << 31 and found.multiplier >= 1 << 13


@pytest.mark.parametrize("scale", [1e-45, 2.0**-126, 2.0**-118, 2.0**121, 1e38, 3e38])
def test_there_is_no_guess_where_the_numbers_leave_the_normal_ones(scale):
    assert key_guess(per_tensor(scale, 0), quantize_keys(per_tensor(scale, 0), DType.int8)) is None


def test_a_guess_that_does_not_hold_is_none():
    quantization = per_tensor(0.1, 0)
    keys = quantize_keys(quantization, DType.int8)
    assert key_guess(quantization, keys) is not None
    assert key_guess(replace(quantization, zero_points=(1,)), keys) is None
    assert key_guess(per_tensor(0.11, 0), keys) is None
    for place in (2, 40, 220, 254):
        moved = keys.astype(numpy.int64)
        moved[place] -= 1 << 17
        assert key_guess(quantization, numpy.sort(moved)) is None
    later = keys.astype(numpy.int64)
    later[220] += 100_000
    assert key_guess(quantization, later) is None


def test_a_guess_knows_of_no_steps_beyond_its_numbers():
    quantization = per_tensor(0.1, 3)
    keys = quantize_keys(quantization, DType.int8).astype(numpy.int64)
    found = key_guess(quantization, keys)
    smallest, limit = found.first >> 1, found.first + found.span >> 1
    for place, inside, beyond in (
        (found.zero, smallest, smallest - 1),
        (found.zero - 1, -smallest, 1 - smallest),
        (254, limit, limit + 1),
        (0, -limit, -1 - limit),
    ):
        for key, is_known in ((inside, True), (beyond, False)):
            moved = keys.copy()
            moved[place] = key
            assert (key_guess(quantization, moved) is not None) == is_known, (place, key)
