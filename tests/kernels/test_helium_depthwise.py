# SPDX-License-Identifier: MIT
"""Depthwise convolutions of `helium` against their numpy meaning, bit for bit: the assembly on the emulated Cortex-M55, and
the plain C beside it on this machine."""

from __future__ import annotations

import functools
import itertools
import math
import sys
from dataclasses import replace
from unittest.mock import patch

import numpy
import pytest
from cortexm_harness import accepted
from harness import under
from helium_harness import RANDOM_CASES, case, convolution, finer, needs_emulator, overlapping, run, with_offsets
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import constant
from aidge_build.operators.conv import Conv
from aidge_build.operators.window import Window

# batch, channels, spatial, kernel, stride, dilation, pads (begin, end)
EDGES = [
    (1, 2, (1, 1), (1, 1), 1, 1, (0, 0)),
    (1, 16, (1, 1), (3, 3), 1, 1, (1, 1)),
    (1, 8, (12, 12), (3, 3), 1, 1, (1, 1)),
    (1, 64, (5, 5), (3, 3), 1, 1, (1, 1)),
    (1, 128, (6, 6), (3, 3), 1, 1, (1, 1)),
    (2, 17, (4, 5), (3, 3), 1, 1, (1, 1)),
    (1, 16, (9, 8), (3, 3), 2, 1, (0, 1)),
    (1, 32, (7, 9), (3, 3), 2, 1, (1, 1)),
    (1, 3, (10, 6), (3, 3), 3, 1, (1, 2)),
    (1, 5, (9, 9), (3, 3), 1, 2, (2, 2)),
    (1, 40, (30, 1), (3, 1), 1, 1, (0, 0)),
    (1, 128, (28, 1), (5, 1), 1, 1, (0, 0)),
    (1, 32, (24,), (10,), 1, 1, (0, 0)),
    (1, 48, (15,), (15,), 1, 1, (0, 0)),
    (1, 16, (8, 8), (5, 5), 1, 1, (2, 2)),
    (1, 144, (6, 7), (5, 5), 2, 1, (2, 2)),
    (1, 16, (9, 9), (7, 7), 1, 1, (3, 3)),
    (1, 33, (5, 4), (2, 4), 1, 1, (1, 2)),
    (1, 16, (3, 3), (3, 3), 1, 1, (4, 4)),
    (2, 16, (6, 6), (2, 2), 2, 1, (0, 0)),
    (1, 16, (6, 6), (3, 3), 1, 1, (0, 0)),
    (1, 8, (48, 48), (3, 3), 1, 1, (1, 1)),
    (1, 3, (13, 9), (3, 3), 1, 1, (1, 1)),
    (2, 5, (9, 17), (3, 3), 1, 1, (1, 1)),
    (1, 4, (11, 19), (2, 2), 1, 1, (1, 0)),
    (1, 7, (20, 6), (3, 3), 1, 1, (0, 0)),
    (1, 6, (8, 24), (2, 3), 1, 1, (0, 1)),
    (1, 18, (15, 12), (3, 3), 1, 1, (2, 2)),
    (1, 3, (40,), (3,), 1, 1, (1, 1)),
    (1, 2, (30, 3), (1, 3), 1, 1, (0, 1)),
    (1, 64, (8, 8), (3, 3), 2, 1, (1, 1)),
    (1, 40, (12, 12), (3, 3), 2, 1, (1, 1)),
    (1, 40, (12, 12), (3, 3), 2, 1, (0, 0)),
    (1, 16, (20, 24), (3, 3), 1, 2, (2, 2)),
    *((1, 3, spatial, (3, 3), 1, 1, (1, 1)) for spatial in ((9, 5), (5, 10), (6, 7), (7, 6), (2, 9), (13, 1))),
    *((1, 3, spatial, (3, 3), 2, 1, (1, 1)) for spatial in ((17, 9), (9, 19), (11, 13), (13, 11), (3, 17))),
]
# Patches of two vectors: heights from 2 to 5, both strides, odd pads, few and many channels, wide rows, images.
LONG = [
    (1, 3, (12, 12), (5, 5), 1, 1, (2, 2)),
    (1, 24, (11, 13), (5, 5), 1, 1, (1, 2)),
    (1, 20, (15, 14), (5, 5), 2, 1, (2, 1)),
    (1, 4, (9, 21), (5, 5), 2, 1, (0, 0)),
    (2, 5, (10, 9), (4, 4), 1, 1, (2, 1)),
    (1, 18, (13, 11), (4, 3), 2, 1, (1, 1)),
    (1, 3, (12, 17), (3, 5), 1, 1, (1, 1)),
    (1, 6, (14, 20), (2, 8), 2, 1, (1, 0)),
    (1, 19, (6, 40), (5, 5), 1, 1, (3, 3)),
    (1, 18, (7, 39), (4, 5), 2, 1, (1, 1)),
    (1, 2, (16, 3), (5, 4), 1, 1, (2, 2)),
]
# One axis: rows without and with pads, whole groups of pads, the widest windows, strides, dilations, loops of tiles, images.
SERIES = [
    (1, 16, (24,), (10,), 1, 1, (0, 0)),
    (1, 16, (12,), (13,), 1, 1, (6, 6)),
    (2, 17, (33,), (5,), 1, 1, (2, 2)),
    (1, 5, (100,), (9,), 1, 1, (4, 4)),
    (1, 20, (40,), (3,), 1, 4, (8, 0)),
    (1, 40, (31,), (9,), 2, 1, (4, 4)),
    (1, 16, (50,), (9,), 4, 1, (4, 4)),
    (1, 18, (50,), (16,), 4, 1, (0, 0)),
    (1, 33, (3,), (9,), 1, 1, (6, 9)),
    (1, 7, (1,), (7,), 1, 1, (9, 3)),
    (1, 40, (12, 1), (5, 1), 1, 1, (0, 0)),
]


