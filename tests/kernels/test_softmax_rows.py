# SPDX-License-Identifier: MIT
"""int8 softmax of long rows in every library that has it against its numpy meaning, bit for bit, ties included."""

from __future__ import annotations

import dataclasses
import os

import armv6m_harness
import armv7m_harness
import cortexm_harness
import helium_harness
import numpy
import pytest
from cortexm_harness import BOARD, BOARD_WITHOUT_FPU, PORTABLE, accepted
from helium_harness import needs_emulator
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.format import channels_last, row_major
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.softmax import Softmax

STRESS = bool(os.environ.get("AIDGE_STRESS"))

DIMS = ((5, 16), (3, 17), (2, 4, 32), (1, 100), (2, 63), (1, 1025), (4, 19))
SCALES = (1 / 256, 1 / 127, 0.0041, 2.0**-10, 0.1, 1 / 300)

# Rows of which one level in float32 is not the exact one, with the scales of input and output.
UNDECIDED = (
    ([127, 29, 31], (0.025, 1 / 256)),
    ([127, -33, 127], (0.1, 1 / 127)),
    ([127, -9, 56], (2.0**-6, 0.0041)),
    ([-124, -90, -110, -37, 126, 126], (0.1, 1 / 127)),
    ([30, 69, -26, -9, -91, -110], (0.025, 1 / 256)),
)


