# SPDX-License-Identifier: MIT
"""Convolutions of `helium` against their numpy meaning, bit for bit: the assembly on the emulated Cortex-M55, and the plain C
beside it on this machine."""

from __future__ import annotations

import functools
import itertools
import math
import re
import sys
from dataclasses import replace
from unittest.mock import patch

import numpy
import pytest
from grouped_cases import grouped_cases
from harness import under
from helium_harness import (
    RANDOM_CASES,
    OverlappingCase,
    case,
    convolution,
    finer,
    needs_emulator,
    overlapping,
    random_window,
    run,
    with_offsets,
)
from random_tensors import Randomness

from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import constant
from aidge_build.operators.conv import Conv
from aidge_build.operators.window import Window

# batch, channels, spatial, outputs, kernel, stride, dilation, pads (begin, end)
EDGES = [
    (1, 1, (1, 1), 1, (1, 1), 1, 1, (0, 0)),
    (1, 16, (3, 7), 6, (1, 1), 1, 1, (0, 0)),
    (2, 17, (4, 4), 3, (1, 1), 1, 1, (0, 0)),
    (1, 3, (5, 5), 1, (1, 1), 1, 1, (0, 0)),
    *(
        (1, channels, (5, 6), outputs, (1, 1), 1, 1, (0, 0))
        for channels, outputs in ((1, 2), (3, 5), (4, 6), (5, 4), (7, 3), (8, 8))
    ),
    (1, 5, (1, 1), 17, (1, 1), 1, 1, (0, 0)),
    (1, 130, (3, 3), 4, (1, 1), 1, 1, (0, 0)),
    (1, 256, (3, 3), 4, (1, 1), 1, 1, (0, 0)),
    (1, 777, (2, 3), 5, (1, 1), 1, 1, (0, 0)),
    (1, 1040, (1, 5), 2, (1, 1), 1, 1, (0, 0)),
    (3, 4, (3, 5), 8, (1, 1), 2, 1, (0, 0)),
    (1, 32, (9, 9), 8, (1, 1), 2, 1, (0, 0)),
    (1, 16, (6, 21), 4, (1, 1), 3, 1, (1, 2)),
    (1, 3, (5, 7), 5, (3, 3), 1, 1, (1, 1)),
    (1, 16, (5, 6), 4, (3, 3), 1, 1, (1, 1)),
    (1, 48, (4, 9), 3, (3, 3), 2, 1, (0, 1)),
    (1, 64, (8, 8), 6, (3, 3), 1, 1, (1, 1)),
    (1, 64, (9, 11), 2, (3, 3), 2, 1, (1, 1)),
    (1, 160, (3, 4), 4, (3, 3), 1, 1, (1, 1)),
    (1, 32, (6, 6), 4, (2, 2), 1, 1, (0, 1)),
    (1, 16, (7, 9), 4, (3, 3), 1, 2, (2, 2)),
    (1, 24, (7, 9), 4, (3, 3), 1, 2, (2, 2)),
    (1, 16, (7, 13), 4, (5, 5), 1, 1, (2, 2)),
    (1, 16, (9, 13), 4, (5, 5), 1, 2, (4, 4)),
    (2, 5, (6, 5), 17, (3, 2), 2, 1, (1, 0)),
    (1, 2, (9, 9), 4, (3, 3), 1, 2, (2, 2)),
    (1, 4, (1, 1), 6, (5, 5), 1, 1, (2, 2)),
    (1, 1, (49, 10), 8, (10, 4), 2, 1, (4, 5)),
    (1, 1, (30, 9), 3, (12, 3), 1, 1, (0, 0)),
    (1, 3, (7,), 4, (3,), 1, 1, (1, 1)),
    (2, 5, (12,), 9, (5,), 2, 2, (3, 4)),
    (1, 16, (20,), 4, (1,), 1, 1, (0, 0)),
    (1, 16, (20,), 4, (3,), 1, 1, (0, 0)),
    (1, 4, (9, 1), 5, (3, 1), 1, 1, (0, 0)),
    (1, 40, (28, 1), 6, (1, 1), 1, 1, (0, 0)),
    (1, 8, (2, 2), 3, (3, 3), 1, 1, (7, 7)),
]

