# SPDX-License-Identifier: MIT
"""The convolution with a residual Add of `ref`: bit for bit what both give one after the other, also over the residual's
bytes."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy
from harness import Case, case, differing, run
from random_tensors import Randomness
from test_ref_linear import EDGES, int8_case, random_edge

from aidge_build.contract.kernel_kit.residual import RESIDUAL_TYPE
from aidge_build.graph.view import Node, graph_view
from aidge_build.operators.binary import Add
from aidge_build.prepare.adaptation.meta_operator import MetaOperator


def fused(seed: int, edge, *, of_itself: bool = False) -> Case | None:
    """The convolution of an edge shape, its result plus another tensor (or the one that it reads)."""
    random, alone = Randomness(seed + 500), int8_case(seed, *edge)
    data, weights, bias = alone.view.inputs
    between = alone.view.outputs[0].with_(name="between")
    residual = data if of_itself else random.data(*between.dims, name="residual")
    if residual.dims != between.dims or alone.view.operator.depthwise:
        return None
    low, high = random.choice((-math.inf, math.inf), (0.0, math.inf), (-1.0, 1.5))
    names = ("between", residual.name) if random.choice(True, False) else (residual.name, "between")
    nodes = (
        Node("convolution", alone.view.operator, ("x", "w", *(["b"] if bias else [])), ("between",)),
        Node("addition", Add(minimum=low, maximum=high), names, ("sum",)),
    )
    constants = [weights, *([bias] if bias else [])]
    outer = [data, *([] if of_itself else [residual]), *constants]
    total = between.with_(name="sum", quantization=random.quantization(0.1))
    graph = graph_view(
        RESIDUAL_TYPE, nodes, {tensor.name: tensor for tensor in (*outer, between, total)}, [t.name for t in outer], ["sum"]
    )
    values = [alone.values[0], *([] if of_itself else [random.int8(*residual.dims)])]
    return case(MetaOperator(RESIDUAL_TYPE, graph), outer, values, quantization=total.quantization)


@functools.cache
def cases(*, of_itself: bool = False) -> list[Case]:
    edges = [*EDGES, *filter(None, map(random_edge, range(120 if not of_itself else 900)))]
    edges += [
        (1, 8, (4, 5), 8, (3, 3), 1, 1, (1, 1), 1),
        (2, 36, (3, 3), 36, (3, 3), 1, 1, (1, 1), 1),
        (1, 70, (2, 3), 70, (1, 1), 1, 1, (0, 0), 1),
    ]
    found = [fused(seed, edge, of_itself=of_itself) for seed, edge in enumerate(edges)]
    return [entry for entry in found if entry is not None and accepted(entry)]


def accepted(entry: Case) -> bool:
    """A sum that int32 does not hold stays two nodes."""
    try:
        return entry.kernel is not None
    except AssertionError as reason:
        assert "the sum needs int64" in str(reason)
        return False


def test_it_equals_both_operators_one_after_the_other():
    entries = cases()
    assert len(entries) > 80
    for flags in ((), ("-std=c99", "-O3")):
        assert differing(entries, run(entries, *flags)) == []


def test_under_size_it_takes_one_bias_joined_with_its_multiplier():
    made = [Case(replace(entry.view, objective="size"), entry.values) for entry in cases()]
    assert sum(entry.call.function.endswith("_joined") for entry in made) > 5
    assert differing(made, run(made)) == []


def test_the_output_may_take_the_residuals_place():
    entries = cases()
    for entry in entries:
        assert entry.kernel.node_class.demands(entry.stored).in_place == (1,)
    assert differing(entries, run(entries, overwritten=1)) == []


def test_a_residual_that_the_convolution_reads_too_may_be_followed_but_not_replaced():
    entries = [entry for entry in cases(of_itself=True) if demands(entry).overlap]
    assert len(entries) >= 8 and not any(demands(entry).in_place for entry in entries)
    assert differing(entries, run(entries, lead=lambda entry: demands(entry).overlap[0][1])) == []
    assert len(differing(entries, run(entries, lead=lambda entry: 0))) >= 4


def demands(entry: Case):
    return entry.kernel.node_class.demands(entry.stored)


def test_a_broadcast_or_constant_residual_stays_with_its_add():
    entry = cases()[0]
    graph = entry.view.operator.graph
    constant = graph.tensor("residual").with_(data=numpy.zeros(graph.tensor("residual").dims, numpy.int8))
    inputs = [constant if tensor.name == "residual" else tensor for tensor in entry.view.inputs]
    refused = case(entry.view.operator, inputs, [entry.values[0]], quantization=entry.view.outputs[0].quantization)
    try:
        refused.kernel
    except AssertionError as reason:
        assert "the residual is constant" in str(reason)
    else:
        raise AssertionError("accepted")