def rows(case):
    """Spread, flat, and of few different values, which give ties."""
    for seed in range(36):
        random = Randomness(seed)
        dims, axis = DIMS[seed % len(DIMS)], random.choice(-1, 0)
        data = Tensor("x", dims, DType.int8, quantization=per_tensor(random.choice(0.025, 0.1, 2.0**-6, 0.7, 1e-4), 3))
        values = random.numbers.integers(-128, 128, dims).astype(numpy.int8)
        values = (values, values // 32, numpy.where(values > 60, 5, -100), values * 0 + 7)[seed % 4].astype(numpy.int8)
        output = per_tensor(SCALES[seed % len(SCALES)], random.choice(-128, 0, 100))
        yield case(Softmax(0, True) if axis == 0 else Softmax(len(dims) - 1), [data], [values], quantization=output)


def tied_rows(case):
    """Levels in the middle between 0 and 1, in groups of 4 or behind them; beside them values whose exponential is 0."""
    for equal, others in ((32, 0), (32, 2), (64, 7)):
        data = Tensor("x", (3, equal + others), DType.int8, quantization=per_tensor(0.7, 3))
        values = numpy.array([[-100] * others + [107] * equal] * 3, numpy.int8)
        yield case(Softmax(1), [data], [values], quantization=per_tensor(2 / equal, -128))


def short_rows(case):
    """Rows of few values, and rows whose values lie apart: along any axis in both storage orders; ties, too."""
    for seed in range(60 if STRESS else 30):
        random = Randomness(seed)
        dims = (random.integer(1, 2), random.integer(1, 20), *(random.integer(1, 9) for _ in range(random.integer(1, 2))))
        form = random.choice(row_major, channels_last)(len(dims))
        scale = per_tensor(random.choice(0.025, 0.1, 2.0**-6, 0.7, 1e-4), 3)
        data = Tensor("x", dims, DType.int8, quantization=scale, format=form)
        values = random.numbers.integers(-128, 128, dims).astype(numpy.int8)
        values = (values, values // 32, numpy.where(values > 60, 5, -100), values * 0 + 7)[seed % 4].astype(numpy.int8)
        output = per_tensor(SCALES[seed % len(SCALES)], random.choice(-128, 0, 100))
        axis = random.integer(1, len(dims) - 1)
        if values.size // dims[axis] >= 2:
            yield case(Softmax(axis), [data], [values], quantization=output, format=form)


def single_rows(case):
    """As classifiers end: one to three rows of 1 to 19 values; and few values that float32 does not decide."""
    for length in range(1, 20):
        dims = (1 + length % 3, length)
        numbers = Randomness(length).numbers
        data = Tensor("x", dims, DType.int8, quantization=per_tensor((0.025, 0.1, 2.0**-6, 0.7)[length % 4], 3))
        values = (numbers.integers(-128, 128, dims), numpy.where(numbers.integers(0, 3, dims) > 1, 5, -100))[length % 2]
        output = per_tensor(SCALES[length % len(SCALES)], (-128, 0, 100)[length % 3])
        yield case(Softmax(1), [data], [values.astype(numpy.int8)], quantization=output)
    for row, scales in UNDECIDED:
        for dims, axis in (((1, len(row)), 1), ((4, len(row)), 1), ((len(row), 4), 0)):
            data = Tensor("x", dims, DType.int8, quantization=per_tensor(scales[0], 3))
            values = numpy.broadcast_to(numpy.array(row, numpy.int8), (dims[1 - axis], len(row)))
            values = numpy.ascontiguousarray(values if axis == 1 else values.T)
            yield case(Softmax(axis), [data], [values], quantization=per_tensor(scales[1], -128))


def rows_and_pixels(case):
    """For libraries that take rows of neighbours, of 4 values or more: along the last axis in memory."""
    short = [entry for entry in short_rows(case) if entry.view.inputs[0].format.order[-1] == entry.view.operator.axis]
    entries = [*tied_rows(case), *rows(case), *short]
    return accepted(
        [
            type(entry)(dataclasses.replace(entry.view, objective=("speed", "balanced")[index % 2]), entry.values)
            for index, entry in enumerate(entries)
        ]
    )


def candidates():
    """For the tests of all kernels."""
    small = [*armv7m_harness.of_this_library(rows_and_pixels(cortexm_harness.case)), *rows_and_pixels(armv6m_harness.case)]
    return [
        *rows_and_pixels(cortexm_harness.case),
        *rows(helium_harness.case),
        *list(short_rows(helium_harness.case))[::4],
        *list(single_rows(helium_harness.case))[::4],
        *small,
    ]


@needs_emulator
@pytest.mark.parametrize("flags", [("-Os",), (), PORTABLE][: 1 + 2 * STRESS], ids=str)
def test_cortexm_gives_the_exact_levels(flags):
    cases = rows_and_pixels(cortexm_harness.case)
    assert {entry.kernel.node_class.__name__ for entry in cases} == {"SoftmaxInt8", "SoftmaxInt8_1"}
    assert {entry.call.function for entry in cases} == {"aidge_cortexm_softmax_int8", "aidge_cortexm_softmax_quads_int8"}
    assert cortexm_harness.run(cases, "-Wall", "-Wextra", "-Werror", *flags, board=BOARD) == []


@needs_emulator
def test_cortexm_gives_them_without_an_fpu():
    cases = cortexm_harness.without_fpu(rows_and_pixels(cortexm_harness.case))
    assert len(cases) > 36 and cortexm_harness.run(cases, board=BOARD_WITHOUT_FPU) == []


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-Os",)][: 1 + STRESS], ids=str)
def test_cores_without_dsp_instructions_give_the_exact_levels(flags):
    step = 1 if STRESS else 3
    wide = armv7m_harness.of_this_library(rows_and_pixels(cortexm_harness.case))[::step]
    assert cortexm_harness.run(wide, "-Wall", "-Wextra", "-Werror", *flags, board=armv7m_harness.BOARD) == []
    narrow = rows_and_pixels(armv6m_harness.case)[::step]
    assert armv6m_harness.run(narrow, "-Wall", "-Wextra", "-Werror", *flags, board=armv6m_harness.BOARD) == []


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-Os",)][: 1 + STRESS], ids=str)
def test_helium_gives_the_exact_levels(flags):
    entries = [*rows(helium_harness.case), *single_rows(helium_harness.case)]
    assert {entry.call.function for entry in entries} == {"aidge_helium_softmax_int8", "aidge_helium_softmax_lanes"}
    assert helium_harness.run(entries, "-Wall", "-Wextra", "-Werror", *flags) == []


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-O3",)][: 1 + STRESS], ids=str)
def test_helium_gives_those_of_rows_in_its_lanes(flags):
    found = list(short_rows(helium_harness.case))
    assert {entry.call.function for entry in found} >= {"aidge_helium_softmax_lanes"}
    assert helium_harness.run(found, "-Wall", "-Wextra", "-Werror", *flags) == []


def test_short_rows_and_fine_scales_and_small_code_are_left_to_ref():
    entry = rows_and_pixels(armv6m_harness.case)[0]
    spec, (data,), (output,) = entry.kernel.spec, entry.view.inputs, entry.view.outputs
    short = dataclasses.replace(entry.view, inputs=(data.with_(dims=(1, 3)),), outputs=(output.with_(dims=(1, 3)),))
    assert "rows of 3 values" in spec.rejection(short, entry.features, "onnx")
    fine = dataclasses.replace(entry.view, outputs=(output.with_(quantization=per_tensor(2.0**-11, 0)),))
    assert "the output scale is" in spec.rejection(fine, entry.features, "onnx")
    assert "864 B less" in spec.rejection(dataclasses.replace(entry.view, objective="size"), entry.features, "onnx")


def test_helium_leaves_few_values_to_shorter_tables_under_size():
    for entry in single_rows(helium_harness.case):
        spec, size = entry.kernel.spec, dataclasses.replace(entry.view, objective="size")
        reason = spec.rejection(size, frozenset({"dsp", "fpu", "mve"}), "onnx")
        assert ("864 B" in reason) == (entry.view.outputs[0].elements < 64 and entry.kernel.name == "softmax_int8")


def test_the_factor_of_a_row_is_within_eight_of_the_reciprocal():
    """The steps of kit/softmax.h in whole numbers, for divisors of all sizes, those beside powers of two among them."""
    random = Randomness(1)
    for bits in range(16, 63):
        edges = [1 << bits - 1, (1 << bits - 1) + 1, (1 << bits) - 1]
        for divisor in [*edges, *(int(one) for one in random.numbers.integers(1 << bits - 1, 1 << bits, 40))]:
            leading = divisor >> bits - 32 if bits > 32 else divisor << 32 - bits
            first = 0xFFFFFFFF // (leading >> 16)
            error = (1 << 48) - leading * first >> 4
            factor = (first << 14) + (error * first >> 30)
            assert -(1 << 31) <= error < 1 << 31 and 0 < factor < 1 << 32
            assert abs(factor * divisor - (1 << bits + 30)) <= 8 * divisor
