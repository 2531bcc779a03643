# SPDX-License-Identifier: MIT
"""What layers of the fast libraries promise the planner: outputs at the place of their input, or following it."""

from __future__ import annotations

import functools
from dataclasses import replace

import armv6m_harness
import armv7m_harness
import cortexm_harness
import helium_harness
import pytest
import rvv_harness
import test_armv7m_linear as armv7m_layers
import test_cortexm_elementwise as cortexm_elements
import test_cortexm_float as cortexm_floats
import test_cortexm_linear as cortexm_layers
import test_cortexm_pools_float as cortexm_pools
import test_helium_convolution as helium_convolutions
import test_helium_depthwise as helium_depthwise
import test_helium_float as helium_floats
from cortexm_harness import BOARD
from grouped_cases import grouped_cases
from helium_harness import needs_emulator
from pool_cases import edge_pools

from aidge_build.contract.kernel_kit.raster import convolution_demands
from aidge_build.operators.conv import Conv

# Layers beside the edges: batches, odd numbers of pixels, rows that are computed in pairs, larger outputs than inputs, rows of
# which the first ones see pads alone
MORE = (
    (1, 8, (6, 6), 12, (2, 2), 2, 1, (4, 0), 1),
    (1, 3, (6, 6), 4, (2, 2), 2, 1, (4, 0), 1),
    (1, 24, (3, 3), 24, (1, 1), 1, 1, (0, 0), 1),
    (2, 8, (4, 5), 20, (1, 1), 1, 1, (0, 0), 1),
    (2, 24, (3, 3), 8, (1, 1), 1, 1, (0, 0), 1),
    (2, 4, (9, 7), 4, (3, 3), 1, 1, (1, 1), 1),
    (1, 8, (8, 8), 8, (3, 3), 1, 1, (1, 1), 1),
    (2, 8, (7, 6), 24, (3, 3), 1, 1, (1, 1), 1),
    (1, 3, (9, 7), 8, (3, 3), 1, 1, (1, 1), 1),
    (2, 8, (9, 9), 8, (3, 3), 1, 1, (1, 1), 8),
    (1, 16, (40, 24), 16, (3, 3), 1, 1, (1, 1), 16),
    (2, 8, (12, 12), 8, (3, 3), 2, 1, (0, 1), 8),
    (2, 8, (12, 12), 8, (3, 3), 1, 1, (2, 2), 8),
    (2, 8, (12, 5), 8, (5, 2), 1, 1, (0, 0), 8),
)


def demands(entry):
    return entry.kernel.node_class.demands(entry.stored)


def promised_lead(entry):
    """How far before its input the output may begin at the latest."""
    found = demands(entry)
    return 0 if found.in_place else found.overlap[0][1]


def sharing(cases):
    """Those whose output may lie over input 0."""
    return [entry for entry in cases if 0 in demands(entry).in_place or demands(entry).overlap]


def long_rows():
    return list(cortexm_layers.fc_cases(cortexm_layers.LONG_ROWS))


@functools.cache
def cortexm_cases():
    edges = [cortexm_layers.int8_case(0, *edge) for edge in (*cortexm_layers.EDGES, *MORE)]
    return sharing(cortexm_harness.accepted([*edges, *long_rows()]))


@functools.cache
def armv6m_cases():
    made = [cortexm_layers.int8_case(0, *edge) for edge in (*cortexm_layers.EDGES, *MORE)]
    return sharing(armv6m_harness.accepted([armv6m_harness.taken(entry) for entry in (*made, *long_rows())]))


@functools.cache
def rvv_cases():
    """The edges, MORE, and layers with more channels than a vector has."""
    long = [(1, 70, (4, 5), 70, (1, 1), 1, 1, (0, 0), 1), (1, 40, (5, 6), 40, (3, 3), 1, 1, (1, 1), 1)]
    made = [cortexm_layers.int8_case(0, *edge) for edge in (*cortexm_layers.EDGES, *MORE, *long)]
    pools = edge_pools(rvv_harness.case)[::3]
    return sharing(rvv_harness.accepted([*map(rvv_harness.taken, made), *pools]))


@functools.cache
def helium_cases():
    """The edges, MORE, a pointwise layer of few channels whose pixels pass in several parts, and layers in groups."""
    dense = [
        *helium_convolutions.EDGES,
        (1, 8, (40, 30), 8, (1, 1), 1, 1, (0, 0)),
        *(edge[:-1] for edge in MORE if edge[-1] == 1),
    ]
    deep = [*helium_depthwise.EDGES, *((*edge[:3], *edge[4:-1]) for edge in MORE if edge[-1] > 1)]
    return sharing(
        cortexm_harness.accepted(
            [
                *(helium_harness.convolution(seed, *edge) for seed, edge in enumerate(dense)),
                *(helium_depthwise.depthwise(100 + seed, *edge) for seed, edge in enumerate(deep)),
                *grouped_cases(),
                *(helium_harness.Case(entry.view, entry.values) for entry in long_rows()),
            ]
        )
    )


@functools.cache
def armv7m_cases():
    edges = (*armv7m_layers.OWN_EDGES, *cortexm_layers.EDGES[::2], *MORE)
    made = [cortexm_layers.int8_case(0, *edge) for edge in edges]
    cases = armv7m_harness.of_this_library([*made, *long_rows()])
    return sharing(cortexm_harness.accepted(cases))


