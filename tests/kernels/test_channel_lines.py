# SPDX-License-Identifier: MIT
"""Batch normalization of stored values, with or without a clamp behind it, or as two sums or products with constants of each
channel: bit for bit what each of them gives."""

from __future__ import annotations

import math
import os

import armv7m_harness
import cortexm_harness
import harness
import helium_harness
import numpy
import pytest
from armv7m_harness import of_this_library
from helium_harness import needs_emulator, run
from random_tensors import Randomness

from aidge_build.contract.kernel_kit.channel_lines import CHANNEL_LINES_TYPE
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import constant
from aidge_build.graph.view import Node, graph_view
from aidge_build.operators.activation import Clip
from aidge_build.operators.batchnorm import BatchNormalization
from aidge_build.operators.binary import Add, Mul, Sub
from aidge_build.prepare.adaptation.meta_operator import MetaOperator

STRESS = "AIDGE_STRESS" in os.environ
DIMS = [(1, 1), (1, 5), (2, 3), (1, 4, 1), (1, 3, 4), (2, 3, 5, 1), (1, 7, 3, 3), (2, 4, 2, 3), (1, 9, 2, 2, 2), (1, 16, 5, 5)]


def chain(make, seed: int, dims: tuple[int, ...], *, axis: int = 1):
    """Data through two operators, each with a constant on either side, of one number or one for each channel."""
    random = Randomness(seed)
    data, nodes = random.data(*dims), []
    tensors, name = {"x": data}, "x"
    for place in ("first", "second"):
        operator = random.choice(Mul, Mul, Add, Sub)
        sizes = (random.choice(1, dims[axis]), *(1,) * (len(dims) - 1 - axis)) if dims else ()
        sizes = random.choice(sizes, (1,) * (len(dims) - len(sizes)) + sizes)
        tensors[f"c{place}"] = constant(f"c{place}", random.int8(*sizes), random.quantization(0.012))
        names = (name, f"c{place}") if random.choice(True, False) else (f"c{place}", name)
        low = random.choice(-math.inf, -math.inf, 0.0)
        name, around = place, 0.07 if operator is not Mul else 0.03
        tensors[place] = data.with_(name=place, quantization=random.quantization(around))
        nodes.append(Node(place, operator(minimum=low), names, (place,)))
    outer = ["x", "cfirst", "csecond"]
    graph = graph_view(CHANNEL_LINES_TYPE, nodes, tensors, outer, ["second"])
    inputs = [tensors[one] for one in outer]
    return make(
        MetaOperator(CHANNEL_LINES_TYPE, graph), inputs, [random.int8(*dims)], quantization=tensors["second"].quantization
    )


def normalization(make, seed: int, dims: tuple[int, ...]):
    """Batch normalization, every other time with a Clip to other levels behind it."""
    random = Randomness(seed)
    data = random.data(*dims)
    ends = ((0.5, 2.0), (-1.0, 1.0), (-0.5, 0.5), (0.2, 3.0))
    channels = [random.numbers.uniform(low, high, dims[1] if len(dims) > 1 else 1).astype(numpy.float32) for low, high in ends]
    parameters = [constant(name, values) for name, values in zip(("scale", "bias", "mean", "variance"), channels)]
    operator, between = BatchNormalization(), random.quantization(0.05)
    if seed % 2:
        return make(operator, [data, *parameters], [random.int8(*dims)], quantization=between)
    clipped = per_tensor(6 / 255, -128)
    tensors = {"x": data, "made": data.with_(name="made", quantization=between)}
    tensors |= {"y": data.with_(name="y", quantization=clipped)} | {tensor.name: tensor for tensor in parameters}
    outer = ["x", *(tensor.name for tensor in parameters)]
    nodes = [Node("first", operator, tuple(outer), ("made",)), Node("second", Clip(minimum=0.0, maximum=6.0), ("made",), ("y",))]
    graph = graph_view(CHANNEL_LINES_TYPE, nodes, tensors, outer, ["y"])
    inputs = [tensors[one] for one in outer]
    return make(MetaOperator(CHANNEL_LINES_TYPE, graph), inputs, [random.int8(*dims)], quantization=clipped)


