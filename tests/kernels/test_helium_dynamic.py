# SPDX-License-Identifier: MIT
"""Layers with bytes of a run-time zero point, and DynamicQuantizeLinear, of `helium` against their numpy meaning."""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest
from dynamic_cases import convolution, dynamic_layers, fully_connected, measured_cases
from harness import under
from helium_harness import FEATURES, RANDOM_CASES, case, library, needs_emulator, random_window, run
from random_tensors import Randomness

from aidge_build.graph.dtype import DType

# batch, channels, spatial, outputs, kernel, stride, dilation, pads (begin, end), groups
EDGES = [
    (1, 16, (3, 7), 6, (1, 1), 1, 1, (0, 0), 1),
    (2, 17, (4, 4), 3, (1, 1), 1, 1, (0, 0), 1),
    (1, 5, (1, 1), 2, (1, 1), 1, 1, (0, 0), 1),
    (1, 24, (5, 5), 7, (1, 1), 1, 1, (0, 0), 1),
    (1, 777, (2, 3), 5, (1, 1), 1, 1, (0, 0), 1),
    (1, 1040, (1, 5), 2, (1, 1), 1, 1, (0, 0), 1),
    (1, 32, (9, 9), 8, (1, 1), 2, 1, (0, 0), 1),
    (1, 3, (9, 31), 8, (3, 3), 2, 1, (1, 1), 1),
    (1, 64, (8, 8), 6, (3, 3), 1, 1, (1, 1), 1),
    (1, 160, (3, 4), 4, (3, 3), 1, 1, (1, 1), 1),
    (1, 24, (7, 9), 4, (3, 3), 1, 2, (2, 2), 1),
    (1, 16, (9, 13), 4, (5, 5), 1, 2, (4, 4), 1),
    (1, 1, (49, 10), 8, (10, 4), 2, 1, (4, 5), 1),
    (2, 16, (5, 9), 4, (3, 3), 1, 1, (1, 1), 1),
    (1, 4, (9, 1), 5, (3, 1), 1, 1, (0, 0), 1),
    (1, 8, (2, 2), 3, (3, 3), 1, 1, (7, 7), 1),
    (1, 24, (6, 7), 24, (3, 3), 2, 1, (0, 1), 24),
    (1, 32, (5, 5), 32, (3, 3), 1, 1, (0, 0), 32),
    (1, 33, (4, 5), 33, (5, 5), 1, 1, (2, 2), 33),
]
DEPTHWISE = [  # of small windows
    (1, 24, (6, 43), 24, (3, 3), 1, 1, (1, 1), 24),
    (1, 24, (7, 39), 24, (3, 3), 2, 1, (1, 0), 24),
    (2, 5, (9, 34), 5, (2, 3), 1, 1, (1, 1), 5),
    (1, 24, (12, 24), 24, (3, 3), 1, 1, (1, 1), 24),
    (1, 7, (11, 16), 7, (3, 2), 2, 1, (0, 1), 7),
    (2, 96, (7, 6), 96, (3, 3), 1, 1, (2, 1), 96),
    (1, 20, (9, 38), 20, (5, 5), 1, 1, (2, 2), 20),
    (2, 7, (11, 9), 7, (5, 4), 2, 1, (1, 2), 7),
    (2, 6, (5, 6), 6, (6, 2), 1, 1, (3, 1), 6),
    (1, 3, (9, 8), 3, (7, 1), 2, 1, (3, 0), 3),
]
ONE_VECTOR = [
    (1, 8, (4, 6), 5, (1, 1), 1, 1, (0, 0), 1),
    (2, 16, (5, 5), 6, (1, 1), 1, 1, (0, 0), 1),
    (1, 12, (3, 7), 2, (1, 1), 1, 1, (0, 0), 1),
]
ROWS = [((1, 1), 2), ((1, 640), 9), ((3, 64), 10), ((2, 7, 33), 17)]
ONE_ROW = [((1, 64), 16), ((1, 33), 12), ((1, 200), 15), ((1, 208), 8), ((1, 335), 21), ((1, 5), 3), ((1, 192), 19)]