@needs_emulator
def test_cortexm_layers_may_overwrite_what_they_say():
    cases = cortexm_cases()
    assert len(cases) >= 40 and sum(bool(demands(entry).in_place) for entry in cases) >= 8
    assert cortexm_harness.run(cases, board=BOARD, lead=promised_lead) == []


@needs_emulator
def test_cortexm_pools_may_overwrite_what_they_say():
    cases = sharing([*cortexm_elements.narrow_pools(), *cortexm_elements.means_of_halves()])[::2]
    assert len(cases) >= 15
    assert cortexm_harness.run(cases, board=BOARD, lead=promised_lead) == []


@needs_emulator
def test_armv6m_layers_may_overwrite_what_they_say():
    cases = armv6m_cases()
    assert len(cases) >= 25 and sum(bool(demands(entry).in_place) for entry in cases) >= 5
    assert armv6m_harness.run(cases, board=armv6m_harness.BOARD, lead=promised_lead) == []


def test_pointwise_layers_of_armv6m_may_lie_where_their_input_lies_as_pixels_are_gathered_before_they_are_written():
    narrowing = armv6m_harness.taken(cortexm_layers.int8_case(0, 2, 24, (3, 3), 8, (1, 1), 1, 1, (0, 0), 1))
    assert demands(narrowing).overlap == ((0, 0),)


def test_depthwise_layers_of_armv6m_that_shrink_an_image_take_the_bytes_of_their_input():
    shrinking = armv6m_harness.taken(cortexm_layers.int8_case(0, 2, 8, (12, 5), 8, (5, 2), 1, 1, (0, 0), 8))
    assert demands(shrinking).in_place == (0,)


@rvv_harness.needs_riscv
def test_rvv_layers_may_overwrite_what_they_say():
    cases = rvv_cases()
    assert len(cases) >= 40
    assert rvv_harness.run(cases, board=rvv_harness.BOARD, lead=promised_lead) == []


@needs_emulator
def test_helium_layers_may_overwrite_what_they_say():
    cases = helium_cases()
    assert len(cases) >= 50 and sum(bool(demands(entry).in_place) for entry in cases) >= 5
    assert helium_harness.run(cases, lead=promised_lead) == []


@needs_emulator
def test_armv7m_layers_may_overwrite_what_they_say():
    cases = armv7m_cases()
    assert len(cases) >= 20
    assert helium_harness.run(cases, board=armv7m_harness.BOARD, lead=promised_lead) == []


@needs_emulator
def test_float_layers_of_cortexm_may_overwrite_what_they_say():
    cases = sharing([*cortexm_floats.candidates(), *cortexm_pools.candidates()])
    assert len(cases) >= 10 and {entry.view.node.type for entry in cases} >= {"Conv2D", "ConvDepthWise2D", "MaxPooling2D"}
    assert cortexm_harness.run(cases, board=BOARD, lead=promised_lead) == []


@needs_emulator
def test_float_layers_of_helium_may_overwrite_what_they_say():
    cases = sharing(helium_floats.candidates())
    assert len(cases) >= 40 and {entry.view.operator.groups for entry in cases if entry.view.node.type == "Conv2D"} >= {1, 2, 3}
    assert helium_harness.run(cases, lead=promised_lead) == []


@needs_emulator
def test_small_float_layers_of_helium_follow_their_input_as_closely_as_those_that_finish_single_pixels():
    """With --optimize size."""
    made = [entry for entry in helium_floats.candidates() if isinstance(entry.view.operator, Conv)]
    cases = sharing([helium_harness.Case(replace(entry.view, objective="size"), entry.values) for entry in made])
    alone = [entry for entry in cases if entry.view.operator.groups == 1 or entry.view.operator.depthwise]
    dense = [entry for entry in alone if not entry.view.operator.depthwise]
    assert [demands(entry).overlap for entry in dense] == [convolution_demands(entry.stored).overlap for entry in dense]
    assert len(cases) >= 40
    assert helium_harness.run(cases[::2], lead=promised_lead) == []


def test_float_depthwise_layers_of_helium_follow_their_input_a_pixel_closer_than_what_forgets_channels():
    for entry in helium_floats.large_depthwise():
        ((_, lead),), channels = demands(entry).overlap, entry.view.inputs[0].dims[1]
        pixels = entry.call.facts["block"]
        ((_, plain),) = convolution_demands(entry.stored, int(pixels[0])).overlap
        assert plain - lead == 4 * (channels - -channels % 4)


@needs_emulator
@pytest.mark.parametrize(
    "cases, board",
    [
        (cortexm_cases, BOARD),
        (helium_cases, "mps3-an547"),
        (armv7m_cases, armv7m_harness.BOARD),
        (armv6m_cases, armv6m_harness.BOARD),
    ],
    ids=["cortexm", "helium", "armv7m", "armv6m"],
)
def test_without_the_distance_layers_overwrite_what_they_read(cases, board):
    """All cases run; those that have a distance are counted."""
    distant = {number for number, entry in enumerate(cases()) if demands(entry).overlap and promised_lead(entry) > 0}
    wrong = {int(text.partition(":")[0]) for text in helium_harness.run(cases(), board=board, lead=lambda entry: 0)}
    assert len(wrong & distant) >= len(distant) // 2 >= 5
