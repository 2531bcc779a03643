# SPDX-License-Identifier: MIT
"""Layers of which many blocks of four input channels are 0, for each library's tests."""

from __future__ import annotations

from collections.abc import Iterator

import harness
import numpy
import test_cortexm_linear
from random_tensors import Randomness

from aidge_build.operators.matmul import FC

KEPT = (0.001, 0.1, 0.25)  # of the blocks, in turn
CONVOLUTIONS = [
    (1, 16, (5, 4), 6, (1, 1), 1, 1, (0, 0), 1),
    (1, 32, (5, 3), 9, (1, 1), 1, 1, (0, 0), 1),
    (1, 24, (4, 4), 5, (1, 1), 2, 1, (0, 0), 1),
    (1, 256, (3, 5), 12, (1, 1), 1, 1, (0, 0), 1),
    (1, 8, (7, 6), 12, (3, 2), 2, 1, (1, 0), 1),
    (2, 12, (6, 5), 8, (3, 3), 1, 1, (1, 1), 1),
    (1, 40, (5, 7), 6, (3, 3), 1, 1, (1, 1), 1),
    (1, 4, (6, 9), 7, (1, 5), 1, 2, (0, 4), 1),
    (1, 4, (20,), 8, (5,), 1, 1, (2, 2), 1),
    (1, 8, (4, 5), 6, (3, 3), 1, 1, (1, 1), 2),
    (1, 332, (3, 2), 4, (3, 3), 1, 1, (1, 1), 1),
    (1, 364, (3, 2), 4, (3, 3), 1, 1, (1, 1), 1),
]
ROWS = [(1, 64, 8), (3, 1400, 5), (2, 136, 300), (1, 2048, 4), (9, 104, 6), (1, 640, 33)]  # rows, features, outputs


def sparse_layers() -> Iterator[harness.Case]:
    """The layers; the first output of each has no weight."""
    layers = [test_cortexm_linear.int8_case(seed, *edge) for seed, edge in enumerate(CONVOLUTIONS)]
    layers += [fully_connected(1800 + seed, *shape) for seed, shape in enumerate(ROWS)]
    for seed, entry in enumerate(layers):
        yield with_few_blocks(entry, 1900 + seed, KEPT[seed % len(KEPT)])


def short_rows() -> Iterator[harness.Case]:
    """Layers that take less time with all of their blocks, although few have weights."""
    for seed, features in enumerate((8, 16)):
        yield with_few_blocks(fully_connected(seed, 1, features, 64), seed, 0.2)


def fully_connected(seed: int, rows: int, features: int, outputs: int) -> harness.Case:
    random = Randomness(seed)
    tensors = [random.data(rows, features), random.weights(outputs, features), random.bias(outputs)]
    return harness.case(FC(), tensors, [random.int8(rows, features)], quantization=random.quantization(4.0))


def with_few_blocks(entry: harness.Case, seed: int, kept: float) -> harness.Case:
    """The layer with weights in this share of its blocks; its first output has none."""
    data, weights, bias = entry.view.inputs
    last = numpy.moveaxis(weights.data, 1, -1)
    blocks = last.reshape(-1, 4)
    blocks = blocks * (Randomness(seed).numbers.random((len(blocks), 1)) < kept)
    values = numpy.moveaxis(blocks.reshape(last.shape), -1, 1).astype(numpy.int8)
    values[0] = 0
    tensors, result = [data, weights.with_(data=values), bias], entry.view.outputs[0].quantization
    return harness.case(entry.view.operator, tensors, entry.values[:1], quantization=result)