def is_taken(entry):
    """Whether the library has a kernel: grouped layers are left to others."""
    kernels = library("helium").kernels_for(entry.view.node.type, entry.view.operator.kinds())
    return any(not kernel.spec.rejection(entry.view, FEATURES, "onnx") for kernel in kernels)


def test_a_row_times_computed_weights_is_refused_also_where_weights_share_bytes():
    entry = fully_connected(case, 1, (1, 64), 16)
    data, weights, *others = entry.view.inputs
    view = replace(entry.view, inputs=(data, weights.with_(data=None), *others), packs_weights=True)
    for kernel in library("helium").kernels_for("DynamicFC", view.operator.kinds()):
        assert kernel.spec.rejection(view, FEATURES, "onnx")


def random_layer(seed):
    """A convolution of one group, or depthwise; or rows."""
    random = Randomness(seed)
    if seed % 5 == 0:
        dims = random.integer(1, 9), random.integer(1, 90)
        return fully_connected(case, seed, dims, random.integer(2, 40), seed % 2 == 1)
    spatial, kernel, dilation, pads = random_window(random)
    groups, channels, outputs = 1, random.integer(1, 40), random.integer(2, 20)
    if seed % 5 == 1:
        groups, channels, outputs = channels + 1, 1, 1
    edge = (
        random.choice(1, 1, 2),
        groups * channels,
        spatial,
        groups * outputs,
        kernel,
        random.choice(1, 1, 2),
        dilation,
        pads,
        groups,
    )
    return convolution(case, seed, edge, seed % 2 == 1)


@functools.cache
def candidates():
    own = [convolution(case, seed, edge, seed % 3 == 1) for seed, edge in enumerate(EDGES)]
    own += [convolution(case, 2 * seed, edge, seed % 2 == 1) for seed, edge in enumerate(DEPTHWISE)]
    own += [convolution(case, 2 * seed + 1, edge, seed % 2 == 1) for seed, edge in enumerate(DEPTHWISE)]  # weights of nine bits
    own += [convolution(case, seed, edge, place == 1) for seed in (2, 3, 5) for place, edge in enumerate(ONE_VECTOR)]
    own += [fully_connected(case, seed, *shape, seed % 2 == 1) for seed, shape in enumerate(ROWS)]
    own += [fully_connected(case, seed, *shape, seed % 2 == 1) for seed, shape in enumerate(ONE_ROW)]
    own += [random_layer(seed) for seed in range(4000, 4000 + RANDOM_CASES // 2)]
    own += measured_cases(case)
    return [*own, *filter(is_taken, dynamic_layers(case))]


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-Os", "-flto")], ids=["usual", "size"])
def test_layers_equal_the_meaning_on_the_emulated_core(flags):
    assert len(candidates()) > 30
    assert run(under(flags, candidates()), "-Wall", "-Wextra", "-Werror", *flags) == []


def test_depthwise_layers_of_small_windows_take_one_channel_at_a_time():
    taken = [entry.call.function for entry in candidates() if "_dynamic_strips_" in entry.call.function]
    assert len(taken) >= len(DEPTHWISE)
    assert any("_signed" in name for name in taken) and any("_stride_2x2" in name for name in taken)
    assert sum("_halves" in name for name in taken) >= 4


def made_signed(entry) -> bool:
    """Whether unsigned data become signed before they are multiplied."""
    return "_strips_" in entry.call.function


@pytest.mark.parametrize("data, taken, other", [(DType.uint8, "u8", "s8"), (DType.int8, "s8", "u8")])
def test_both_factors_of_a_product_are_signed_or_none(data, taken, other):
    of_data = (entry for entry in candidates() if entry.view.inputs[0].dtype is data and not made_signed(entry))
    texts = "".join(text for entry in of_data for text in entry.call.texts)
    assert f"vmladav.{taken}" in texts and f"vmladav.{other}" not in texts