# Rows that are copied column by column, as often as rows of the output see them.
BY_COLUMNS = [
    (1, 3, (9, 31), 8, (3, 3), 2, 1, (1, 1)),
    (2, 3, (4, 33), 4, (3, 3), 1, 1, (1, 1)),
    (1, 1, (9, 65), 4, (5, 5), 2, 1, (2, 2)),
    (1, 1, (5, 72), 3, (3, 3), 1, 1, (0, 2)),
]
# Rows of a ring, and rows that pass while weights stay in registers.
IN_A_RING = [
    (2, 16, (5, 9), 4, (3, 3), 1, 1, (1, 1)),
    (1, 16, (9, 10), 3, (3, 3), 2, 1, (1, 1)),
    (1, 64, (4, 6), 2, (2, 2), 1, 1, (1, 0)),
    (1, 20, (6, 7), 2, (4, 2), 1, 1, (2, 1)),
    (1, 16, (9, 7), 2, (4, 3), 3, 1, (1, 1)),
]
SEVERAL_ROWS = [(2, 16, (8, 26), 6, (1, 1), 2, 1, (0, 0)), (1, 32, (12, 32), 4, (1, 1), 2, 1, (0, 0))]

# An even number of channels whose biases and multipliers may be joined: weights that stay or not, one block of pixels, rows of a
# ring and rows by columns.
JOINED = [
    (1, 16, (5, 7), 24, (1, 1), 1, 1, (0, 0)),
    (2, 16, (8, 8), 26, (1, 1), 2, 1, (0, 0)),
    (1, 72, (3, 3), 24, (1, 1), 1, 1, (0, 0)),
    (1, 3, (9, 31), 24, (3, 3), 2, 1, (1, 1)),
    (2, 16, (5, 9), 30, (3, 3), 1, 1, (1, 1)),
    (1, 32, (12, 18), 24, (1, 1), 2, 1, (0, 0)),
]


def random_convolution(seed):
    random = Randomness(seed)
    spatial, kernel, dilation, pads = random_window(random)
    channels, outputs = (random.choice(1, 3, 5, 8, 16, 17, 24, 32, 48, 64, random.integer(1, 100)) for _ in range(2))
    batch, stride = random.choice(1, 1, 2), random.choice(1, 1, 2, 3)
    return convolution(seed, batch, channels, spatial, min(outputs, 40), kernel, stride, dilation, pads)


def without_clamp(edge):
    cases = (convolution(seed, *edge) for seed in itertools.count())
    return next(entry for entry in cases if math.inf == entry.view.operator.maximum == -entry.view.operator.minimum)


