# SPDX-License-Identifier: MIT
"""int8 convolutions and fully connected layers of `armv6m` against their numpy meaning, bit for bit: on an emulated core."""

from __future__ import annotations

import functools
import os
import shutil
from dataclasses import replace

import numpy
import pytest
import test_cortexm_linear
from armv6m_harness import BOARD, Case, accepted, run, taken
from harness import under
from random_tensors import Randomness, offset_weights
from sparse_cases import sparse_layers

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import constant
from aidge_build.operators.conv import Conv
from aidge_build.operators.matmul import FC
from aidge_build.operators.window import Window

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
STEP = 1 if "AIDGE_STRESS" in os.environ else 5  # of cases that are computed once more
# One output channel, fewer pixels than go together, a remainder of each size, pads wider than the image, taps beyond one chunk.
EDGES = [
    (1, 1, (1, 1), 1, (1, 1), 1, 1, (0, 0), 1),
    (1, 3, (2, 1), 2, (1, 1), 1, 1, (0, 0), 1),
    *((1, 5, (pixels,), 3, (1,), 1, 1, (0, 0), 1) for pixels in range(3, 14)),
    (3, 2, (5, 1), 3, (2, 1), 2, 1, (1, 0), 1),
    (1, 2, (2, 2), 3, (5, 5), 1, 1, (3, 3), 1),
    (1, 3, (4, 5), 2, (3, 4), 1, 2, (3, 3), 1),
    (1, 140, (3, 3), 3, (3, 3), 1, 1, (1, 1), 1),
    (1, 68, (5, 4), 2, (2, 2), 2, 1, (0, 1), 1),
    (1, 6, (6, 7), 6, (2, 2), 1, 2, (0, 0), 6),
    (2, 5, (9, 13), 5, (3, 5), 2, 2, (4, 3), 5),
    (1, 6, (11, 10), 6, (5, 5), 1, 1, (2, 2), 6),
    (1, 3, (12, 9), 3, (5, 5), 2, 1, (2, 1), 3),
    (1, 2, (7, 9), 2, (3, 7), 1, 1, (3, 3), 2),
    (1, 4, (50,), 4, (25,), 1, 2, (20, 20), 4),
    (1, 4, (50,), 4, (26,), 1, 1, (20, 20), 4),
    (2, 6, (5, 4), 4, (3, 3), 1, 1, (1, 1), 2),
    (1, 12, (4, 5), 6, (1, 1), 1, 1, (0, 0), 3),
    (1, 8, (7, 6), 12, (3, 2), 2, 1, (1, 0), 4),
    (1, 4, (6, 7), 6, (3, 3), 1, 2, (2, 2), 2),
    (1, 80, (4, 4), 4, (3, 3), 1, 1, (1, 1), 2),
    (1, 10, (9,), 15, (3,), 1, 2, (2, 2), 5),
    (1, 3, (9, 8), 3, (7, 7), 1, 1, (3, 3), 3),
    (1, 2, (11, 13), 2, (6, 5), 2, 2, (4, 3), 2),
    (2, 4, (9, 10), 1, (3, 3), 1, 1, (1, 1), 1),
    (1, 3, (9, 7), 2, (3, 3), 1, 2, (2, 2), 1),
    (1, 1, (8, 9), 1, (5, 4), 2, 1, (3, 2), 1),
    (1, 9, (17,), 1, (3,), 2, 1, (1, 1), 1),
]


def steep_cases():
    """Scales for which a line is wrong for some sums, for many, and for none; sums of more than 21 bits; weights of -128."""
    for seed in range(12):
        random = Randomness(700 + seed)
        channels, outputs = random.choice(8, 64, 300), 6
        factors = 2.0 ** random.numbers.uniform(-10, -6, outputs)
        if seed % 3 == 0:
            factors = 2.0 ** numpy.round(numpy.log2(factors))
        if seed % 3 == 1:
            factors = 1 / numpy.round(1 / factors)
        data = random.data(1, channels, 3, 5).with_(quantization=per_tensor(1.0, random.choice(-128, 5)))
        scales = tuple(map(float, factors.astype(numpy.float32)))
        weights = random.int8(outputs, channels, 1, 1)
        if seed % 4 == 0:
            weights[:3] = -128
        bias = constant("b", random.numbers.integers(-30000, 30000, outputs).astype(numpy.int32))
        tensors = [data, constant("w", weights, Quantization(scales, (0,) * outputs, 0)), bias]
        operator = Conv(window=Window((1, 1), (1, 1), (1, 1), (0, 0), (0, 0)), minimum=random.choice(0.0, -numpy.inf))
        made = test_cortexm_linear.case(operator, tensors, [random.int8(*data.dims)], quantization=per_tensor(1.0, -128))
        yield taken(made)


