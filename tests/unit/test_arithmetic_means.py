# SPDX-License-Identifier: MIT
"""Means of int8 values: float32 in three orders of summation, and the integer sums that decide them where the order cannot."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.graph.quantization import per_tensor
from aidge_build.operators.arithmetic.means import (
    FACTOR,
    IntegerMean,
    Order,
    added_up,
    every_sum_decides,
    integer_mean,
    mean_line,
)

F = numpy.float32


def one_by_one(rows: numpy.ndarray, order: Order) -> numpy.float32:
    """The definition, addition by addition."""

    def chain(values):
        total = F(0)
        for value in values:
            total = F(total + value)
        return total

    if order is Order.COLUMNS:
        return chain([chain(column) for column in rows.T])
    values = rows.reshape(-1)
    if order is Order.TURN:
        return chain(values)
    whole = len(values) // 4 * 4
    a, b, c, d = (chain(values[lane:whole:4]) for lane in range(4))
    total = F(F(a + c) + F(b + d))
    for value in values[whole:]:
        total = F(total + value)
    return total


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("rows, columns", [(1, 1), (1, 3), (3, 1), (2, 2), (5, 7), (8, 8), (3, 34)])
def test_values_are_added_in_this_order_and_each_sum_is_rounded(order, rows, columns):
    values = numpy.random.default_rng(rows * columns).normal(size=(6, rows, columns)).astype(F)
    found = added_up(values, order)
    assert found.dtype == F and found.tolist() == [one_by_one(one, order) for one in values]


def test_the_orders_differ():
    values = numpy.random.default_rng(0).normal(size=(200, 8, 8)).astype(F)
    sums = {order: added_up(values, order) for order in Order}
    assert all((sums[one] != sums[other]).mean() > 0.3 for one in Order for other in Order if one is not other)


@pytest.mark.parametrize("scales", [(0.1, 0.1), (0.05, 0.1), (0.0235294, 0.0470588), (0.5, 0.25), (0.037, 0.0291), (0.31, 0.077)])
@pytest.mark.parametrize("rows, columns", [(1, 2), (2, 2), (3, 3), (8, 8), (25, 5), (16, 16)])
def test_what_a_sum_decides_is_what_float32_gives_in_any_order(scales, rows, columns):
    random = numpy.random.default_rng(rows)
    data, result, count = per_tensor(scales[0], -17), per_tensor(scales[1], 5), rows * columns
    mean = integer_mean(count, data, result)
    values = random.integers(-128, 128, (4000, rows, columns)) // random.integers(1, 40, (4000, 1, 1)) - data.zero_point
    levels, decided = mean.decided(values.sum(axis=(1, 2)))
    for order in Order:
        sums = added_up(values.astype(F) * data.scale, order)
        assert numpy.array_equal(numpy.rint(sums / F(count) / result.scale)[decided], levels[decided])
    assert decided.mean() > 0.4


def test_means_that_lie_between_two_levels_are_left_to_the_values():
    mean = integer_mean(64, per_tensor(0.1, 0), per_tensor(0.1, 0))
    levels, decided = mean.decided(numpy.array([31, 32, 33, 96, -32, 64]))
    assert decided.tolist() == [True, False, True, False, False, True] and levels[[0, 2, 5]].tolist() == [0, 1, 1]


@pytest.mark.parametrize("count, scales", [(1 << 22, (0.1, 0.1)), (4, (1e-35, 1e-35)), (4, (1e35, 1e35)), (2, (0.1, 0.1 / 16))])
def test_what_32_bits_or_float32_cannot_hold_is_refused(count, scales):
    assert integer_mean(count, *(per_tensor(scale, 0) for scale in scales)) is None


def test_the_multiplier_takes_the_sum_to_the_level():
    mean = integer_mean(10, per_tensor(0.3, 0), per_tensor(0.1, 0))
    assert mean.multiplier * FACTOR / 2**32 == pytest.approx(0.3, rel=1e-6) and 0 < mean.band < 1 << 21


@pytest.mark.parametrize(
    "count, data, zero_point, result, multiplier, band",
    [
        (64, 0.05, -128, 0.05, 8388608, 2801493),
        (64, 0.05, -128, 0.1, 4194304, 1433387),
        (125, 0.0235, 3, 0.0235, 4294967, 2504239),
        (9, 1.0, 0, 0.3, 198841071, 1549075),
        (1, 0.1, 127, 0.1, 536870912, 660349),
    ],
)
def test_the_constants_of_a_mean_are_as_they_were(count, data, zero_point, result, multiplier, band):
    """The band is the sum of the errors that `_most_error` lists: one less may be wrong, one more costs instructions."""
    found = integer_mean(count, per_tensor(data, zero_point), per_tensor(result, 0))
    assert (found.multiplier, found.band) == (multiplier, band)


def test_every_sum_of_an_odd_count_decides_and_halves_of_an_even_count_do_not():
    same = per_tensor(0.1, 3)
    odd, even = integer_mean(25, same, same), integer_mean(64, same, same)
    assert every_sum_decides(odd, -25 * 131, 25 * 124)
    assert every_sum_decides(even, 1, 31) and every_sum_decides(even, 33, 95)
    assert not every_sum_decides(even, 1, 32) and not every_sum_decides(even, 32, 95)


@pytest.mark.parametrize("zero_points", [(0, 0), (-128, 127), (127, -128), (-17, 5)])
@pytest.mark.parametrize(
    "count, scales", [(4, (0.1, 0.1)), (9, (0.037, 0.0291)), (9, (0.05, 0.1)), (255, (0.31, 0.077)), (1, (0.1, 0.3))]
)
def test_a_line_gives_the_level_of_every_sum_that_it_is_sure_of(count, scales, zero_points):
    data, result = (per_tensor(scale, point) for scale, point in zip(scales, zero_points))
    mean = integer_mean(count, data, result)
    low, high = count * (-128 - data.zero_point), count * (127 - data.zero_point)
    bits, line = next((bits, line) for bits in range(22, 11, -1) if (line := mean_line(mean, bits, result.zero_point, low, high)))
    assert line.multiplier < 1 << 15
    sums = numpy.arange(low, high + 1)
    products = sums * line.multiplier + line.start
    assert -(1 << 31) <= products.min() and products.max() < 1 << 31
    sure = products & ((1 << bits) - 1) > line.unsure
    levels, decided = mean.decided(sums)
    assert decided[sure].all() and (products >> bits == levels + result.zero_point)[sure].all()
    undecided = (~decided).mean()
    assert undecided <= (~sure).mean() < undecided + 0.05  # it is seldom unsure of what the sum decides


def test_there_is_no_line_where_a_number_leaves_its_type():
    mean = integer_mean(4, per_tensor(0.1, 0), per_tensor(0.1, 0))  # one quarter of a level
    assert mean_line(mean, 16, 0, -512, 508).multiplier == 1 << 14
    assert mean_line(mean, 17, 0, -512, 508) is None  # the multiplier is 2^15
    assert mean_line(mean, 12, 0, -(1 << 21) + 4096, 0) is not None
    assert mean_line(mean, 12, -128, -(1 << 21), 0) is None  # below int32
    assert mean_line(mean, 12, 127, 0, 1 << 21) is None
    one = integer_mean(1, per_tensor(0.1, 0), per_tensor(0.1, 0))
    assert mean_line(one, 14, 0, -128, 127).multiplier == 1 << 14
    assert mean_line(one, 15, 0, -128, 127) is None


def test_a_line_leaves_a_band_for_what_its_multiplier_loses_and_for_what_float32_may_turn():
    line = mean_line(IntegerMean(1 << 20, 5), 12, 3, 0, 1000)  # FACTOR * 2^20 / 2^20: a multiplier of 8 without a rest
    assert (line.multiplier, line.start, line.unsure) == (8, (3 << 12) + (1 << 11) + 1, 2)
    rest = (1 << 17) - 1  # of the product; half of what a multiplier rounds
    rounded = mean_line(IntegerMean((1 << 20) + (rest >> 3), 0), 12, 0, -1000, 10)
    error = 1000 * (FACTOR * (rest >> 3)) >> 20
    assert (rounded.multiplier, rounded.unsure) == (8, 2 * (error + 1))
    assert mean_line(IntegerMean((1 << 20) + (1 << 16), 0), 12, 0, 0, 10).multiplier == 9  # half of a step is rounded up
    assert mean_line(IntegerMean(1 << 20, (2047 << 20) - 1), 12, 0, 0, 10).unsure == 4094
    assert mean_line(IntegerMean(1 << 20, 2047 << 20), 12, 0, 0, 10) is None  # unsure of everything
