# SPDX-License-Identifier: MIT
"""int8 convolutions, fully connected layers and sums of `armv7m` against their numpy meaning, bit for bit: the assembly on an
emulated Cortex-M3; the C beside the assembly of sums on the core and on this machine."""

from __future__ import annotations

import functools
import os
import sys

import numpy
import pytest
import test_cortexm_linear
from armv7m_harness import BOARD, of_this_library
from binary_cases import binaries
from cortexm_harness import accepted, built_for, case
from harness import under
from helium_harness import library, needs_emulator, run
from random_tensors import halfword_weights, offset_weights
from test_cortexm_linear import EDGES, fc_cases, int8_case

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import constant

STRESS = "AIDGE_STRESS" in os.environ

# batch, channels, spatial, outputs, kernel, stride, dilation, pads (begin, end), groups
OWN_EDGES = [
    (1, 1, (3, 2), 1, (1, 1), 1, 1, (0, 0), 1),  # one tap
    (1, 16, (3, 3), 3, (1, 1), 1, 1, (0, 0), 1),  # one tap more than a turn of the steps
    (1, 17, (3, 3), 2, (1, 1), 1, 1, (0, 0), 1),
    (1, 18, (3, 3), 2, (1, 1), 1, 1, (0, 0), 1),
    (2, 5, (3, 3), 3, (1, 1), 1, 1, (0, 0), 1),  # pixels of both images in one block
    (2, 2, (5, 5), 3, (3, 3), 1, 1, (1, 1), 1),
    (1, 400, (2, 2), 5, (1, 1), 1, 1, (0, 0), 1),  # 4 pixels x 2 channels
    (1, 600, (2, 2), 7, (1, 1), 1, 1, (0, 0), 1),  # 2 pixels x 4 channels
    (1, 60, (4, 3), 6, (3, 3), 1, 1, (1, 1), 1),
    (1, 90, (4, 3), 6, (3, 3), 1, 1, (1, 1), 1),
    (1, 3, (4, 9), 5, (2, 3), 1, 2, (3, 0), 1),
    (1, 210, (3, 3), 5, (1, 1), 1, 1, (0, 0), 1),  # several segments of 6 pixels, and of 3
    (1, 400, (3, 1), 4, (1, 1), 1, 1, (0, 0), 1),
    (1, 9, (4, 5), 1, (3, 3), 1, 1, (1, 1), 1),  # one channel
]


# Sums of so many taps that no line gives every level where a bias lies between two units.
FINE_EDGES = [
    (1, 64, (5, 5), 9, (1, 1), 1, 1, (0, 0), 1),
    (1, 21, (4, 3), 6, (3, 3), 1, 1, (1, 1), 1),
    (1, 400, (2, 2), 8, (1, 1), 1, 1, (0, 0), 1),
    (1, 300, (1, 1), 12, (1, 1), 1, 1, (0, 0), 1),
    (1, 12, (9, 7), 12, (5, 5), 1, 1, (2, 2), 12),
    (1, 50, (3, 3), 12, (3, 3), 1, 1, (0, 0), 1),
]


DEPTHWISE = [
    *[(1, 6, (10, 9), 6, (7, 7), 1, 1, (3, 3), 6)] * 2,
    (2, 6, (9, 8), 6, (3, 3), 2, 1, (1, 1), 6),
    (1, 4, (21,), 4, (3,), 1, 2, (2, 2), 4),
]


def fine_cases():
    """Layers whose weights are bytes times a power of two, with biases between two such units."""
    layers = [built_for(int8_case(seed, *edge), ("balanced", "speed")[seed % 2]) for seed in range(6) for edge in FINE_EDGES]
    return finer_cases([*layers, *list(fc_cases())[9:12]])


def finer_cases(layers):
    """These layers of bytes, changed so."""
    for index, entry in enumerate(layers):
        inputs = halfword_weights(3 * index, *entry.view.inputs)
        made = case(entry.view.operator, inputs, entry.values[:1], quantization=entry.view.outputs[0].quantization)
        yield built_for(made, entry.view.objective)


def offset_cases():
    """Layers whose weights bytes do not hold, but bytes and an offset do; with biases between two units, too."""
    for index, edge in enumerate(
        [*OWN_EDGES[::2], *FINE_EDGES[:3], *[OWN_EDGES[7]] * 5, FINE_EDGES[2], OWN_EDGES[10], *DEPTHWISE, OWN_EDGES[13]]
    ):
        entry = int8_case(index, *edge)
        data, weights, bias = entry.view.inputs
        less = offset_weights(index, weights)
        if data.dims[1] > 500:  # so many that their sums hold small weights only
            small = weights.data.astype(numpy.int16) // 2
            small[:, 0] = -150
            less = constant("w", small, weights.quantization)
        inputs = [data, less, bias]
        if index % 3 == 0:
            inputs = halfword_weights(3 * index, *inputs)
        quantization = entry.view.outputs[0].quantization
        made = case(entry.view.operator, inputs, entry.values[:1], quantization=quantization)
        yield built_for(made, ("balanced", "speed")[index % 2])


