# SPDX-License-Identifier: MIT
"""A convolution of `cortexm` with the 2x2 max pool after it: bit for bit what both give one after the other."""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest
from band_layers import layer
from cortexm_harness import BOARD, BOARD_WITHOUT_FPU, Case, accepted, case, run, without_fpu
from harness import under_double
from helium_harness import needs_emulator
from test_cortexm_linear import LIMITED, int8_case, limited_case
from test_overlaps import promised_lead, sharing

from aidge_build.graph.view import Node, graph_view
from aidge_build.operators.pool import MaxPooling
from aidge_build.operators.window import Window
from aidge_build.prepare.adaptation.meta_operator import MetaOperator

# batch, channels, spatial, outputs, kernel, stride, dilation, pads (begin, end), groups
EDGES = [
    (1, 1, (10, 8), 8, (3, 3), 1, 1, (1, 1), 1),
    (2, 3, (9, 11), 4, (3, 3), 2, 1, (1, 1), 1),  # 5x6: the last row is in no window
    (1, 3, (6, 7), 12, (3, 2), 1, 2, (0, 1), 1),
    (1, 4, (7, 9), 4, (3, 3), 1, 1, (1, 1), 1),  # 7x9: nor is the last column
    (2, 8, (6, 6), 16, (3, 3), 1, 1, (1, 1), 1),
    (1, 16, (4, 5), 8, (2, 2), 1, 1, (0, 0), 1),
    (1, 64, (3, 60), 8, (3, 3), 1, 1, (1, 1), 1),  # tiles
    (2, 3, (8, 8), 8, (3, 3), 1, 1, (1, 1), 1),
]
MANY_PIXELS = [(1, 1, (23, 24), 8, (3, 3), 1, 1, (1, 1), 1), (1, 4, (23, 24), 12, (3, 3), 1, 1, (1, 1), 1)]  # of few weights
# Seeds of layers for which integers are proved to give the levels of all groups, or of some.
INTEGERS = [(EDGES[3], 11), (EDGES[4], 23), (MANY_PIXELS[0], 9), (MANY_PIXELS[0], 11), (MANY_PIXELS[1], 6), (MANY_PIXELS[1], 27)]
INTEGERS_WITH_LIMITS = [(EDGES[1], 0), (EDGES[1], 6), (EDGES[2], 9), (EDGES[4], 9), (MANY_PIXELS[1], 9)]
FEW_PIXELS = (1, 8, (3, 3), 8, (3, 3), 1, 1, (0, 1), 1)
POOL = MaxPooling(window=Window((2, 2), (2, 2), (1, 1), (0, 0), (0, 0)))


def fused(alone: Case, pool: MaxPooling = POOL, objective: str = "balanced") -> Case:
    inputs, between = alone.view.inputs, alone.view.outputs[0].with_(name="between")
    names = tuple(tensor.name if tensor else "" for tensor in inputs)
    (pooled,) = pool.infer([between])
    result = between.with_(name="pooled", dims=pooled.dims)
    nodes = (Node("convolution", alone.view.operator, names, ("between",)), Node("pool", pool, ("between",), ("pooled",)))
    outer = [tensor for tensor in inputs if tensor]
    tensors = {tensor.name: tensor for tensor in (*outer, between, result)}
    graph = graph_view("ConvPool", nodes, tensors, [tensor.name for tensor in outer], ["pooled"])
    made = case(MetaOperator("ConvPool", graph), outer, alone.values[:1], quantization=result.quantization)
    return Case(replace(made.view, objective=objective), made.values)


@functools.cache
def candidates() -> list[Case]:
    objectives = ("balanced", "size", "speed")
    edges = (*EDGES, FEW_PIXELS)
    made = [(int8_case(seed, *edge), objectives[seed % 3]) for edge in edges for seed in range(3)]
    made += [(int8_case(seed, *edge), "balanced") for edge, seed in INTEGERS]
    made += [(limited_case(seed, *LIMITED[seed % len(LIMITED)], *edge), "balanced") for edge, seed in INTEGERS_WITH_LIMITS]
    return [fused(alone, objective=objective) for alone, objective in made]


@needs_emulator
def test_it_equals_both_operators_one_after_the_other():
    assert {entry.call.sources for entry in candidates()} == {("sums/planes.h",), ("core/lines.h",)}
    functions = [entry.call.function for entry in candidates()]
    for form in (
        "packed_pooled_words_s4",
        "packed_pooled_s4_u12",
    ):
        assert any(form in function for function in functions), form
    assert run(candidates(), board=BOARD) == []
    assert run(without_fpu(candidates()[::2]), board=BOARD_WITHOUT_FPU) == []


@needs_emulator
def test_it_equals_both_operators_under_the_contract_of_tensorflow_lite():
    alone = [under_double(int8_case(seed, *edge)) for edge in (*EDGES, FEW_PIXELS) for seed in range(3)]
    cases = accepted([fused(entry) for entry in accepted(alone)])
    assert len(cases) > 15 and any("_twice" in entry.call.function for entry in cases)
    assert run(cases, board=BOARD) == []
    assert run(without_fpu(cases[::2]), board=BOARD_WITHOUT_FPU) == []


@needs_emulator
def test_its_output_may_follow_the_input_as_closely_as_it_says():
    found = sharing(candidates())
    assert len(found) > 10 and run(found, board=BOARD, lead=promised_lead) == []
    assert run([entry for entry in found if promised_lead(entry)], board=BOARD, lead=lambda entry: 0) != []


@needs_emulator
def test_bands_of_rows_equal_the_rows_of_both_operators():
    layers = [
        layer(fused(int8_case(seed, *edge)), Case, rows) for seed, edge in enumerate(EDGES) if edge[0] == 1 for rows in (1, 2)
    ]
    bands = [band for one in layers if one.bands() for band in one.cases()]
    assert len(bands) > 10 and run(bands, board=BOARD) == []


@pytest.mark.parametrize(
    "edge, pool, reason",
    [
        (EDGES[4], replace(POOL, window=Window((3, 3), (2, 2), (1, 1), (0, 0), (0, 0))), "not 2x2"),
        (EDGES[4], replace(POOL, maximum=0.5), "not 2x2"),
        ((1, 8, (6, 6), 8, (1, 1), 1, 1, (0, 0), 1), POOL, "a pointwise convolution"),
        ((1, 8, (6, 6), 6, (3, 3), 1, 1, (1, 1), 1), POOL, "no multiple of 4"),
        ((1, 8, (6, 6), 8, (3, 3), 1, 1, (1, 1), 2), POOL, "group"),
    ],
)
def test_another_pool_or_convolution_stays_two_layers(edge, pool, reason):
    with pytest.raises(AssertionError, match=reason):
        assert fused(int8_case(0, *edge), pool).kernel