def depthwise(seed, batch, channels, *rest):
    spatial, kernel, stride, dilation, pads = rest
    return convolution(seed, batch, channels, spatial, channels, kernel, stride, dilation, pads, groups=channels)


def first_accepted(seed, edge):
    """The first layer of this shape, from this seed on, without two neighbouring weights of -128."""
    found = (depthwise(number, *edge) for number in itertools.count(seed))
    return next(entry for entry in found if accepted([entry]) and "_wide" not in entry.call.function)


@pytest.mark.parametrize("stride", [1, 2])
def test_tiles_at_an_edge_multiply_for_what_is_stored_alone(stride):
    for spatial, pads in (((9, 5), (1, 1)), ((5, 10), (1, 1)), ((6, 7), (1, 1)), ((19, 11), (0, 1))):
        entry = depthwise(1, 1, 3, spatial, (3, 3), stride, 1, pads)
        form = entry.kernel.node_class.form(entry.stored)
        for rows, columns in itertools.product(range(1, form.tile[0] + 1), range(1, form.tile[1] + 1)):
            places = [place for part in form.parts_of((rows, columns)) for _, places in part for place in places]
            assert len(places) == rows * columns


def test_channels_of_one_axis_are_turned_and_computed_one_at_a_time():
    for index, edge in enumerate(SERIES):
        entry = first_accepted(index, edge)
        series = sys.modules[entry.kernel.node_class.__module__.rpartition(".")[0] + ".series"]
        assert isinstance(entry.kernel.node_class.form(entry.stored), series.Series), edge


def test_a_window_over_all_of_a_signal_keeps_channels_in_lanes():
    for taps in (9, 15):
        entry = first_accepted(1, (1, 16, (taps,), (taps,), 1, 1, (0, 0)))
        assert entry.kernel.node_class.form(entry.stored) is None


def random_depthwise(seed):
    random = Randomness(seed)
    rank = random.choice(1, 2, 2)
    kernel = tuple(random.choice(1, 2, 3, 3, 3, 5) for _ in range(rank))
    spatial = tuple(random.integer(size, size + random.choice(6, 14, 24)) for size in kernel)
    dilation = random.choice(1, 1, 1, 2)
    pads = (random.integer(0, 2), random.integer(0, 2)) if dilation == 1 else (max(kernel), max(kernel))
    channels = random.choice(2, 3, 8, 16, 16, 17, 32, 48, 64, random.integer(2, 140))
    return depthwise(seed, random.choice(1, 1, 2), channels, spatial, kernel, random.choice(1, 1, 2, 3), dilation, pads)


def with_weights(values, scales, data_value=-128, dilation=1):
    """All taps of each channel as given, over values that are all the same."""
    random, channels = Randomness(3), len(values)
    data = random.data(1, channels, 6, 6).with_(quantization=per_tensor(0.5, 127))
    kind = numpy.int8 if DType.int8.holds(numpy.array(values)) else numpy.int16
    weights = constant("w", numpy.array(values, kind).reshape(channels, 1, 3, 3), Quantization(scales, (0,) * channels, 0))
    window = Window((3, 3), (1, 1), (dilation,) * 2, (dilation,) * 2, (dilation,) * 2)
    operator = Conv(window=window, groups=channels, depthwise=True)
    return case(
        operator,
        [data, weights, random.bias(channels)],
        [numpy.full(data.dims, data_value, numpy.int8)],
        quantization=per_tensor(0.5, 5),
    )


