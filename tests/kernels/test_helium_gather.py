# SPDX-License-Identifier: MIT
"""Gather of `helium` with constant indices against its numpy meaning."""

from __future__ import annotations

import numpy
import pytest
from helium_harness import case, needs_emulator, run
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.rearrange import Gather

# dims, axis, dims of the indices: places in bytes and in halfwords, rests of vectors, runs of several elements
PLACES = (
    ((3, 40), 1, (21,)),
    ((2, 300), 1, (13,)),
    ((2, 5, 3), 1, (2, 4)),
    ((4, 90), 1, (16,)),
    ((2, 3, 7), 0, (1,)),
    ((30, 2), 0, (9,)),
    ((6,), 0, ()),
)


def candidates():
    """Bytes, halfwords and words; indices from both ends."""
    for seed, (dims, axis, shape) in enumerate(PLACES):
        random = Randomness(seed)
        size = dims[axis]
        indices = constant("i", random.numbers.integers(-size, size, shape).astype(numpy.int64))
        kept = random.data(*dims)
        entries = (
            case(Gather(axis), [kept, indices], [random.int8(*dims)], quantization=kept.quantization),
            case(Gather(axis), [random.real(*dims), indices], [random.float32(*dims)]),
            case(Gather(axis), [Tensor("x", dims, DType.int16), indices], [random.int8(*dims).astype(numpy.int16) * 99]),
        )
        yield from (entry for entry in entries if numpy.prod(dims[axis + 1 :]) * entry.view.inputs[0].dtype.size_bytes < 16)


@needs_emulator
def test_elements_at_constant_indices_equal_the_meaning():
    assert run(list(candidates()), "-Wall", "-Wextra", "-Werror") == []


def test_long_runs_are_left_to_ref():
    random = Randomness(1)
    with pytest.raises(AssertionError, match="runs of 36 bytes"):
        assert case(Gather(0), [random.real(4, 9), constant("i", numpy.array([1, 2]))], [random.float32(4, 9)]).kernel
