# SPDX-License-Identifier: MIT
"""Convolutions and fully connected layers of `ref` against their numpy meaning: int8 bit for bit, float32 within 1e-5."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy
import pytest
from dynamic_cases import dynamic_layers
from harness import Case, case, differing, far, run
from random_tensors import Randomness, halfword_weights

from aidge_build.base.errors import AidgeError
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import constant
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.operators.window import Window


def test_sums_of_bytes_that_become_floats_equal_the_meaning():
    cases = list(dynamic_layers(case))
    assert len({entry.call.function for entry in cases if "_plain" in entry.call.function}) >= 2
    assert differing(cases, run(cases)) == []


# batch, channels, spatial, outputs, kernel, stride, dilation, pads (begin, end), groups
EDGES = [
    (1, 1, (1, 1), 1, (1, 1), 1, 1, (0, 0), 1),
    (1, 3, (5, 7), 5, (3, 3), 1, 1, (1, 1), 1),
    (2, 5, (6, 5), 17, (3, 2), 2, 1, (1, 0), 1),
    (1, 17, (4, 4), 3, (1, 1), 1, 1, (0, 0), 1),
    (3, 4, (3, 5), 8, (1, 1), 2, 1, (0, 0), 1),
    (1, 2, (9, 9), 4, (3, 3), 1, 2, (2, 2), 1),
    (1, 3, (9, 8), 6, (3, 3), 3, 2, (0, 1), 3),
    (2, 6, (5, 5), 12, (3, 3), 1, 1, (1, 1), 3),
    (1, 8, (4, 3), 8, (3, 3), 1, 1, (1, 1), 2),
    (1, 4, (1, 1), 6, (5, 5), 1, 1, (2, 2), 1),
    (1, 1, (10, 4), 7, (10, 4), 2, 1, (4, 1), 1),
    (1, 3, (7,), 4, (3,), 1, 1, (1, 1), 1),
    (2, 5, (12,), 9, (5,), 2, 2, (3, 4), 1),
    (1, 16, (20,), 4, (1,), 1, 1, (0, 0), 1),
    (1, 4, (9, 1), 5, (3, 1), 1, 1, (0, 0), 1),
    (1, 3, (5, 5), 3, (3, 3), 1, 1, (1, 1), 3),
    (2, 4, (6, 6), 4, (3, 3), 2, 1, (0, 1), 4),
    (1, 17, (5, 4), 17, (2, 3), 1, 2, (1, 2), 17),
    (1, 5, (15,), 5, (5,), 1, 1, (0, 0), 5),
    (1, 8, (15, 1), 8, (15, 1), 1, 1, (0, 0), 8),
    (1, 6, (1, 1), 6, (3, 3), 1, 1, (1, 1), 6),
]


def operator_of(random, channels, outputs, kernel, stride, dilation, pads, groups):
    rank = len(kernel)
    low, high = random.choice((-math.inf, math.inf), (0.0, math.inf), (0.0, 6.0), (-1.0, 1.5))
    window = Window(kernel, (stride,) * rank, (dilation,) * rank, (pads[0],) * rank, (pads[1],) * rank)
    return Conv(minimum=low, maximum=high, window=window, groups=groups, depthwise=groups > 1 and groups == channels == outputs)


def int8_case(seed, batch, channels, spatial, outputs, kernel, stride, dilation, pads, groups):
    random = Randomness(seed)
    operator = operator_of(random, channels, outputs, kernel, stride, dilation, pads, groups)
    data, weights = random.data(batch, channels, *spatial), random.weights(outputs, channels // groups, *kernel)
    around = 0.05 * 0.01 * 50 * math.sqrt(weights.data[0].size)
    inputs = [data, weights, random.bias(outputs)]
    return case(operator, inputs, [random.int8(*data.dims)], quantization=random.quantization(around))


def random_edge(seed):
    random = Randomness(seed)
    rank, groups = random.integer(1, 2), random.choice(1, 1, 1, 2, 3)
    channels = groups * random.integer(1, 6)
    outputs = random.choice(groups * random.integer(1, 6), channels)
    kernel, spatial = (tuple(random.integer(1, most) for _ in range(rank)) for most in (4, 9))
    dilation, pads = random.integer(1, 2), (random.integer(0, 2), random.integer(0, 2))
    fits = all(size + sum(pads) >= (taps - 1) * dilation + 1 for size, taps in zip(spatial, kernel))
    groups = channels if outputs == channels and random.integer(0, 1) else groups
    batch, stride = random.integer(1, 2), random.integer(1, 3)
    return (batch, channels, spatial, outputs, kernel, stride, dilation, pads, groups) if fits else None


def test_int8_convolutions_equal_the_meaning_on_edge_shapes():
    cases = [int8_case(seed, *edge) for edge in EDGES for seed in (0, 1)]
    assert differing(cases, run(cases)) == []


def test_int8_convolutions_equal_the_meaning_on_random_shapes():
    cases = [int8_case(seed, *edge) for seed, edge in enumerate(map(random_edge, range(1000, 1090))) if edge]
    assert len(cases) > 60
    assert differing(cases, run(cases)) == []


BLOCKS = {
    "copied pixels": (2, 70, (5, 4), 9, (1, 1), 1, 1, (0, 0), 1),
    "copied windows": (1, 3, (6, 7), 34, (3, 3), 2, 1, (1, 1), 1),
    "a row of pixels": (1, 9, (5, 9), 10, (3, 3), 1, 1, (1, 1), 1),
    "a row of pixels with gaps": (1, 24, (7, 9), 6, (3, 3), 1, 2, (1, 2), 1),
    "two pixels of a depthwise layer": (1, 7, (6, 8), 7, (3, 3), 1, 1, (1, 1), 7),
}


@pytest.mark.parametrize("shape", BLOCKS.values(), ids=BLOCKS)
def test_pixels_that_are_computed_together_equal_the_meaning(shape):
    cases = [int8_case(seed, *shape) for seed in range(3)]
    assert all("pixels x 4 channels" in entry.call.facts["block"] for entry in cases)
    for flags in ((), ("-std=c99", "-O3")):
        assert differing(cases, run(cases, *flags)) == []


@pytest.mark.parametrize("channels, together", [(40, 41), (200, 32)])
def test_the_largest_sums_of_three_pixels_leave_their_words_before_they_overflow(channels, together):
    entry = int8_case(1, 1, channels, (3, 3), 4, (1, 1), 1, 1, (0, 0), 1)
    data, weights, bias = entry.view.inputs
    weights = weights.with_(data=numpy.full(weights.dims, -128, numpy.int8))
    cases = [
        Case(
            replace(entry.view, inputs=(data, weights, bias)),
            (numpy.full(data.dims, value, numpy.int8), weights.data, *entry.values[2:]),
        )
        for value in (-128, 127)
    ]
    assert [levels.values.ravel()[-1] for levels in cases[0].call.constants if levels.name == "levels"] == [together]
    assert differing(cases, run(cases)) == []


def test_a_multiplier_that_is_not_proved_is_marked_and_equals_the_meaning():
    entry = int8_case(2, 1, 5, (4, 5), 8, (3, 3), 1, 1, (1, 1), 1)
    scales = [0.9, 3.0, 1e-12, 0.004, 0.003, 0.002, 2e-11, 0.001]
    data, weights, bias = entry.view.inputs
    weights = weights.with_(quantization=replace(weights.quantization, scales=tuple(scales), zero_points=(0,) * 8, axis=0))
    marked = Case(replace(entry.view, inputs=(data, weights, bias)), entry.values)
    multipliers = next(part.values for part in marked.call.constants if part.name == "multipliers")
    assert 0 < (multipliers < 0).sum() < len(multipliers)
    assert differing([marked], run([marked])) == []


def test_one_bias_for_all_pixels_joined_with_its_multiplier_takes_less_flash_and_equals_the_meaning():
    made = [int8_case(seed, *edge) for seed, edge in enumerate([*EDGES, *filter(None, map(random_edge, range(1100, 1130)))])]
    cases = [Case(replace(entry.view, objective="size"), entry.values) for entry in made]
    are_joined = [entry.call.function.endswith("_joined") for entry in cases]
    assert 15 < sum(are_joined) < len(cases)
    usual = [Case(replace(entry.view, features=frozenset({"fpu"})), entry.values) for entry in made]
    sizes = [[sum(part.values.nbytes for part in entry.call.constants[1:]) for entry in entries] for entries in (usual, cases)]
    assert all(one <= usual + 24 * joined for usual, one, joined in zip(*sizes, are_joined))
    assert differing(cases, run(cases)) == []


def test_a_group_of_channels_that_is_not_whole_or_one_multiplier_of_all_is_not_joined():
    def function(**changes):
        entry = int8_case(1, 1, 12, (4, 4), 12, (3, 3), 1, 1, (1, 1), changes.pop("groups", 1))
        return Case(replace(entry.view, **{"objective": "size"} | changes), entry.values).call.function

    assert [function(groups=groups) for groups in (1, 3, 6)] == [
        "aidge_ref_conv2d_int8_joined",
        "aidge_ref_conv2d_int8_joined",
        "aidge_ref_conv2d_int8",
    ]
    assert function(objective="balanced") == "aidge_ref_conv2d_int8_near"


def test_layers_with_int16_weights_equal_the_meaning():
    cases = []
    for seed, edge in enumerate(EDGES):
        entry = int8_case(seed, *edge)
        inputs = halfword_weights(seed, *entry.view.inputs)
        cases.append(case(entry.view.operator, inputs, entry.values[:1], quantization=entry.view.outputs[0].quantization))
        assert cases[-1].call.function.endswith("_wide")
    cases += [int8_case(1, *edge) for edge in EDGES]  # beside them: one file holds both forms
    assert differing(cases, run(cases)) == []


def test_int8_fully_connected_layers_equal_the_meaning():
    cases = []
    shapes = [(1, 1, 1), (1, 7, 4), (3, 64, 10), (1, 640, 128), (2, 5, 3), (1, 33, 17)]
    for seed, (batch, features, outputs) in enumerate(shapes * 2):
        random = Randomness(seed)
        data, weights = random.data(batch, features), random.weights(outputs, features)
        quantization = random.quantization(0.05 * 0.01 * 50 * math.sqrt(features))
        cases.append(
            case(
                FC(minimum=random.choice(-math.inf, 0.0)),
                [data, weights, random.bias(outputs)],
                [random.int8(*data.dims)],
                quantization=quantization,
            )
        )
    assert differing(cases, run(cases)) == []


@pytest.mark.parametrize(
    "flags", [("-O0",), ("-O3", "-march=native", "-ffp-contract=fast"), ("-Os", "-std=gnu11"), ("-O2", "-flto")]
)
def test_the_result_does_not_depend_on_compiler_options(flags):
    cases = [int8_case(seed, *edge) for seed, edge in enumerate(EDGES)]
    assert differing(cases, run(cases, *flags)) == []


def test_scales_that_vanish_or_saturate_are_exact():
    random, cases = Randomness(5), []
    for scale_in, scale_w, scale_out in [(1e-20, 1e-25, 1e-3), (1e-30, 1e-30, 1.0), (10.0, 10.0, 1e-20), (1.0, 1.0, 2.0**20)]:
        data = random.data(1, 9).with_(quantization=per_tensor(scale_in, 3))
        weights = constant("w", random.int8(6, 9), per_tensor(scale_w, 0))
        cases.append(case(FC(), [data, weights, random.bias(6)], [random.int8(1, 9)], quantization=per_tensor(scale_out, -1)))
    assert differing(cases, run(cases)) == []


def test_ties_of_power_of_two_scales_go_to_even():
    data, values = (
        Randomness(7).data(1, 1, 1, 256).with_(quantization=per_tensor(0.25, 0)),
        numpy.arange(-128, 128).astype(numpy.int8),
    )
    weights = constant("w", numpy.array([1, 3, -1, -5, 7], numpy.int8).reshape(5, 1, 1, 1), per_tensor(0.5, 0))
    entry = case(
        Conv(window=Window((1, 1), (1, 1), (1, 1), (0, 0), (0, 0))),
        [data, weights, None],
        [values.reshape(1, 1, 1, 256)],
        quantization=per_tensor(0.25, 0),
    )
    (result,) = run([entry])[0]
    assert result[0, 0, 0, 128:134].tolist() == [0, 0, 1, 2, 2, 2]
    assert differing([entry], run([entry])) == []


def test_an_accumulator_that_could_overflow_is_refused():
    random = Randomness(6)
    data = random.data(1, 4).with_(quantization=per_tensor(0.1, 0))
    weights = constant("w", numpy.full((2, 4), 127, numpy.int8), per_tensor(0.1, 0))

    def call(bias):
        bias = constant("b", numpy.array([5, bias], numpy.int32))
        return case(FC(), [data, weights, bias], [random.int8(1, 4)], quantization=per_tensor(0.1, 0)).call

    most = (1 << 31) - 1 - 4 * 127 * 128
    assert call(most).function == "aidge_ref_fc_int8_near"
    with pytest.raises(AidgeError, match="output channel 1 can reach 2147483648, int32 ends at 2147483647"):
        call(most + 1)


def float32_convolutions():
    for seed, edge in enumerate([*EDGES, *filter(None, map(random_edge, range(2000, 2040)))]):
        batch, channels, spatial, outputs, kernel, *_, groups = edge
        random = Randomness(seed)
        operator = operator_of(random, channels, outputs, *edge[4:])
        data = random.real(batch, channels, *spatial)
        weights, bias = constant("w", random.float32(outputs, channels // groups, *kernel)), random.bias(outputs, numpy.float32)
        yield case(operator, [data, weights, bias], [random.float32(*data.dims)])


def test_float32_convolutions_are_within_tolerance():
    cases = list(float32_convolutions())
    assert far(cases, run(cases, "-O2", "-std=c99")) == []


def test_float32_fully_connected_layers_are_within_tolerance():
    cases = []
    for seed, (batch, features, outputs) in enumerate([(1, 1, 1), (2, 7, 5), (1, 64, 10)]):
        random = Randomness(seed)
        weights, bias = constant("w", random.float32(outputs, features)), random.bias(outputs, numpy.float32)
        inputs = [random.real(batch, features), weights, bias]
        cases.append(case(FC(minimum=0.0), inputs, [random.float32(batch, features)]))
    assert far(cases, run(cases)) == []