# Each copied row by row in one to four vectors, or all pixels one after the other; tiles of both shapes; both strides; pads.
STRIPS = [
    (1, 8, (48, 48), (3, 3), 1, 1, (1, 1)),
    (2, 17, (20, 30), (3, 3), 1, 1, (1, 1)),
    (1, 18, (9, 31), (3, 3), 1, 1, (0, 2)),
    (1, 20, (25, 5), (3, 3), 1, 1, (1, 1)),
    (1, 24, (12, 6), (3, 3), 1, 1, (2, 1)),
    (1, 16, (24, 40), (3, 3), 2, 1, (0, 1)),
    (1, 19, (17, 21), (3, 3), 2, 1, (1, 1)),
    (1, 3, (14, 50), (2, 3), 2, 1, (1, 0)),
]
MANY = (1, 40, (25, 5), (3, 3), 1, 1, (1, 1))  # channels of few tiles, whose third numbers would not pay


def fused(edge, zero_point=-128, vanishing=()):
    """A layer of such a shape whose multipliers fused multiplications take, but those of the `vanishing` channels."""
    entry = first_accepted(edge[1], edge)
    data, weights, *_ = entry.view.inputs
    channels, random = edge[1], Randomness(edge[1])
    scales = numpy.geomspace(0.0131, 0.0271, channels)
    scales[list(vanishing)] = 1e-12
    weights = constant("w", weights.data).with_(
        quantization=Quantization(tuple(scales.astype(numpy.float32).tolist()), (0,) * channels, 0)
    )
    bias = constant("b", random.numbers.integers(-2000, 2000, channels).astype(numpy.int32))
    data = data.with_(quantization=per_tensor(1.0, data.quantization.zero_point))
    return case(entry.view.operator, [data, weights, bias], entry.values, quantization=per_tensor(1.3, zero_point))


def fused_cases(taken=lambda entry: entry):
    """With an even zero point, and with an odd one, whose loops have two tiles in a turn wherever their number is even."""
    even, odd = ([taken(fused(edge, zero_point)) for edge in STRIPS] for zero_point in (-128, 3))
    for entry in (*even, *odd):
        folder = entry.kernel.node_class.__module__.rsplit(".", 2)[0]
        constants, assembly = sys.modules[f"{folder}.windows.single_channels"], sys.modules[f"{folder}.core.assembly"]
        twice = patch.object(assembly, "SAVED_BY_AN_INSTRUCTION", 0 if entry in odd else 40)
        with patch.multiple(constants, FEWEST_TILES=0, FEWEST_OF_FEW=0), twice:
            assert entry.call  # made, and kept
    return even, odd


def test_levels_of_strips_come_from_one_fused_multiplication_where_that_is_proved():
    for cases in fused_cases():
        assert all("_strips_" in entry.call.function for entry in cases)
        assert sum("_fused" in entry.call.function for entry in cases) >= 6
    entries = fused(STRIPS[0]), fused(STRIPS[0], vanishing=(2,)), fused(MANY)
    assert ["_fused" in entry.call.function for entry in entries] == [True, False, False]


def test_larger_windows_are_patches_of_two_vectors():
    assert sum("_strips_" in depthwise(2, *edge).call.function for edge in LONG) >= len(LONG) - 3
    assert "_lanes_" in depthwise(2, 1, 16, (9, 9), (7, 7), 1, 1, (3, 3)).call.function


# Tiles of both shapes, both strides, copies of rows and of pixels, images.
WIDE = [
    (1, 8, (20, 48), (3, 3), 1, 1, (1, 1)),
    (2, 5, (9, 17), (3, 3), 1, 1, (1, 1)),
    (1, 7, (20, 6), (3, 3), 1, 1, (0, 0)),
    (1, 24, (12, 6), (3, 3), 1, 1, (2, 1)),
    (1, 20, (25, 5), (3, 3), 1, 1, (1, 1)),
    (1, 40, (12, 12), (3, 3), 2, 1, (1, 1)),
    (1, 3, (13, 11), (3, 3), 2, 1, (1, 1)),
    (2, 19, (17, 21), (3, 3), 2, 1, (0, 1)),
    (1, 4, (11, 19), (2, 2), 1, 1, (1, 0)),
    (1, 3, (14, 50), (2, 3), 2, 1, (1, 0)),
]


def of_two_bytes():
    """Of all channels, of every second one, and with a bias of finer units, too."""
    return [with_offsets(depthwise(index, *edge), index + turn) for turn in range(3) for index, edge in enumerate(WIDE)]


