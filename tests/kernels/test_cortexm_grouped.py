# SPDX-License-Identifier: MIT
"""int8 convolutions of `cortexm` in several groups, among them those with several outputs per channel, bit for bit."""

from __future__ import annotations

import functools

import pytest
from cortexm_harness import BOARD, accepted, built_for, run
from harness import under
from random_tensors import Randomness
from test_cortexm_linear import RANDOM_CASES, int8_case, needs_compiler, random_edge

# batch, channels, spatial, outputs, kernel, stride, dilation, pads (begin, end), groups
EDGES = [
    (1, 8, (5, 6), 8, (3, 3), 1, 1, (1, 1), 2),
    (2, 16, (5, 5), 12, (3, 3), 2, 1, (1, 0), 2),
    (1, 12, (7, 9), 15, (3, 3), 1, 1, (1, 1), 3),
    (1, 24, (4, 70), 24, (3, 3), 1, 1, (1, 1), 2),
    (1, 16, (3, 71), 10, (3, 3), 1, 1, (1, 1), 2),
    (1, 60, (3, 3), 30, (1, 1), 1, 1, (0, 0), 3),
    (1, 96, (4, 5), 8, (3, 3), 1, 1, (1, 1), 2),
    (1, 9, (6, 7), 12, (3, 2), 1, 2, (1, 1), 3),
    (1, 16, (6, 7), 8, (3, 2), 1, 2, (1, 1), 2),
    (1, 10, (5, 5), 15, (3, 3), 1, 1, (1, 1), 5),
    (2, 6, (5, 5), 6, (3, 3), 1, 1, (1, 1), 3),
    (1, 10, (3, 7), 5, (2, 3), 3, 1, (0, 2), 5),
    (1, 4, (4, 4), 4, (1, 1), 1, 1, (0, 0), 2),
    (1, 3, (5, 7), 6, (3, 3), 1, 1, (1, 1), 3),
    (1, 8, (6, 6), 16, (3, 3), 2, 1, (1, 1), 8),
    (2, 5, (6, 5), 15, (3, 3), 1, 1, (1, 1), 5),
    (1, 3, (5, 5), 12, (3, 3), 1, 1, (0, 0), 3),
    (1, 3, (1, 1), 15, (3, 3), 1, 1, (1, 1), 3),
    (1, 4, (9, 9), 8, (5, 5), 3, 1, (2, 2), 4),
    (1, 6, (15,), 12, (5,), 1, 2, (1, 0), 6),
    (1, 8, (12,), 12, (3,), 2, 1, (0, 1), 2),
]
OBJECTIVES = ("balanced", "size", "speed")


def random_groups(seed):
    random = Randomness(seed)
    groups, channels, outputs = random.integer(2, 6), random.choice(1, 2, 3, 4, 8, 12), random.integer(1, 9)
    while channels == outputs == 1 or groups * outputs < 4:
        outputs += 1
    edge = random_edge(seed)
    return edge and (edge[0], groups * channels, edge[2], groups * outputs, *edge[4:8], groups)


@functools.cache
def candidates():
    """Cases of every objective."""
    many = [(1, 32, (4, 5), 64, (3, 3), 1, 1, (1, 1), 32), (1, 24, (4, 3), 36, (1, 1), 1, 1, (0, 0), 6)] * 3
    edges = [*EDGES, *many, *filter(None, map(random_groups, range(7000, 7000 + RANDOM_CASES // 2)))]
    return [built_for(int8_case(index, *edge), OBJECTIVES[index % 3]) for index, edge in enumerate(edges)]


def test_no_layer_of_few_taps_is_left_to_another_library():
    cases = candidates()
    assert len(accepted(cases)) == len(cases) > 40
    assert {entry.kernel.name for entry in cases} == {"conv2d_grouped_int8"}
    assert {
        form
        for form in ("packed", "wide")
        for entry in cases
        if f"_{form}_" in entry.call.function and "_even" in entry.call.function
    } == {"packed", "wide"}  # both forms of the requantization in blocks of one length


@needs_compiler
@pytest.mark.parametrize("flags", [(), ("-O3", "-flto")], ids=["usual", "optimized"])
def test_layers_equal_the_meaning_on_the_emulated_core(flags):
    assert run(under(flags, candidates()), *flags, board=BOARD) == []
