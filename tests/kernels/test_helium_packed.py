# SPDX-License-Identifier: MIT
"""Layers of `helium` with weights of few bits that share bytes, on the emulated Cortex-M55 and in flash."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import pytest
import test_helium_convolution
from cortexm_harness import accepted
from dynamic_cases import convolution, fully_connected
from harness import under_double
from helium_harness import Case, case, finer, needs_emulator, overlapping, run
from random_tensors import of_few_bits
from test_helium_convolution import BesideCase, for_size
from test_helium_others import fully_connected as layer_of_rows

# batch, inputs, outputs: groups of eight outputs and less, one vector and loops, whole ones and tails
ROWS = [(1, 23, 4), (3, 64, 10), (1, 33, 17), (1, 16, 8), (1, 200, 9), (1, 785, 16), (1, 785, 13), (1, 300, 5), (1, 64, 12)]
# batch, channels, spatial, outputs, kernel, stride, dilation, pads: weights that stay in registers, of one vector and two; sums
# of many vectors, with tails; windows by columns, in a ring, of several taps, laid out; one axis
WINDOWS = [
    (1, 16, (3, 7), 6, (1, 1), 1, 1, (0, 0)),
    (1, 24, (4, 5), 5, (1, 1), 1, 1, (0, 0)),
    (2, 64, (3, 3), 4, (1, 1), 1, 1, (0, 0)),
    (1, 72, (3, 3), 24, (1, 1), 1, 1, (0, 0)),
    (1, 784, (2, 3), 5, (1, 1), 1, 1, (0, 0)),
    (1, 3, (9, 31), 8, (3, 3), 2, 1, (1, 1)),
    (2, 16, (5, 9), 4, (3, 3), 1, 1, (1, 1)),
    (1, 64, (6, 5), 3, (3, 3), 1, 1, (1, 1)),
    (1, 24, (7, 9), 4, (3, 3), 1, 2, (2, 2)),
    (1, 160, (3, 4), 4, (3, 3), 1, 1, (1, 1)),
    (1, 16, (20,), 4, (3,), 1, 1, (0, 0)),
]


def of_bits(entry: Case, bits: int, has_lowest: bool = False) -> Case:
    """The case with weights of so many bits, with or without the lowest number, and results of which few are clipped."""
    data, weights, *rest = entry.view.inputs
    narrow = of_few_bits(weights, bits, -(1 << bits - 1) + (not has_lowest))
    node = replace(entry.view.node, operator=replace(entry.view.operator, minimum=-math.inf, maximum=math.inf))
    (output,), steps = entry.view.outputs, entry.view.outputs[0].quantization
    outputs = (output.with_(quantization=steps and replace(steps, scales=(8 * steps.scales[0],))),)
    view = replace(entry.view, node=node, inputs=(data, narrow, *rest), outputs=outputs, packs_weights=True)
    return type(entry)(view, (entry.values[0], narrow.data, *entry.values[2:]))


def spared_bytes(entry: Case) -> int:
    """The bytes by which the constants of the layer are fewer because weights share bytes."""
    plain = replace(entry, view=replace(entry.view, packs_weights=False))
    return sum(made.values.nbytes for made in plain.call.constants) - sum(made.values.nbytes for made in entry.call.constants)


@functools.cache
def rows() -> list[Case]:
    found = []
    for seed, shape in enumerate(ROWS):
        entry = layer_of_rows(seed, *shape)
        found += [of_bits(entry, 4), of_bits(entry, 2), of_bits(entry, 1), of_bits(entry, 2 + 2 * (seed % 2), True)]
    finer_ones = [finer(entry, seed) for seed, entry in enumerate(found[::7])]
    return found + [replace(entry, view=replace(entry.view, packs_weights=True)) for entry in finer_ones]


@needs_emulator
def test_fully_connected_layers_equal_their_meaning_under_both_contracts():
    assert all("_packed_" in entry.call.function for entry in rows())
    assert run([*rows(), *accepted(map(under_double, rows()[::3]))]) == []


@functools.cache
def pixels() -> list[Case]:
    plain = [test_helium_convolution.convolution(seed, *edge) for seed, edge in enumerate(WINDOWS)]
    found = [of_bits(entry, *kind) for entry in plain for kind in ((4, False), (4, True), (1, False))]
    beside = [BesideCase(entry.view, entry.values) for entry in map(overlapping, found[::4])]
    return [*found, *map(for_size, found[1::4]), *beside]


def measured() -> list[Case]:
    """Layers of dynamic quantization, and of stored bytes with a result in float32."""
    layers = [convolution(case, 2 * seed, (*edge, 1), seed % 3 == 1) for seed, edge in enumerate(WINDOWS[:9])]
    layers += [fully_connected(case, 2 * seed, shape, 10 + seed, seed % 2 == 1) for seed, shape in enumerate(((1, 70), (3, 64)))]
    return [of_bits(entry, 4, seed % 2 == 0) for seed, entry in enumerate(layers)]


@needs_emulator
def test_convolutions_equal_their_meaning_under_both_contracts_and_so_do_results_in_float32():
    layers = [*pixels(), *measured()]
    assert all("_packed_" in entry.call.function or "_sparse" in entry.call.function for entry in layers)
    names = " ".join(entry.call.function for entry in layers)
    assert all(word in names for word in ("_joint", "_whole", "_signs", "_beside"))
    assert run([*layers, *accepted(map(under_double, pixels()[::5]))]) == []


@pytest.mark.parametrize("bits", [4, 2, 1])
@pytest.mark.parametrize("outputs", [8, 10, 11])
def test_weights_take_their_bits_and_no_more(bits, outputs):
    entry = of_bits(layer_of_rows(1, 1, 128, outputs), bits)
    assert spared_bytes(entry) == outputs * 128 * (8 - bits) // 8


@pytest.mark.parametrize("bits, stored", [(4, 4), (2, 4), (1, 1)])
def test_weights_of_pixels_take_four_bits_or_their_sign(bits, stored):
    entry = of_bits(test_helium_convolution.convolution(1, *WINDOWS[2]), bits)
    assert spared_bytes(entry) == 4 * 64 * (8 - stored) // 8


def test_signs_of_24_channels_are_those_of_a_vector_and_of_8_lanes():
    assert "_signs_8" in of_bits(test_helium_convolution.convolution(1, *WINDOWS[1]), 1).call.function