def test_weights_beyond_bytes_are_sums_of_two_bytes():
    names = [entry.call.function for entry in accepted(of_two_bytes())]
    names = [name for name in names if "_halves" in name]
    assert len(names) >= 2 * len(WIDE) + len(WIDE) // 2
    assert {"_tall" in name for name in names} == {False, True}
    ends = ([254, -256] * 4 + [0], [255] + [0] * 8, [-257] + [0] * 8)
    functions = [with_weights([taps, [1] * 9], (1.0, 1.0)).call.function for taps in ends]
    assert ["_strips_" in function for function in functions] == [True, False, False]


def unlimited(entry, objective="balanced"):
    """The layer without limits of its results, on a core whose instructions overlap."""
    operator = replace(entry.view.operator, minimum=-math.inf, maximum=math.inf)
    node = replace(entry.view.node, operator=operator)
    return overlapping(replace(entry, view=replace(entry.view, node=node, objective=objective)))


@functools.cache
def overlapping_cases():
    """Lines of whole tiles and with one in part, all roundings, and loops of tiles, too many for a text."""
    series = [(1, 19, (width,), (taps,), 1, 1, (0, 0)) for width, taps in ((12, 5), (20, 9), (28, 5))]
    edges = [*EDGES, *STRIPS, *LONG, *SERIES, *series]
    plain = [unlimited(first_accepted(index, edge)) for index, edge in enumerate(edges)]
    fine = [unlimited(finer(entry, index)) for index, entry in enumerate(plain[::4])]
    wide = [unlimited(entry) for entry in accepted(of_two_bytes()[::3])]
    return [*plain, *fine, *wide, *itertools.chain(*fused_cases(unlimited))]


def test_products_of_the_next_tile_pass_before_a_tile_is_stored_where_the_core_gains_by_it():
    functions = [entry.call.function for entry in overlapping_cases()]
    for kind in ("_series_", "_strips_", "_halves", "_fused"):
        assert sum(kind in name and "_overlapping" in name for name in functions) > 3, kind
    entry = first_accepted(1, MANY)
    clamped = next(
        filter(lambda each: "_clamped" in each.call.function, (first_accepted(seed, MANY) for seed in itertools.count()))
    )
    for each, is_there in (
        (unlimited(entry), True),
        (entry, False),
        (overlapping(clamped), False),
        (unlimited(entry, "size"), False),
    ):
        assert ("_overlapping" in each.call.function) == is_there


@functools.cache
def candidates():
    alternating = [[-128, -127] * 4 + [-128]] * 3
    return [
        *(depthwise(index, *edge) for index, edge in enumerate(EDGES + LONG)),
        *(first_accepted(index, edge) for index, edge in enumerate(SERIES)),
        *itertools.chain(*fused_cases()),
        *overlapping_cases(),
        with_weights(alternating, (1e-30, 2.0**-10, 1e30)),
        with_weights([[127] * 9] * 2, (2.0**-12, 2.0**-14)),
        *(random_depthwise(2000 + seed) for seed in range(RANDOM_CASES)),
        *(finer(depthwise(index, *edge), index) for index, edge in enumerate(EDGES) if index % 3 == 0),
        *(finer(first_accepted(index, edge), index) for index, edge in enumerate(SERIES + LONG) if index % 5 == 1),
        *(with_offsets(depthwise(index, *edge), index) for index, edge in enumerate(EDGES) if index % 3 == 1),
        *of_two_bytes(),
        *(with_weights([[-128] * 9] * 3, (2.0**-14, 1e-30, 1e30), dilation=dilation) for dilation in (1, 2)),
        *(with_weights([[254, -256] * 4 + [0], [1] * 9], (2.0**-12, 2.0**-9), value) for value in (-128, 127)),
    ]


@functools.cache
def sample():
    """Those that the library takes."""
    return accepted(candidates())


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-O3",), ("-Os", "-flto")], ids=lambda flags: " ".join(flags) or "usual")
def test_depthwise_convolutions_equal_numpy_on_the_emulated_core(flags):
    assert len(sample()) > len(EDGES) // 2
    assert run(under(flags, sample()), "-Wall", "-Wextra", "-Werror", *flags) == []


def test_weights_whose_products_do_not_fit_16_bits_are_multiplied_as_halfwords():
    rows = ([-128] * 9, [-128, 127] * 4 + [-128], [-129] + [0] * 8, [1] * 8 + [128], [0] * 8 + [128])
    layers = [with_weights([taps], (1.0,), dilation=2) for taps in rows]
    assert ["_wide" in entry.call.function for entry in layers] == [True, False, True, True, False]
