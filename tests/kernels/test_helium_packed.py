# SPDX-License-Identifier: MIT
"""Layers of `helium` with weights of few bits that share bytes, on the emulated Cortex-M55 and in flash."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy
import pytest
from cortexm_harness import accepted
from harness import under_double
from helium_harness import Case, finer, needs_emulator, run
from test_helium_others import fully_connected

from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import constant

# batch, inputs, outputs: groups of eight outputs and less, one vector and loops, whole ones and tails
ROWS = [(1, 23, 4), (3, 64, 10), (1, 33, 17), (1, 16, 8), (1, 200, 9), (1, 785, 16), (1, 785, 13), (1, 300, 5), (1, 64, 12)]


def times(quantization: Quantization | None, factor: int) -> Quantization | None:
    """The quantization with steps that are so many times as large."""
    return quantization and replace(quantization, scales=tuple(scale * factor for scale in quantization.scales))


def of_bits(entry: Case, bits: int, has_lowest: bool = False) -> Case:
    """The case with random weights of so many bits, with or without the lowest number, and results of which few are clipped."""
    data, weights, *rest = entry.view.inputs
    random, half = numpy.random.default_rng(weights.data.size), 1 << bits - 1
    values = random.choice([-1, 1], weights.data.shape) if bits == 1 else random.integers(1 - half, half, weights.data.shape)
    values.flat[0] = -half if has_lowest else values.flat[0]
    narrow = constant("w", values.astype(numpy.int8), times(weights.quantization, 1 << 8 - bits))
    node = replace(entry.view.node, operator=replace(entry.view.operator, minimum=-math.inf, maximum=math.inf))
    outputs = tuple(output.with_(quantization=times(output.quantization, 8)) for output in entry.view.outputs)
    view = replace(entry.view, node=node, inputs=(data, narrow, *rest), outputs=outputs, packs_weights=True)
    return type(entry)(view, (entry.values[0], narrow.data, *entry.values[2:]))


def weight_bytes(entry: Case) -> int:
    """The bytes of the layer's constants that are fewer for weights that share bytes: 8 bits less so many."""
    plain = replace(entry, view=replace(entry.view, packs_weights=False))
    return sum(made.values.nbytes for made in plain.call.constants) - sum(made.values.nbytes for made in entry.call.constants)


@functools.cache
def rows() -> list[Case]:
    found = []
    for seed, shape in enumerate(ROWS):
        entry = fully_connected(seed, *shape)
        found += [of_bits(entry, 4), of_bits(entry, 2), of_bits(entry, 1), of_bits(entry, 2 + 2 * (seed % 2), True)]
    finer_ones = [finer(entry, seed) for seed, entry in enumerate(found[::7])]
    return found + [replace(entry, view=replace(entry.view, packs_weights=True)) for entry in finer_ones]


@needs_emulator
def test_fully_connected_layers_equal_their_meaning_under_both_contracts():
    assert all("_packed_" in entry.call.function for entry in rows())
    assert run([*rows(), *accepted(map(under_double, rows()[::3]))]) == []


@pytest.mark.parametrize("bits", [4, 2, 1])
@pytest.mark.parametrize("outputs", [8, 10, 11])
def test_weights_take_their_bits_and_no_more(bits, outputs):
    entry = of_bits(fully_connected(1, 1, 128, outputs), bits)
    assert weight_bytes(entry) == outputs * 128 * (8 - bits) // 8
