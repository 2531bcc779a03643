# SPDX-License-Identifier: MIT
"""Fully connected layers, sums, products, functions and pools of `helium` against their numpy meaning, bit for bit: the
assembly on the emulated Cortex-M55, and the plain C beside it on this machine."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import replace

import numpy
import pytest
from binary_cases import binaries, binary
from cortexm_harness import accepted
from harness import of_each_form, under
from helium_harness import FEATURES, RANDOM_CASES, case, finer, library, needs_emulator, overlapping, run, with_offsets
from pool_cases import CLAMPS, edge_pools, random_pool
from random_tensors import Randomness
from staircase_cases import EVEN, real_tables, staircases
from test_overlaps import promised_lead, sharing

from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import constant
from aidge_build.operators.activation import HardSwish, LeakyReLU, Sigmoid, Tanh
from aidge_build.operators.binary import Add, Mul, Sub
from aidge_build.operators.matmul import FC

# Few values that repeat often and many that do not; one value for each row or image; axes between those that repeat
REPEATING = (
    ((1, 3, 20, 30), (1, 3, 1, 1)),
    ((1, 1, 9, 1), (1, 70, 9, 1)),
    ((2, 5, 13, 11), (2, 1, 1, 1)),
    ((2, 300, 2, 3), (1, 300, 1, 1)),
    ((2, 2, 9, 5), (1, 2, 1, 5)),
    ((1, 1, 17, 4), (1, 9, 17, 4)),
    ((1, 1, 1, 1), (1, 2, 7, 19)),
)


def fully_connected(seed, batch, features, outputs):
    random = Randomness(seed)
    low, high = random.choice(*CLAMPS)
    data, weights = random.data(batch, features), random.weights(outputs, features)
    return case(
        FC(minimum=low, maximum=high),
        [data, weights, random.bias(outputs)],
        [random.int8(*data.dims)],
        quantization=random.quantization(0.05 * 0.01 * 50 * math.sqrt(features)),
    )


def one_factor(entry, step=0.0):
    """The case with one scale of all weights, or (`step`) with others."""
    data, weights, bias = entry.view.inputs
    first, count = float(weights.quantization.scales[0]), len(weights.data)
    scales = Quantization(tuple(first * (1 + step * output) for output in range(count)), (0,) * count, 0)
    weights = constant("w", weights.data, scales)
    return case(entry.view.operator, [data, weights, bias], entry.values[:1], quantization=entry.view.outputs[0].quantization)


def extreme_fully_connected(scales):
    random, outputs = Randomness(9), len(scales)
    data = random.data(1, 40).with_(quantization=per_tensor(0.5, 127))
    weights = constant("w", numpy.full((outputs, 40), -128, numpy.int8), Quantization(scales, (0,) * outputs, 0))
    return case(
        FC(), [data, weights, random.bias(outputs)], [numpy.full((1, 40), -128, numpy.int8)], quantization=per_tensor(0.5, -3)
    )


def function(seed, *dims):
    random = Randomness(seed)
    data = random.data(*dims)
    operator = random.choice(Sigmoid(), Tanh(), HardSwish(), LeakyReLU(alpha=0.1))
    return case(operator, [data], [random.int8(*dims)], quantization=random.quantization(0.02))


@functools.cache
def candidates():
    shapes = [
        (1, 1, 1),
        (1, 7, 4),
        (3, 64, 10),
        (1, 640, 24),
        (2, 5, 3),
        (1, 33, 17),
        (1, 16, 8),
        (1, 200, 9),
        (1, 256, 2),
        (1, 785, 16),
        (1, 785, 13),
    ]
    cases = [fully_connected(seed, *shape) for seed, shape in enumerate(shapes)]
    cases += [one_factor(fully_connected(seed, *shape)) for seed, shape in enumerate(shapes)]
    cases += [finer(fully_connected(seed, *shape), seed) for seed, shape in enumerate(shapes[::3])]
    cases += [extreme_fully_connected((1e-30, 1e30, 2.0**-14)), extreme_fully_connected((1e-38,) + (2.0**-10,) * 8)]
    cases += binaries(case, 60) + [
        function(seed, *dims) for seed, dims in enumerate(((1, 1), (1, 5), (1, 16), (2, 5, 3, 7), (1, 64, 9)))
    ]
    cases += [binary(case, seed, (Add, Mul, Sub)[seed % 3], *dims) for seed, dims in enumerate(REPEATING * 3)]
    cases += [overlapping(entry) for entry in binaries(case, 60) if entry.view.operator.type != "Mul"]
    cases += edge_pools(case)
    for seed in range(3000, 3000 + RANDOM_CASES):
        random = Randomness(seed)
        cases += [
            fully_connected(seed, random.choice(1, 1, 3), random.integer(1, 300), random.integer(1, 40)),
            random_pool(case, seed),
        ]
    cases += [with_offsets(fully_connected(seed, *shape), seed) for seed, shape in enumerate(shapes[1::3])]
    cases += staircases(case)
    cases += real_tables(case)
    return cases


@pytest.mark.parametrize("features", [64, 640])
def test_outputs_beside_groups_of_eight_have_no_more_weights_than_they_need(features):
    entries = [one_factor(fully_connected(1, 1, features, outputs), 0.1) for outputs in (8, 10, 16, 2)]
    sizes = [entry.call.arguments[2].values.size for entry in entries]
    group, pair = 32 + 8 * features + 32, 2 * (4 + features) + 32
    assert sizes == [16 + group, 16 + group + pair, 16 + 2 * group, 16 + pair]


def test_one_factor_of_all_outputs_stands_once():
    entry = one_factor(fully_connected(1, 1, 64, 24))
    assert entry.call.arguments[2].values.size == 16 + 4 + 3 * (32 + 8 * 64)


def test_steps_apart_from_each_other_are_compared_once_where_flash_is_not_what_counts():
    names = {}
    for objective in ("speed", "balanced", "compact", "size"):
        (entry,) = staircases(case, [EVEN])
        entry = type(entry)(replace(entry.view, objective=objective), entry.values)
        names[objective] = entry.call.function.removeprefix("aidge_helium_staircase_")[0]
    assert names == {"speed": "1", "balanced": "1", "compact": "2", "size": "4"}


def test_sums_of_other_values_pass_before_a_sum_is_stored_where_the_core_gains_by_it():
    plain = binary(case, 254, Add, (1, 32), (1, 32))
    fast, small = (overlapping(replace(plain, view=replace(plain.view, objective=way))) for way in ("balanced", "size"))
    assert ["_overlapping" in entry.call.function for entry in (plain, fast, small)] == [False, True, False]
    lines = [line.split()[0] for line in fast.call.texts[0].split('"    ')[1:]]
    assert lines[: lines.index("vstrb.32")].count("vldrb.s32") == 6


@functools.cache
def sample():
    """Some random scales have exact ties, which the library leaves to ref."""
    return accepted(candidates())


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-O3",), ("-Os", "-flto")], ids=lambda flags: " ".join(flags) or "usual")
def test_the_kernels_equal_numpy_on_the_emulated_core(flags):
    assert len(sample()) > len(candidates()) // 2
    assert run(under(flags, of_each_form(sample(), 3)), "-Wall", "-Wextra", "-Werror", *flags) == []


def test_every_sum_and_product_with_one_repeating_tensor_is_taken():
    for seed, (operator, dims) in enumerate(itertools.product((Add, Mul), REPEATING)):
        entry = binary(case, seed, operator, *dims)
        kernels = library("helium").kernels_for(operator.__name__)
        reasons = [kernel.spec.rejection(entry.view, FEATURES, "onnx") for kernel in kernels]
        assert any(not reason or "proved" in reason for reason in reasons), (dims, reasons)


@needs_emulator
def test_pools_may_follow_their_input_as_closely_as_they_promise():
    pools = [entry for entry in accepted(edge_pools(case) + [random_pool(case, seed) for seed in range(60)]) if sharing([entry])]
    assert len(pools) > 20
    texts = " ".join(text for entry in pools for text in (entry.call.function, *entry.call.texts))
    ways = ("maxima", "means_drop_5", "means_checked_drop", "_clamped", "float_means_1_by_columns", "float_means_2")
    assert [way for way in ways if way not in texts] == []
    assert run(of_each_form(pools), lead=promised_lead) == []