def tie_cases():
    """Many sums in the middle of two levels: small weights, scales that are powers of two, every remainder; the last pixels are
    no whole block."""
    for seed, (channels, kernel, groups) in enumerate([(2, 1, 1), (5, 1, 1), (6, 3, 6), (40, 3, 1), (9, 0, 1)] * 2):
        random = Randomness(800 + seed)
        scales = tuple(2.0 ** -random.integer(2, 4 if channels < 40 else 6) for _ in range(6))
        dims = (6, channels // groups, kernel, kernel) if kernel else (6, channels)
        weights = constant("w", random.numbers.integers(-3, 4, dims).astype(numpy.int8), Quantization(scales, (0,) * 6, 0))
        shape = (1, channels, 9, 7) if kernel else (12, channels)
        data = random.data(*shape).with_(quantization=per_tensor(1.0, 0))
        pads = (kernel // 2,) * 2
        window = Window((kernel,) * 2, (1, 1), (1, 1), pads, pads)
        operator = Conv(window=window, groups=groups, depthwise=groups > 1) if kernel else FC()
        tensors = [data, weights, constant("b", random.numbers.integers(-9, 9, 6).astype(numpy.int32))]
        yield taken(test_cortexm_linear.case(operator, tensors, [random.int8(*shape)], quantization=per_tensor(1.0, seed)))


def fully_connected_cases():
    """Weights of all sizes, so that chunks of every length hold their sums; rows of more inputs than a block; odd numbers."""
    sizes = [
        (1, 64, 8),
        (1, 43, 80),
        (1, 20, 8),
        (2, 33, 13),
        (1, 520, 6),
        (3, 1, 5),
        (1, 1100, 9),
        (1, 640, 16),
        (2, 250, 4),
        (1, 77, 3),
    ]
    for seed, (rows, features, outputs) in enumerate(sizes):
        for spread in (2, 9, 22, 60):
            random = Randomness(900 + 4 * seed + spread)
            data = random.data(rows, features)
            weights = numpy.clip(numpy.rint(random.numbers.normal(0, spread, (outputs, features))), -128, 127).astype(numpy.int8)
            weights[0] = numpy.where(random.numbers.random(features) < 0.5, -128, 127)
            scales = random.choice(1, outputs)
            factors = tuple(random.scale(0.01) for _ in range(scales))
            quantization = Quantization(factors, (0,) * scales, 0) if scales > 1 else per_tensor(factors[0], 0)
            tensors = [data, constant("w", weights, quantization), random.bias(outputs)]
            result = random.quantization(0.05 * 0.01 * spread * numpy.sqrt(features))
            operator = FC(minimum=random.choice(-numpy.inf, 0.0))
            yield taken(test_cortexm_linear.case(operator, tensors, [random.int8(rows, features)], quantization=result))


def crowded_cases():
    """Weights of which chunks just hold their sums, or one less would; inputs that take these sums to their ends."""
    for seed, (features, size) in enumerate([(128, 16), (96, 8), (64, 32), (32, 64), (640, 8), (70, 21), (64, 128)]):
        random = Randomness(1000 + seed)
        signs = numpy.where(random.numbers.random((14, features)) < 0.5, -1, 1)
        signs[:4] = [[1], [-1], [1], [-1]]
        more = random.numbers.random((14, features)) < [[1 / features], [0], [0.1], [0.5]] * 3 + [[0.9], [0]]
        weights = numpy.clip(signs * (size + more), -128, 127).astype(numpy.int8)
        highest = numpy.where(weights > 0, 127, -128).astype(numpy.int8)[random.numbers.permutation(14)]
        tensors = [random.data(4, features), constant("w", weights, per_tensor(0.01, 0)), random.bias(14)]
        result = random.quantization(0.05 * 0.01 * size * numpy.sqrt(features) * 8)
        for first in (0, 2, 4):
            rows = numpy.concatenate([highest[first : first + 2], ~highest[first : first + 2]])
            yield taken(test_cortexm_linear.case(FC(), tensors, [rows], quantization=result))


def mixed_cases():
    """Outputs whose weights differ so much in size that chunks of every length pay."""
    random = Randomness(1100)
    spreads = numpy.repeat([1.5, 7, 15, 33], 16)[:, None]
    weights = numpy.clip(numpy.rint(random.numbers.normal(0, spreads, (64, 700))), -128, 127).astype(numpy.int8)
    data = random.data(2, 700).with_(quantization=per_tensor(1.0, 3))
    scales = tuple(2.0 ** -random.integer(5, 9) for _ in range(64))
    tensors = [data, constant("w", weights, Quantization(scales, (0,) * 64, 0)), random.bias(64)]
    made = test_cortexm_linear.case(FC(), tensors, [random.int8(2, 700)], quantization=per_tensor(1.0, -2))
    yield from (taken(made, objective) for objective in ("balanced", "speed"))


def many_output_cases():
    """More outputs than have their sums in memory at once: rows in whose pieces weights are kept apart and outputs marked, all of
    one length of chunks or of several, the last ones single; biases between two units."""
    for seed, (rows, features, outputs, spreads) in enumerate(
        [(2, 24, 301, (1.5, 33)), (1, 150, 132, (22,)), (2, 40, 260, (60,))]
    ):
        random, unit = Randomness(1500 + seed), (1, 1, 2)[seed]
        each = numpy.resize(spreads, outputs)[:, None]
        values = unit * numpy.clip(numpy.rint(random.numbers.normal(0, each, (outputs, features))), -128, 127).astype(numpy.int16)
        scales = tuple(map(float, (1 / random.numbers.choice([3.0, 64, 97, 128, 300], outputs) / unit).astype(numpy.float32)))
        weights = constant("w", values if unit > 1 else values.astype(numpy.int8), Quantization(scales, (0,) * outputs, 0))
        data = random.data(rows, features).with_(quantization=per_tensor(1.0, 0))
        bias = constant("b", (random.numbers.integers(-900, 900, outputs) * unit + unit // 2).astype(numpy.int32))
        made = test_cortexm_linear.case(
            FC(), [data, weights, bias], [random.int8(*data.dims)], quantization=per_tensor((4.0, 4.0, 1.0)[seed], 3)
        )
        yield taken(made, "speed")


def fraction_cases():
    """Biases between two units of the sums, weights multiples of 2 or 8: every third or ninth sum and a half is in the middle
    between two levels, too often for corrections; weights that all fit a byte, and sums of more than 21 bits."""
    for seed, (channels, kernel, groups) in enumerate([(5, 1, 1), (6, 3, 6), (30, 3, 1), (40, 0, 1), (9, 0, 1), (6, 5, 6)] * 2):
        random, unit = Randomness(1400 + seed), (2, 8)[seed % 2]
        factors = 1 / random.choice(3.0, 9.0, numpy.array([3.0, 9, 300, 3, 0.01, 9]))
        scales = tuple(map(float, numpy.broadcast_to(factors / unit, 6).astype(numpy.float32)))
        dims = (6, channels // groups, kernel, kernel) if kernel else (6, channels)
        values = unit * random.int8(*dims).astype(numpy.int16)
        offsets = unit * random.numbers.integers(-900, 900, 6) + (numpy.arange(6) % 4 < 3) * unit // 2
        shape = (1, channels, 7, 5) if kernel else (1 + 5 * (seed % 2), channels)
        pads = (kernel // 2,) * 2
        window = Window((kernel,) * 2, (1, 1), (1, 1), pads, pads)
        operator = Conv(window=window, groups=groups, depthwise=groups > 1) if kernel else FC()
        weights = constant("w", values, Quantization(scales, (0,) * 6, 0))
        data = random.data(*shape).with_(quantization=per_tensor(1.0, 0))
        tensors = [data, weights, constant("b", offsets.astype(numpy.int32))]
        quantization = per_tensor(16.0 if seed % 3 else 1.0, seed)
        yield taken(test_cortexm_linear.case(operator, tensors, [random.int8(*shape)], quantization=quantization))


def offset_cases():
    """Weights less a zero point, which bytes do not hold."""
    layers = [test_cortexm_linear.int8_case(seed, *edge) for seed, edge in enumerate(EDGES)]
    yield from less_zero_points([*layers, *steep_cases(), *tie_cases()])


def less_zero_points(entries):
    """Cases with the weights of these less a zero point."""
    for seed, entry in enumerate(entries):
        data, weights, bias = entry.view.inputs
        result = entry.view.outputs[0].quantization
        tensors = [data, offset_weights(1200 + seed, weights), bias]
        yield taken(test_cortexm_linear.case(entry.view.operator, tensors, entry.values[:1], quantization=result))


def packed_cases():
    """Layers whose weights have 4 bits, or in every third one a sign."""
    layers = [test_cortexm_linear.int8_case(seed, *edge) for seed, edge in enumerate(EDGES) if edge[-1] in (1, 2)]
    sizes = [(1, 64, 8), (1, 43, 80), (1, 20, 8), (2, 33, 13), (1, 520, 12), (1, 1100, 8), (1, 24, 301), (9, 40, 6)]
    for seed, (rows, features, outputs) in enumerate(sizes):
        random = Randomness(1700 + seed)
        tensors = [random.data(rows, features), random.weights(outputs, features), random.bias(outputs)]
        layers.append(
            test_cortexm_linear.case(FC(), tensors, [random.int8(rows, features)], quantization=random.quantization(0.5))
        )
    for index, entry in enumerate(layers):
        data, weights, bias = entry.view.inputs
        few = numpy.where(weights.data < 0, -1, 1).astype(numpy.int8) if index % 3 == 2 else weights.data >> 4
        tensors, result = [data, weights.with_(data=few), bias], entry.view.outputs[0].quantization
        made = test_cortexm_linear.case(entry.view.operator, tensors, entry.values[:1], quantization=result)
        yield Case(replace(made.view, packs_weights=True), made.values)


@functools.cache
def candidates():
    """Cases that a kernel of the library may refuse."""
    mine = [test_cortexm_linear.int8_case(seed, *edge) for seed, edge in enumerate(EDGES)]
    return [
        *map(taken, [*mine, *test_cortexm_linear.candidates()[:: min(2, STEP)]]),
        *map(taken, test_cortexm_linear.halfword_cases()),
        *steep_cases(),
        *tie_cases(),
        *fraction_cases(),
        *offset_cases(),
        *fully_connected_cases(),
        *crowded_cases(),
        *mixed_cases(),
        *many_output_cases(),
        *packed_cases(),
        *map(taken, sparse_layers()),
    ]


@functools.cache
def sample():
    return accepted(candidates())


def fully_connected_forms():
    return {entry.call.function.removeprefix("aidge_armv6m_") for entry in sample() if entry.kernel.type == "FC"}


def test_weights_that_are_multiples_of_bytes_are_bytes_in_flash():
    wide = [entry for entry in sample() if entry.view.inputs[1].dtype is DType.int16]
    assert {entry.view.node.type for entry in wide} >= {"Conv2D", "ConvDepthWise2D"} and len(wide) > 5


def test_channels_without_a_line_are_scaled_in_fractions_of_the_unit_in_every_kernel():
    found = accepted(fraction_cases())
    assert len(found) == len(list(fraction_cases()))
    forms = {entry.call.function.removeprefix("aidge_armv6m_") for entry in found if "float" in entry.call.facts["epilogue"]}
    assert {"dense_int8_sums_u2", "depthwise_int8_3x3_d1_layer_corrected"} <= forms


def test_the_cases_reach_every_form():
    forms = {entry.call.function.removeprefix("aidge_armv6m_") for entry in sample()}
    dense = {"single_u1", "single_u2", "single_corrected_u2", "chunked_u2", "chunked_corrected_u2", "sums_u2"}
    assert {f"dense_int8_{form}" for form in dense} <= forms
    offset = {"single_offset_u1", "single_offset_u2", "chunked_offset_u2", "single_offset_corrected_u2", "sums_offset_u2"}
    assert {f"dense_int8_{form}" for form in (*offset, "single_offset_u1_groups", "chunked_offset_u2_groups")} <= forms
    assert {"dense_int8_single_u1_groups", "dense_int8_chunked_u2_groups"} <= forms
    assert {"dense_int8_single_u2_packed", "fc_int8_n8_packed", "fc_int8_n16_packed_marks"} <= forms
    assert {"dense_int8_single_u2_sparse", "dense_int8_chunked_u2_sparse", "fc_blocks_int8", "fc_blocks_int8_marks"} <= forms
    assert any("corrected" in name or "sums" in name for name in forms if name.endswith("_groups"))
    assert {"depthwise_int8_3x3_d1_layer", "depthwise_int8_3x3_d1_layer_corrected", "depthwise_int8_2x2_d2_layer"} <= forms
    wide = {name.removeprefix("depthwise_int8_wide_") for name in forms if name.startswith("depthwise_int8_wide_")}
    assert len(wide) > 4 and any(name.endswith("_corrected") for name in wide)
    assert any(not name.endswith("_corrected") for name in wide)
    parts = [set(name.split("_")) for name in forms if name.startswith("fc_")]
    assert {"n2", "n4", "n8", "n16", "singles2", "singles4", "singles8", "outliers", "runs", "marks"} <= set().union(*parts)
    assert any({"n2", "n4", "n8", "n16", "marks"} <= each and each & {"outliers", "runs"} for each in parts)
    assert not any({"outliers", "runs"} <= each for each in parts)
    pieces = [each for each in parts if "p" in each]
    assert {"n2", "n4", "singles4", "outliers", "runs", "marks"} <= set().union(*pieces)
    assert {"_".join(name.split("_")[:2]) for name in forms if name in fully_connected_forms()} == {
        "fc_int8",
        "fc_blocks",
        "dense_int8",
    }
    assert any(not each & {"n2", "n4", "n8", "n16"} for each in parts) and any("singles" not in "".join(each) for each in parts)


@pytest.mark.parametrize(
    ("features", "outputs", "least_bytes"),
    [
        (640, 128, 4 * (128 + 1 + 32 + 128)),  # columns, what chunks take away, sums
        (128, 640, 4 * (128 + 1 + 32 + 128)),
        (256, 1024, 4 * (256 + 1 + 64 + 128)),  # all columns, as the sums of all outputs would be more
        (2048, 10, 4 * (256 + 1 + 64 + 10)),
    ],
)
def test_a_fully_connected_layer_holds_the_columns_of_a_block_or_the_sums_of_a_piece(features, outputs, least_bytes):
    random = Randomness(1600)
    tensors = [random.data(1, features), random.weights(outputs, features), random.bias(outputs)]
    made = taken(test_cortexm_linear.case(FC(), tensors, [random.int8(1, features)], quantization=random.quantization(4.0)))
    assert made.kernel.node_class.demands(made.view).scratch_bytes == least_bytes


@needs_compiler
def test_outputs_are_single_where_their_weights_apart_would_take_more_than_a_few_hundredths_of_flash():
    random = Randomness(1300)
    tensors = [random.data(1, 200), constant("w", random.int8(48, 200), per_tensor(0.01, 0)), random.bias(48)]
    made = test_cortexm_linear.case(FC(), tensors, [random.int8(1, 200)], quantization=random.quantization(4.0))
    calls = {objective: taken(made, objective).call for objective in ("speed", "balanced")}
    apart = {objective: 2 * call.work["outliers"] / (48 * 200) for objective, call in calls.items()}
    assert apart["speed"] > 0.3 and 0.04 < apart["balanced"] <= 0.06
    assert [call.work["singles"] for call in calls.values()][0] == 0 < calls["balanced"].work["singles"]
    assert run([taken(made, "balanced")], board=BOARD) == []


@needs_compiler
def test_layers_equal_the_meaning_on_the_emulated_core():
    assert len(sample()) > 110
    assert run([*sample(), *accepted(tie_cases())], board=BOARD) == []


@needs_compiler
@pytest.mark.parametrize("flags", [("-O0",), ("-O3",), ("-Os",), ("-O2", "-flto")], ids="".join)
def test_the_result_does_not_depend_on_compiler_options(flags):
    assert run(under(flags, sample()), *flags, board=BOARD) == []


def test_who_asks_for_the_least_memory_gets_kernels_without_scratch():
    assert accepted([taken(test_cortexm_linear.int8_case(0, *edge), "size") for edge in EDGES]) == []
