# SPDX-License-Identifier: MIT
"""Depthwise layers of one output pixel of `cortexm`, bit for bit."""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest
import test_stack
from cortexm_harness import BOARD, BOARD_WITHOUT_FPU, PORTABLE, built_for, case, run, without_fpu
from harness import under, under_double
from random_tensors import Randomness
from test_cortexm_linear import extreme_cases, halfword_weights, int8_case, needs_compiler

from aidge_build.operators.window import Window

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")
# batch, channels, spatial, kernel, stride, dilation, pads (begin, end)
EDGES = [
    (1, 32, (5, 1), (5, 1), 1, 1, (0, 0)),
    (1, 64, (23,), (23,), 1, 1, (0, 0)),
    (1, 8, (12,), (12,), 1, 1, (0, 0)),
    (3, 7, (4,), (4,), 1, 1, (0, 0)),
    (2, 12, (7,), (7,), 3, 1, (0, 0)),
    (1, 4, (1,), (1,), 1, 1, (0, 0)),
    (1, 5, (1, 1), (3, 3), 1, 1, (1, 1)),
    (2, 9, (2, 3), (3, 4), 1, 1, (1, 0)),
    (1, 17, (3, 3), (3, 3), 2, 1, (0, 0)),
    (2, 6, (5, 5), (3, 3), 1, 2, (0, 0)),
    (1, 16, (4, 4), (3, 3), 4, 1, (1, 0)),
    (1, 11, (7, 7), (7, 7), 1, 1, (0, 0)),
    (1, 20, (3,), (2,), 1, 3, (1, 0)),
]


def random_edge(seed):
    random = Randomness(seed)
    rank, dilation, pads = random.integer(1, 2), random.integer(1, 2), (random.integer(0, 1), random.integer(0, 1))
    kernel = tuple(random.integer(2, 6) for _ in range(rank))
    spatial = tuple(max(1, (taps - 1) * dilation + 1 - sum(pads)) for taps in kernel)
    return random.integer(1, 2), random.integer(4, 40), spatial, kernel, random.integer(1, 3), dilation, pads


def pixel_case(seed, batch, channels, spatial, kernel, stride, dilation, pads):
    return int8_case(seed, batch, channels, spatial, channels, kernel, stride, dilation, pads, channels)


def with_inputs(entry, operator, inputs):
    return case(operator, inputs, entry.values[:1], quantization=entry.view.outputs[0].quantization)


def extreme_pixels():
    """Multipliers that vanish or saturate, sums at the middle of two levels or beyond 24 bits."""
    for entry in extreme_cases():
        if entry.view.operator.depthwise:
            window = Window((3, 3), (1, 1), (1, 1), (0, 0), (0, 0))
            yield with_inputs(entry, replace(entry.view.operator, window=window), entry.view.inputs)


@functools.cache
def candidates():
    """Edges in two ranges of their outputs, random layers, extreme ones, weights of 16 bits, and the contract `double`."""
    edges = [*EDGES, *EDGES, *map(random_edge, range(9100, 9112))]
    made = [built_for(pixel_case(9000 + index, *edge), ("balanced", "speed")[index % 2]) for index, edge in enumerate(edges)]
    wide = [
        with_inputs(entry, entry.view.operator, halfword_weights(seed, *entry.view.inputs))
        for seed, entry in enumerate(made[1:13:2])
    ]
    return [*made, *extreme_pixels(), *wide, *map(under_double, made[::5])]


def test_one_pixel_of_any_depthwise_layer_is_computed_where_its_taps_lie():
    cases = candidates()
    assert {entry.kernel.name for entry in cases} == {"depthwise_pixel_int8"}
    forms = [entry.call.function for entry in cases]
    assert any("_integer" in name for name in forms) and any("_float" in name for name in forms)
    assert not any("_words" in name for name in forms)  # their second constant would be where the output waits


@needs_compiler
@pytest.mark.parametrize("flags", [(), PORTABLE, ("-O3", "-flto")], ids=["assembly", "portable", "optimized"])
def test_layers_equal_the_meaning_on_the_emulated_core(flags):
    assert run(under(flags, candidates()), *flags, board=BOARD) == []


@needs_compiler
def test_layers_equal_the_meaning_on_a_core_without_an_fpu():
    cases = without_fpu(candidates())
    assert len(cases) == len(candidates())
    assert run(cases, board=BOARD_WITHOUT_FPU) == []
    assert max(bound.bytes for bound in test_stack.bounds(cases, BOARD_WITHOUT_FPU)) <= test_stack.MOST_BYTES


def test_the_c_versions_equal_the_meaning_on_this_machine():
    assert run(candidates(), *STRICT, board="host") == []
    assert run(without_fpu(candidates()), *STRICT, board="host") == []


@pytest.mark.parametrize(
    ("edge", "objective", "kernel"),
    [
        ((1, 8, (6,), (5,), 1, 1, (0, 0)), "balanced", "depthwise_int8"),
        ((1, 8, (5,), (5,), 1, 1, (0, 0)), "size", "depthwise_int8"),
        ((1, 8, (66,), (66,), 1, 1, (0, 0)), "balanced", "depthwise_int8"),
        ((1, 1400, (4,), (4,), 1, 1, (0, 0)), "balanced", "depthwise_int8"),
        ((1, 8, (13,), (4,), 1, 4, (0, 0)), "size", "depthwise_taps_int8"),
    ],
    ids=["two pixels", "least flash", "many taps", "distant taps", "distant columns"],
)
def test_other_layers_keep_their_kernels(edge, objective, kernel):
    assert built_for(pixel_case(1, *edge), objective).kernel.name == kernel


def test_the_output_may_lie_where_the_input_was_if_no_group_of_channels_overlaps_another():
    def places(channels):
        entry = pixel_case(1, 2, channels, (5,), (5,), 1, 1, (0, 0))
        return entry.kernel.demands(entry.view).in_place

    assert [places(channels) for channels in (8, 9)] == [(0,), ()]