def chains(make, count: int = 60):
    normalized = [normalization(make, seed, DIMS[seed % len(DIMS)]) for seed in range(count // 3)]
    return _sums(make, count) + normalized


def _sums(make, count: int):
    return [chain(make, seed, DIMS[seed % len(DIMS)]) for seed in range(count)]


def candidates():
    """For the tests of all kernels."""
    return [*wide(helium_harness.case)[::4], *of_this_library(chains(cortexm_harness.case))]


def proved(cases):
    found = cortexm_harness.accepted(cases)
    assert len(found) > len(cases) // 3 and {entry.call.function[-5:] for entry in found}
    return found


def test_the_c_equals_both_operators_one_after_the_other_also_in_place():
    cases = proved(chains(harness.case, 200 if STRESS else 60))
    for flags in ((), ("-std=c99", "-O3")):
        assert harness.differing(cases, harness.run(cases, *flags)) == []
    assert all(entry.kernel.node_class.demands(entry.stored).in_place[0] == 0 for entry in cases)
    assert harness.differing(cases, harness.run(cases, overwritten=0)) == []


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-Os",)])
def test_the_assembly_equals_both_operators_on_cores_with_and_without_dsp(flags):
    cases = proved(of_this_library(chains(cortexm_harness.case)))
    for board in (armv7m_harness.BOARD, cortexm_harness.BOARD):
        assert run(harness.under(flags, cases), *flags, board=board) == []


WIDE = [(1, 4), (1, 8, 3, 3), (2, 16, 5), (1, 17, 2, 2), (1, 16, 1, 1), (2, 30, 3, 2), (1, 12, 7, 9)]


def wide(make, count: int = 28):
    """With channels that fill the lanes, or are many."""
    normalized = [normalization(make, 400 + seed, WIDE[seed % len(WIDE)]) for seed in range(count // 2)]
    return [chain(make, 300 + seed, WIDE[seed % len(WIDE)]) for seed in range(count)] + normalized


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-Os",)][: 1 + STRESS], ids=str)
def test_helium_gives_the_same(flags):
    cases = cortexm_harness.accepted(wide(helium_harness.case))
    assert {entry.call.function.endswith("_rest") for entry in cases} == {True, False}
    assert helium_harness.run(cases, "-Wall", "-Wextra", "-Werror", *flags) == []
    first = [entry for entry in cases if 0 in entry.kernel.node_class.demands(entry.stored).in_place]
    assert first and helium_harness.run(first, *flags, lead=lambda entry: 0) == []


def test_constants_along_another_axis_and_bounds_that_no_line_keeps_are_left_to_both_operators():
    refused = [chain(harness.case, seed, (1, 3, 4, 5), axis=2) for seed in range(40)]
    along = [entry for entry in refused if any(tensor.elements > 1 for tensor in entry.view.inputs[1:])]
    for entry in along:
        with pytest.raises(AssertionError, match="has no constant of one number, or of one for each channel"):
            _ = entry.kernel
    reasons = set()
    for entry in chains(harness.case, 200):
        try:
            _ = entry.kernel
        except AssertionError as reason:
            reasons |= {"no line in int32" in str(reason)}
    assert len(along) > 10 and reasons == {True}


def test_batch_normalization_with_ordinary_scales_has_its_lines_and_that_of_a_vector_stays_in_float():
    found = [normalization(harness.case, seed, (1, 8, 3, 3)) for seed in range(20)]
    assert len(cortexm_harness.accepted(found)) > 15
    for make in (harness.case, helium_harness.case):
        with pytest.raises(AssertionError, match="no data of the dims"):
            _ = normalization(make, 1, (7,)).kernel


def test_numbers_without_channels_are_left_to_both_operators():
    for make in (harness.case, helium_harness.case):
        for dims in ((), (5,)):
            with pytest.raises(AssertionError, match="no data of the dims"):
                _ = chain(make, 1, dims, axis=0).kernel