@functools.cache
def linear_cases():
    """Cases that a kernel of the library may refuse; every objective has its share."""
    own = [built_for(int8_case(seed, *edge), ("balanced", "speed")[seed % 2]) for seed in range(4) for edge in OWN_EDGES]
    return of_this_library([*own, *fine_cases(), *offset_cases(), *test_cortexm_linear.candidates()])


def sums():
    return of_this_library(binaries(case, 160))


@functools.cache
def candidates():
    return [*linear_cases(), *sums()]


def sample(step: int = 1):
    return accepted([*linear_cases()[::step], *sums()[::step]])


@needs_emulator
def test_layers_equal_the_meaning_on_the_emulated_core():
    cases = sample(1 if STRESS else 2)
    assert len(cases) > 100 and "add_int8" in {entry.kernel.name for entry in cases}
    assert run(cases, board=BOARD) == []


@needs_emulator
@pytest.mark.parametrize("flags", [("-O0",), ("-Os",), *([("-O3",), ("-O2", "-flto")] if STRESS else [])])
def test_the_result_does_not_depend_on_compiler_options(flags):
    edges = [int8_case(2, *edge) for edge in [*OWN_EDGES, *EDGES[:: 1 if STRESS else 5]]]
    cases = of_this_library([*edges, *fine_cases(), *offset_cases()])
    assert run(accepted(under(flags, cases)), *flags, board=BOARD) == []


def test_weights_that_are_multiples_of_bytes_are_bytes_in_flash():
    wide = [entry for entry in linear_cases() if entry.view.inputs[1].dtype is DType.int16]
    assert {entry.view.node.type for entry in wide} >= {"Conv2D", "ConvDepthWise2D"} and len(wide) > 5


def test_a_bias_between_two_units_keeps_a_layer_fast_whatever_its_sums_are():
    cases = of_this_library(fine_cases())
    assert len(accepted(cases)) == len(cases)
    functions = [entry.call.function for entry in cases]
    for form in (
        "long_6x2_line",
        "long_3x4_line",
        "fc_int8_fine",
        "conv2d_rows_int8_fine",
        "depthwise_int8",
    ):
        assert any(form in function and "fine" in function for function in functions), form


def test_weights_less_a_zero_point_are_bytes_in_flash_in_blocks_of_every_shape():
    entries = accepted(of_this_library(offset_cases()))
    functions = [entry.call.function for entry in entries]
    for shape in ("6x2", "3x4", "6x1"):
        assert any(f"_long_{shape}_" in name and name.endswith("_offset") for name in functions), shape
    assert any("_some_" in name and name.endswith("_offset") for name in functions)
    depthwise = [name for name in functions if "depthwise_int8_wide_" in name]
    assert any(name.endswith(("_some", "_fine")) for name in depthwise) and len(depthwise) > 2
    assert any("_fine_" in name and name.endswith("_offset") for name in functions)
    for entry in entries:
        (weights,) = (argument.values for argument in entry.call.arguments if getattr(argument, "name", "") == "weights")
        if entry.call.function.endswith("_offset"):
            assert weights.dtype == numpy.int8 and weights.size <= 2 * entry.view.inputs[1].data.size + 8


def test_segments_hold_as_many_taps_as_21_bits_do_whatever_the_inputs_are():
    kernel = next(one for one in library("armv7m").kernels if one.name == "conv2d_int8")
    dense = sys.modules[kernel.node_class.__module__.rpartition(".")[0] + ".dense"]
    random = numpy.random.default_rng(3)

    def fits(rows, count):
        parts = [rows[:, max(0, end - count) : end] for end in range(rows.shape[1], 0, -count)]
        ends = [numpy.stack([part * end for end in (-128, 127)]) for part in parts]
        return all(abs(side.sum(axis=1)).max() < 1 << 20 for one in ends for side in (one.min(axis=0), one.max(axis=0)))

    for scale in (2, 20, 60, 127):
        rows = numpy.clip(numpy.rint(random.normal(0, scale, (3, 400))), -128, 127).astype(numpy.int64)
        count = dense.segment_taps(rows, 10, False)
        assert fits(rows, count) and (count == 400 or count % 10 == 1)
        assert count >= 391 or not fits(rows, count + 20)  # bounded by the larger end of each product
    assert dense.segment_taps(numpy.full((2, 64), -127), 10, False) == 64
    assert dense.segment_taps(numpy.full((2, 64), -128), 10, False) == 61
    assert dense.segment_taps(numpy.zeros((2, 200)), 10, True) == 61


def test_a_build_for_the_least_memory_gets_no_kernel_that_needs_scratch():
    (entry,) = accepted(of_this_library([int8_case(0, *OWN_EDGES[5])]))
    assert "least memory" in entry.kernel.spec.rejection(built_for(entry, "size").view, entry.features, "onnx")
    assert entry.kernel.spec.rejection(built_for(entry, "speed").view, entry.features, "onnx") == ""
