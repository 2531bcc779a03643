# SPDX-License-Identifier: MIT
"""Bands of convolutions of `helium` against their numpy meaning: the assembly of depthwise ones in strips on the emulated
Cortex-M55, and the plain C on this machine."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from unittest.mock import patch

import pytest
from band_layers import Layer
from cortexm_harness import accepted
from harness import under_double
from helium_harness import Case, convolution, finer, needs_emulator, run, with_offsets
from test_helium_depthwise import depthwise, first_accepted, fused

STRESS = "AIDGE_STRESS" in os.environ
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")
WAYS = re.compile("_(?:fused|adding|twice|above|finer|clamped|halves)")
# Channels, spatial, kernel, stride, dilation, pads (begin, end); rows of a band. Both strides, pads of even and odd numbers of
# rows, strips of three, four and six rows, rows of many vectors, last bands with fewer rows.
EDGES = [
    (64, (25, 5), (3, 3), 1, 1, (1, 1), (1, 2, 3, 4)),
    (16, (7, 12), (3, 3), 1, 1, (1, 1), (2,)),
    (17, (8, 5), (3, 3), 1, 1, (1, 1), (2,)),
    (60, (7, 6), (3, 3), 2, 1, (0, 1), (1, 2)),
    (20, (9, 7), (4, 4), 1, 1, (1, 2), (2,)),
    (24, (8, 7), (2, 2), 2, 1, (0, 0), (1, 2)),
    (18, (6, 6), (3, 3), 1, 1, (2, 2), (2, 3)),
    (8, (9, 12), (3, 3), 1, 1, (1, 1), (2, 4)),
    (3, (9, 11), (3, 3), 2, 1, (1, 1), (1, 2)),
    (8, (6, 48), (3, 3), 1, 1, (1, 1), (2,)),
    (24, (5, 37), (3, 3), 1, 1, (1, 1), (1, 2)),
    (16, (7, 42), (3, 3), 2, 1, (1, 1), (1, 2)),
    (6, (10, 90), (3, 3), 2, 1, (1, 1), (2,)),
    (12, (12, 13), (5, 5), 1, 1, (2, 2), (4, 5)),
    (12, (14, 13), (5, 5), 2, 1, (3, 2), (1, 4)),
]


def without_lanes(entry: Case):
    """While channels in lanes are dear, as they are not for small windows."""
    return patch.object(entry.kernel.node_class, "_instructions_of_lanes", lambda view, rows: 1 << 30)


def strips(entry: Case, rows: int) -> list[Case]:
    """The bands of the layer, none of them but in strips."""
    with without_lanes(entry):
        made = list(Layer(entry, entry.kernel, rows).cases())
        assert made and all("_strips_" in one.call.function for one in made), entry.view.operator
    return made


def layers(edges):
    for index, (channels, spatial, kernel, stride, dilation, pads, rows) in enumerate(edges):
        yield first_accepted(index, (1, channels, spatial, kernel, stride, dilation, pads)), rows


def fused_bands(edges):
    for *edge, rows in edges:
        entry = fused((1, *edge))
        folder = entry.kernel.node_class.__module__.rsplit(".", 2)[0]
        with patch.multiple(sys.modules[f"{folder}.windows.single_channels"], FEWEST_TILES=0, FEWEST_OF_FEW=0):
            yield from strips(entry, rows[-1])


def candidates() -> list[Case]:
    found = [band for entry, many in layers(EDGES) for rows in many for band in strips(entry, rows)]
    some = [*layers(EDGES[:8:3])]
    found += [band for seed, (entry, rows) in enumerate(some) for band in strips(finer(entry, seed), rows[0])]
    found += [band for entry, rows in some for band in strips(under_double(entry), rows[-1])]
    wide = [with_offsets(depthwise(index, 1, *edge[:-1]), index) for index, edge in enumerate(EDGES[:4])]
    found += [band for entry in accepted(wide) for band in strips(entry, 2)]
    return [*found, *fused_bands(EDGES[:8:3])]


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-Os",)] if STRESS else [()])
def test_bands_equal_the_meaning_on_the_emulated_core(flags):
    made = candidates()
    ways = Counter(way for entry in made for way in WAYS.findall(entry.call.function))
    assert len(made) > 100 and min(ways[way] for way in ("_fused", "_twice", "_finer", "_clamped", "_halves")) >= 2, ways
    with without_lanes(made[0]):
        assert run(made, *flags, board="mps3-an547") == []


def test_scratch_of_bands_does_not_grow_with_more_than_four_rows():
    entry = first_accepted(1, (1, 64, (25, 5), (3, 3), 1, 1, (1, 1)))
    bands = [Layer(entry, entry.kernel, rows).bands()[0] for rows in (5, 25)]
    assert len({entry.kernel.node_class.demands(band).scratch_bytes for band in bands}) == 1


def estimated(entry: Case, rows: int) -> int:
    """Instructions of all bands of the layer."""
    height, demands = entry.stored.outputs[0].dims[2], entry.kernel.node_class.demands
    ends = [(first, min(first + rows, height)) for first in range(0, height, rows)]
    fewest = min(last - first for first, last in ends)
    return sum(demands(entry.stored.band(first, last, rows, fewest)).instructions for first, last in ends)


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
