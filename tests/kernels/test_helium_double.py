# SPDX-License-Identifier: MIT
"""int8 layers of `helium` under the contract of TensorFlow Lite's reference kernels, against their numpy meaning."""

from __future__ import annotations

import functools
import os
import re

import test_helium_convolution
import test_helium_depthwise
import test_helium_others
from harness import under_double
from helium_harness import Case, case, convolution, needs_emulator, run, with_offsets
from random_tensors import Randomness
from test_cortexm_double import averages
from test_helium_depthwise import depthwise
from test_helium_others import fully_connected
from test_ref_double import averages_of_windows, with_scale

from aidge_build.operators.pool import AvgPoolingHalvesUp
from aidge_build.operators.window import Window

WAYS = re.compile("_(?:once|twice|above)(?:_short)?")
STRESS = "AIDGE_STRESS" in os.environ
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")


def far_cases():
    """Levels beyond 16 bits: convolutions whose weights stay in registers and others, channels in lanes, fully connected."""
    edges = ((1, 16, (3, 7), 6, (1, 1), 1, 1, (0, 0)), (1, 24, (6, 5), 4, (3, 3), 1, 1, (1, 1)))
    layers = [convolution(seed, *edge) for seed, edge in enumerate(edges)]
    layers += [depthwise(3, 1, 17, (5, 4), (3, 3), 1, 1, (1, 1)), fully_connected(5, 1, 200, 9)]
    layers += [with_offsets(entry, seed) for seed, entry in enumerate(layers) if "depthwise" not in entry.kernel.name]
    return [with_scale(entry, scale) for entry in layers for scale in (0.0015, 0.004)]


def rounded_up():
    """Means of tensors that were uint8."""
    found = []
    for seed, (stride, pads) in enumerate(((1, 1), (2, 0), (2, 1))):
        random = Randomness(seed)
        data = random.data(1, 9, 6, 7)
        operator = AvgPoolingHalvesUp(window=Window((2, 2), (stride,) * 2, (1, 1), (pads, pads), (0, 0)))
        found.append(under_double(case(operator, [data], [random.int8(*data.dims)], quantization=data.quantization)))
    return found


@functools.cache
def candidates():
    """Layers of every kernel that keeps this contract, too."""
    steps = {test_helium_others: 8, test_helium_convolution: 5, test_helium_depthwise: 4}
    layers = [entry for module, step in steps.items() for entry in module.candidates()[:: 1 if STRESS else step]]
    every = [under_double(entry) for entry in layers if all(tensor.quantization for tensor in entry.view.outputs)]
    every += [under_double(entry) for entry in test_helium_convolution.beside_cases()[::2]]
    every += far_cases() + list(averages_of_windows(case)) + rounded_up()
    # Under this contract no recipe makes a staircase of functions: the operator has no meaning of its own there.
    return tuple(entry for entry in [*every, *averages(case)] if entry.view.node.type != "Staircase" and has_kernel(entry))


def has_kernel(entry: Case) -> bool:
    """Whether the library takes the node."""
    try:
        return bool(entry.kernel)
    except AssertionError:
        return False


@needs_emulator
def test_layers_equal_the_meaning_on_the_emulated_core():
    assert len(candidates()) > 45
    assert run(candidates()) == []


def test_every_way_of_rounding_is_among_them():
    found = {(re.sub(r"\d+", "", way), entry.kernel.name) for entry in candidates() for way in WAYS.findall(entry.call.function)}
    for kernel in ("conv2d_int8", "conv2d_grouped_int8", "depthwise_int8"):
        assert {("_twice_short", kernel), ("_above_short", kernel)} <= found
    assert any("_beside" in text for entry in candidates() for text in entry.call.texts)
    assert {("_twice", "conv2d_int8"), ("_twice", "depthwise_int8"), ("_once", "fc_int8"), ("_once_short", "fc_int8")} <= found
    assert {entry.kernel.name for entry in candidates()} >= {"average_int8", "add_int8", "avgpool2d_int8"}
    assert {"conv", "dense"} <= {entry.call.function.split("_")[2] for entry in candidates() if "_offsets" in entry.call.function}
    names = " ".join(entry.call.function for entry in candidates())
    for way in (
        "strips.*twice",
        "strips.*above",
        "strips.*fused",
        "series.*above",
        "lanes.*twice",
        "lanes.*above",
    ):
        assert re.search(f"helium_{way}", names), way
