# SPDX-License-Identifier: MIT
"""Bands of depthwise convolutions of `helium`, rows turned four at a time, against their numpy meaning: the assembly on the
emulated Cortex-M55, and the plain C beside it on this machine."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections import Counter
from unittest.mock import patch

import numpy
import pytest
from band_layers import Layer
from harness import under_double
from helium_harness import Case, case, convolution, finer, needs_emulator, run
from test_helium_depthwise import first_accepted, fused

from aidge_build.graph.tensor import constant

STRESS = "AIDGE_STRESS" in os.environ
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")
WAYS = re.compile("_(?:fused|mixed|adding|twice|above|finer|clamped)")
# Channels, spatial, kernel, stride, dilation, pads (begin, end); rows of a band.
BLOCKS_OF_16 = [
    (64, (25, 5), (3, 3), 1, 1, (1, 1), (1, 2, 3, 4)),
    (16, (7, 12), (3, 3), 1, 1, (1, 1), (2,)),
    (17, (8, 5), (3, 3), 1, 1, (1, 1), (2,)),
    (60, (7, 6), (3, 3), 2, 1, (0, 1), (1, 2)),
    (144, (6, 3), (3, 3), 1, 1, (1, 1), (2,)),
    (133, (6, 3), (3, 3), 2, 1, (1, 1), (1,)),
    (32, (9, 9), (3, 3), 1, 2, (2, 2), (2,)),
    (20, (9, 7), (4, 4), 1, 1, (1, 2), (2,)),
    (24, (8, 7), (2, 2), 2, 1, (0, 0), (1, 2)),
    (20, (9, 8), (1, 3), 1, 1, (0, 0), (2,)),
    (40, (9, 9), (3, 3), 3, 1, (1, 2), (2,)),
    (18, (6, 6), (3, 3), 1, 1, (2, 2), (2, 3)),
]
BYTES_IN_A_RUN = [
    (8, (9, 12), (3, 3), 1, 1, (1, 1), (2,)),
    (5, (9, 7), (3, 3), 1, 1, (1, 1), (2, 3)),
    (3, (9, 11), (3, 3), 2, 1, (1, 1), (1, 2)),
    (13, (7, 5), (2, 3), 1, 1, (1, 1), (2,)),
    (5, (9, 10), (3, 3), 2, 1, (1, 1), (1, 2)),  # no pad behind the columns, whose last vector is not whole
]
BLOCKS_OF_4 = [
    (8, (6, 48), (3, 3), 1, 1, (1, 1), (2,)),
    (24, (5, 37), (3, 3), 1, 1, (1, 1), (1, 2)),
    (16, (7, 42), (3, 3), 2, 1, (1, 1), (1,)),
    (124, (5, 29), (3, 3), 1, 1, (1, 1), (2,)),
]


def without_lanes(entry: Case):
    """While channels in lanes are dear, as they are not for small windows."""
    return patch.object(entry.kernel.node_class, "_instructions_of_lanes", lambda view, rows: 1 << 30)


def quads(entry: Case, rows: int) -> list[Case]:
    """The bands of the layer, none of them but in this form."""
    with without_lanes(entry):
        made = list(Layer(entry, entry.kernel, rows).cases())
        assert made and all("_quads_" in one.call.function for one in made), entry.view.operator
    return made


def layers(edges):
    for index, (channels, spatial, kernel, stride, dilation, pads, rows) in enumerate(edges):
        yield first_accepted(index, (1, channels, spatial, kernel, stride, dilation, pads)), rows


def rounded(edges):
    """Layers whose multiplications are fused, of all channels, and of all but some."""
    for *edge, rows in edges:
        for odd_one in ((), (0, 2)):
            entry = fused((1, *edge), odd_one)
            folder = entry.kernel.node_class.__module__.rpartition(".")[0]
            with patch.multiple(sys.modules[f"{folder}.fused_stream"], FEWEST_TILES=0, FEWEST_OF_FEW=0, LEAST_SAVED=0):
                yield from quads(entry, rows[-1])


@functools.cache
def candidates() -> tuple[Case, ...]:
    found = [
        band
        for entry, many in layers(BLOCKS_OF_16 + BYTES_IN_A_RUN + BLOCKS_OF_4)
        for rows in many
        for band in quads(entry, rows)
    ]
    some = [*layers(BLOCKS_OF_16[:5:2] + BYTES_IN_A_RUN[1:2] + BLOCKS_OF_4[1:3])]
    found += [band for seed, (entry, rows) in enumerate(some) for band in quads(finer(entry, seed), rows[0])]
    found += [band for entry, rows in some for band in quads(under_double(entry), rows[-1])]
    found += rounded([BLOCKS_OF_16[0], BLOCKS_OF_16[3], BYTES_IN_A_RUN[1], BLOCKS_OF_4[1]])
    return tuple(found)


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-Os",)] if STRESS else [()])
def test_bands_equal_the_meaning_on_the_emulated_core(flags):
    made = candidates.__wrapped__()  # not those that other tests have asked for their calls while lanes were not dear
    ways = Counter(way for entry in made for way in WAYS.findall(entry.call.function))
    assert len(made) > 100 and min(ways[way] for way in ("_fused", "_mixed", "_twice", "_finer", "_clamped")) >= 3, ways
    with without_lanes(made[0]):
        assert run(made, *flags, board="mps3-an547") == []


def test_the_plain_c_equals_numpy_on_this_machine():
    made = candidates.__wrapped__()
    with without_lanes(made[0]):
        assert run(made[:: 1 if STRESS else 3], *WARNINGS, board="host") == []


def form_of(entry: Case, rows: int):
    """Of the first band, and its scratch."""
    band = Layer(entry, entry.kernel, rows).bands()[0]
    return entry.kernel.node_class.planes(band), entry.kernel.node_class.demands(band).scratch_bytes


def forced(entry: Case, rows: int):
    """The same without lanes."""
    with without_lanes(entry):
        return form_of(entry, rows)


@pytest.mark.parametrize("edges, block", [(BLOCKS_OF_16, 16), (BLOCKS_OF_4, 4)])
def test_channels_of_a_block_follow_from_its_scratch(edges, block):
    for entry, rows in layers(edges):
        for number in rows:
            form, scratch = forced(entry, number)
            assert form.block == block and scratch == 4 * block * form.shape.reached_width <= 1792


def test_a_large_block_pays_for_its_scratch():
    """Two blocks of four channels of 48 pixels are one in fifty instructions more than one of eight, for half the scratch."""
    eight, thirty_two = (first_accepted(1, (1, *edge)) for edge in (BLOCKS_OF_4[0][:-1], (32, (8, 24), (3, 3), 1, 1, (1, 1))))
    assert forced(eight, 2)[1] == 4 * 4 * 50 and forced(thirty_two, 2)[1] == 4 * 16 * 26


def test_scratch_does_not_grow_with_the_rows_of_a_band():
    (entry, _), *_ = layers(BLOCKS_OF_16)
    assert {form_of(entry, rows)[1] for rows in (1, 2, 4, 8)} == {4 * 16 * 7}


def test_two_rows_are_computed_together_where_four_rows_are_all_that_they_see():
    found = [(forced(entry, 2)[0].outputs, forced(entry, 1)[0].outputs) for entry, _ in layers(BLOCKS_OF_16)]
    assert found == [(1 + (kernel[0] + stride <= 4 and dilation == 1), 1) for _, _, kernel, stride, dilation, *_ in BLOCKS_OF_16]


@pytest.mark.parametrize("edge", [(64, (25, 1), (3, 1), 1, 1, (0, 0)), (3, (9, 5), (3, 3), 1, 1, (1, 1))])
def test_few_bytes_of_a_row_keep_channels_in_lanes(edge):
    """One pixel gives a quarter of a tile; 15 bytes are less than a vector."""
    entry = first_accepted(1, (1, *edge))
    assert form_of(entry, 2)[0] is None


def test_weights_of_nine_bits_keep_channels_in_lanes():
    entry = first_accepted(1, (1, 64, (25, 5), (3, 3), 1, 1, (1, 1)))
    data, weights, bias = entry.view.inputs
    wide = constant("w", weights.data.astype(numpy.int16) * 2 + 1, weights.quantization)
    other = case(entry.view.operator, [data, wide, bias], entry.values[:1], quantization=entry.view.outputs[0].quantization)
    assert form_of(other, 2)[0] is None


def estimated(entry: Case, rows: int) -> int:
    """Instructions of all bands of the layer."""
    height, demands = entry.stored.outputs[0].dims[2], entry.kernel.node_class.demands
    ends = [(first, min(first + rows, height)) for first in range(0, height, rows)]
    fewest = min(last - first for first, last in ends)
    return sum(demands(entry.stored.band(first, last, rows, fewest)).instructions for first, last in ends)


def test_pairs_of_rows_are_said_to_take_the_fewest_instructions():
    """Measured on 25 rows of 5 pixels, beyond the whole layer: 44 % by one row, 8 % by two and by four."""
    entry = first_accepted(1, (1, 64, (25, 5), (3, 3), 1, 1, (1, 1)))
    whole = entry.kernel.node_class.demands(entry.stored).instructions
    by_one, by_two, by_three, by_four = (estimated(entry, rows) / whole for rows in (1, 2, 3, 4))
    assert 1.3 < by_one < 1.6 and 1.3 < by_three < 1.6 and by_four < by_two
    assert 1.03 < by_two < 1.13 and 1.03 < by_four < 1.13


def test_whole_blocks_of_pixels_are_said_to_take_the_fewest_instructions():
    """Measured on 25 rows of 5 pixels, beyond the whole layer: 22.9 % by one row, 8.0 % by two, 0.2 % by four."""
    entry = convolution(1, 1, 64, (25, 5), 64, (1, 1), 1, 1, (0, 0))
    whole = entry.kernel.node_class.demands(entry.stored).instructions
    by_one, by_two, by_four = (estimated(entry, rows) / whole for rows in (1, 2, 4))
    assert 1.17 < by_one < 1.28 and 1.03 < by_two < 1.12 and 0.98 < by_four < 1.03


def test_rows_that_are_copied_again_are_said_to_take_instructions():
    """Measured on 32 rows of 32 pixels: 4.9 % by one row, 2.4 % by two, 1.1 % by four."""
    entry = convolution(1, 1, 16, (32, 32), 16, (3, 3), 1, 1, (1, 1))
    whole = entry.kernel.node_class.demands(entry.stored).instructions
    by_one, by_two, by_four = (estimated(entry, rows) / whole for rows in (1, 2, 4))
    assert 1.03 < by_one < 1.07 and 1.015 < by_two < 1.035 and 1.005 < by_four < 1.02