def extreme_convolution(seed, channels, outputs, scales, groups=1):
    """Every weight and value -128, or scales that saturate, vanish or make ties."""
    random = Randomness(seed)
    data = random.data(1, channels, 5, 5).with_(quantization=per_tensor(0.5, random.choice(-128, 127)))
    weights = numpy.full((outputs, channels // groups, 3, 3), -128, numpy.int8)
    values = numpy.full(data.dims, -128, numpy.int8)
    operator = Conv(window=Window((3, 3), (1, 1), (1, 1), (1, 1), (1, 1)), groups=groups)
    return case(
        operator,
        [data, constant("w", weights, Quantization(scales, (0,) * outputs, 0)), random.bias(outputs)],
        [values],
        quantization=per_tensor(0.5, random.integer(-128, 127)),
    )


def far_levels(multiplier, zero_point, rows=4):
    """Pointwise, every product as large as it can be: levels that leave int8 by far, of both signs, and ties."""
    random = Randomness(7)
    data = random.data(1, 16, rows, 5).with_(quantization=per_tensor(0.5, 0))
    signs = random.numbers.random((1, 1, rows, 5)) < 0.5
    values = numpy.broadcast_to(numpy.where(signs, -128, 127), data.dims).astype(numpy.int8)
    values[0, :, 0] = random.int8(16, 5) // 16
    weights = numpy.stack([numpy.full(16, -127), numpy.full(16, 127), *random.int8(2, 16)]).astype(numpy.int8)
    tensors = [data, constant("w", weights.reshape(4, 16, 1, 1), per_tensor(multiplier, 0))]
    window = Window((1, 1), (1, 1), (1, 1), (0, 0), (0, 0))
    return case(Conv(window=window), tensors, [values], quantization=per_tensor(0.5, zero_point))


# (multiplier, zero point, whether levels are rounded by addition): the largest sum is 16 * 127 * 128
FAR_LEVELS = [
    (0.1249, -128, True),
    (0.1251, -128, False),
    (0.2, -128, False),
    (0.1249, 3, False),
    (0.125 / 4096, 64, True),
    (0.125 / 4096, 63, False),
]


# Layers whose weights stay in registers: few bytes, one vector, two, pixels that are left, rows.
FUSED = [
    (1, 8, (6, 7), 6, (1, 1), 1, 1, (0, 0)),
    (1, 5, (5, 7), 4, (1, 1), 1, 1, (0, 0)),
    (1, 16, (5, 9), 6, (1, 1), 1, 1, (0, 0)),
    (2, 30, (5, 6), 4, (1, 1), 1, 1, (0, 0)),
    (1, 32, (4, 7), 6, (1, 1), 1, 1, (0, 0)),
    (1, 3, (9, 31), 8, (3, 3), 2, 1, (1, 1)),
    (2, 16, (4, 26), 6, (1, 1), 2, 1, (0, 0)),
]


def fused(edge, zero_point, odd_one=()):
    """A layer of such a shape without clamps. `odd_one`: an output whose multiplier is too small to be fused."""
    entry = without_clamp(edge)
    data, weights, *_ = entry.view.inputs
    outputs, weights = len(weights.data), constant("w", weights.data // 16)
    scales = numpy.geomspace(0.1042, 0.2317, outputs)
    scales[list(odd_one)] = 1e-12
    weights = weights.with_(quantization=Quantization(tuple(scales.astype(numpy.float32).tolist()), (0,) * outputs, 0))
    bias = constant("b", Randomness(outputs).numbers.integers(-2000, 2000, outputs).astype(numpy.int32))
    output = per_tensor(1.3 * math.sqrt(weights.data[0].size), zero_point)
    data = data.with_(quantization=per_tensor(1.0, data.quantization.zero_point))
    return case(entry.view.operator, [data, weights, bias], entry.values, quantization=output)


def fused_cases():
    """With an odd zero point, with an even one, and with pairs of channels that are not fused."""
    all_of_them = [fused(edge, zero_point) for edge in FUSED for zero_point in (-128, 5)]
    mixed = [fused(edge, -128, odd) for edge, odd in zip(FUSED, itertools.cycle(((0,), (3,), (0, 3))))]
    for entry in mixed:
        with patch.object(sys.modules[entry.kernel.node_class.__module__], "LEAST_SAVED", 0):
            assert entry.call  # made, and kept
    return all_of_them, mixed


@functools.cache
def candidates():
    edges = [convolution(index, *edge) for index, edge in enumerate(EDGES)]
    edges += [without_clamp(edge) for edge in (*BY_COLUMNS, *IN_A_RING, *SEVERAL_ROWS)]
    many, few = (1e-30, 1e30, 2.0**-14, 2.0**-20), (1e-38, 1.0, 2.0**-12)
    extremes = [
        extreme_convolution(1, 16, 4, many),
        extreme_convolution(2, 3, 3, few),
        extreme_convolution(3, 32, 4, many, groups=2),
        extreme_convolution(4, 2, 4, many, groups=2),
    ]
    extremes += [far_levels(*numbers[:2]) for numbers in FAR_LEVELS]
    fine = [finer(entry, index) for index, entry in enumerate(edges) if index % 4 == 0]
    fine += [finer(entry, index) for index, entry in enumerate(grouped_cases()[::6])]
    rest = [*(random_convolution(1000 + seed) for seed in range(RANDOM_CASES)), *grouped_cases()]
    fine += [with_offsets(entry, index) for index, entry in enumerate(edges) if index % 2 == 0]
    fine += [with_offsets(entry, index) for index, entry in enumerate(grouped_cases()[1::6])]
    fused_ones = [*itertools.chain(*fused_cases())]
    shorter = [for_size(entry) for entry in (*edges[1::2], *fine[::3], *fused_ones[::2])]
    return [*edges, *extremes, *fine, *fused_ones, *rest, *shorter, *joined_cases(), *beside_cases()]


def joined_cases():
    """As they are, with biases finer than sums, and with offsets of weights."""
    plain = [convolution(seed, *edge) for seed, edge in enumerate([*JOINED, *JOINED])]
    return [
        for_size(entry)
        for made in (plain, map(finer, plain[1::3], range(4)), map(with_offsets, plain[::3], range(4)))
        for entry in made
    ]


# Pairs of channels whose levels pass beside the products of the next pair: one pair, two, more, an odd channel; one vector of
# weights, two, more; one row, three of the input, of copies and of a ring; one tap, two, three; pixels that are left. Last:
# levels that pass beside the products of the next pixels, as weights stay in registers.
BESIDE = [
    *((1, 64, (3, 3), outputs, (1, 1), 1, 1, (0, 0)) for outputs in (1, 2, 3, 4, 7, 8)),
    *((1, channels, (2, 4 + left), 6, (1, 1), 1, 1, (0, 0)) for left, channels in enumerate((33, 48, 40, 100))),
    *((1, 32, (2, size), 5, (1, 1), 2, 1, (0, 0)) for size in (1, 3, 5, 7)),
    (1, 16, (2, 1), 4, (1, 1), 1, 1, (0, 0)),
    (2, 16, (5, 9), 6, (3, 3), 1, 1, (1, 1)),
    (1, 32, (4, 10), 4, (3, 3), 2, 1, (1, 1)),
    (1, 32, (5, 6), 6, (2, 2), 1, 1, (0, 1)),
    (1, 48, (4, 6), 4, (2, 2), 2, 1, (0, 0)),
    (1, 16, (7, 9), 4, (3, 3), 1, 2, (2, 2)),
    (1, 20, (6, 7), 6, (4, 2), 1, 1, (2, 1)),
    (1, 16, (9, 7), 5, (4, 3), 3, 1, (1, 1)),
    (1, 5, (9, 9), 6, (3, 3), 1, 1, (1, 1)),
    (1, 3, (9, 31), 8, (3, 3), 2, 1, (1, 1)),
    (1, 24, (12,), 9, (5,), 2, 2, (3, 4)),
    (1, 16, (20,), 4, (3,), 1, 1, (0, 0)),
    (1, 144, (3, 4), 6, (3, 3), 1, 1, (1, 1)),
    *((1, channels, (4, 4), 6, (3, 1), 1, 1, (0, 0)) for channels in (8, 24, 40)),
    (1, 40, (1, 8), 6, (1, 1), 1, 1, (0, 0)),
    *(
        (1, channels, (1, pixels), 2 + channels % 3, (1, 1), 1, 1, (0, 0))
        for channels, pixels in ((8, 12), (16, 17), (32, 16), (24, 23))
    ),
]


@functools.cache
def beside_cases():
    """With random clamps and without, of which some round by addition; with biases in finer units than products."""
    plain = [convolution(seed, *edge) for seed, edge in enumerate(BESIDE)]
    plain += [fused(edge, zero_point) for edge in BESIDE[::2] for zero_point in (-128, 5) if edge[3] > 1]
    every = (*plain, *map(finer, plain[::4], range(len(plain))))
    return [BesideCase(entry.view, entry.values) for entry in map(overlapping, every)]


class BesideCase(OverlappingCase):
    """A case whose code is made as if levels beside products always paid."""

    @functools.cached_property
    def call(self):
        folder = self.kernel.node_class.__module__.rsplit(".", 2)[0]
        with patch.multiple(sys.modules[f"{folder}.sums.plan"], BESIDE_LENGTH=0, BY_SHIFT_LENGTH=0):
            return super().call


def for_size(entry):
    """The case as a build with --optimize size has it."""
    return replace(entry, view=replace(entry.view, objective="size"))


def test_levels_pass_beside_products_where_the_core_gains_by_it_and_many_blocks_pay_for_the_text():
    texts = [text for entry in beside_cases() for text in entry.call.texts if "_beside" in text]
    assert len(texts) > len(beside_cases()) // 2
    assert sum("_stationary_" in text for text in texts) > 4
    assert sum("_by_shift_" in text for text in texts) > 4
    shape = (1, 64, (8, 16), 64, (1, 1), 1, 1, (0, 0))
    many, few = overlapping(without_clamp(shape)), overlapping(without_clamp((*shape[:2], (1, 8), *shape[3:])))
    for entry, is_there in ((many, True), (without_clamp(shape), False), (for_size(many), False), (few, False)):
        assert ("_beside" in "".join(entry.call.texts)) == is_there


@pytest.mark.parametrize("channels, stored", [(16, 16), (24, 16 + 8), (21, 16 + 8), (29, 16 + 16), (3, 4), (8, 8)])
def test_the_last_vectors_of_weights_are_no_longer_than_the_weights_under_size(channels, stored):
    entry = for_size(without_clamp((1, channels, (2, 4), 6, (1, 1), 1, 1, (0, 0))))
    assert entry.call.constants[0].values.nbytes == 24 + 3 * (2 * stored + 16)


@pytest.mark.parametrize("outputs, numbers", [(6, 24 + 3 * 16), (5, 20 + 3 * 20)])
def test_under_size_the_zero_point_of_an_even_number_of_channels_stands_once_in_the_stream(outputs, numbers):
    entry = for_size(without_clamp((1, 16, (2, 4), outputs, (1, 1), 1, 1, (0, 0))))
    assert entry.call.constants[0].values.nbytes == numbers + 3 * 32


def test_under_size_biases_and_multipliers_of_many_channels_take_six_bytes_each():
    cases = joined_cases()
    assert sum("_joined" in entry.call.function for entry in cases) > len(cases) // 2
    entry = without_clamp(JOINED[0])
    assert for_size(entry).call.constants[0].values.nbytes == 24 + 12 * (32 + 12)
    assert (
        "_joined" not in entry.call.function
        and "_joined" not in for_size(without_clamp((1, 16, (5, 7), 22, (1, 1), 1, 1, (0, 0)))).call.function
    )


def test_by_default_they_are_where_few_blocks_of_pixels_load_them():
    few, many = (
        without_clamp((1, 72, size, 6, (1, 1), 1, 1, (0, 0))).call.constants[0].values.nbytes for size in ((2, 4), (6, 6))
    )
    assert (few, many) == (20 + 3 * (2 * 72 + 20), 20 + 3 * (2 * 80 + 20))


def test_levels_are_rounded_by_addition_where_the_zero_point_is_even_and_they_fit_16_bits():
    found = [any("vmovnt.i32" in text for text in far_levels(*numbers[:2], rows=2).call.texts) for numbers in FAR_LEVELS]
    assert found == [adds for *_, adds in FAR_LEVELS]


def test_levels_come_from_one_fused_multiplication_where_that_is_proved():
    everywhere, somewhere = fused_cases()
    assert ["_fused" in entry.call.function for entry in everywhere] == [True] * len(everywhere)
    ways = [re.search("_mixed|_by_shift", entry.call.function) for entry in somewhere]
    assert {way and way[0] for way in ways} == {"_mixed", "_by_shift"}
    for entry in (*everywhere, *somewhere):
        words = "\n".join(entry.call.texts)
        assert ("vfmas.f32" in words) == ("_fused" in entry.call.function or "_mixed" in entry.call.function)


def of_two_weights(lowest, highest):
    """The name of the kernel of a pointwise layer whose two outputs have other weights in the same distance."""
    weights = numpy.array([[lowest, highest], [lowest - 7, highest - 7]], numpy.int16).reshape(2, 2, 1, 1)
    plain = convolution(3, 1, 2, (3, 3), 2, (1, 1), 1, 1, (0, 0))
    inputs = [plain.view.inputs[0], constant("w", weights, per_tensor(0.01, 0)), None]
    return case(plain.view.operator, inputs, plain.values[:1], quantization=per_tensor(0.5, 0)).kernel.name


def test_weights_of_nine_bits_are_bytes_and_an_offset_of_each_output():
    assert [of_two_weights(*ends) for ends in ((-131, 124), (-1, 254), (-255, 0))] == ["conv2d_int8"] * 3


def test_weights_further_apart_than_a_byte_are_left_to_other_libraries():
    with pytest.raises(AssertionError, match="no int8 times a power of two plus an offset"):
        of_two_weights(-131, 126)


@pytest.mark.parametrize(
    "edges, word",
    [(BY_COLUMNS, "_columns_"), (IN_A_RING, "aidge_helium_turn(")],
    ids=["columns", "ring"],
)
def test_few_bytes_are_copied(edges, word):
    texts = ["\n".join(without_clamp(edge).call.texts) for edge in edges]
    assert [word in text for text in texts] == [True] * len(edges)


def test_groups_are_computed_by_a_kernel_of_their_own():
    assert {entry.kernel.name for entry in grouped_cases()} == {"conv2d_grouped_int8"}


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-O3",), ("-Os", "-flto")], ids=lambda flags: " ".join(flags) or "usual")
def test_convolutions_equal_numpy_on_the_emulated_core(flags):
    assert run(under(flags, candidates()), "-Wall", "-Wextra", "-Werror", *flags) == []
