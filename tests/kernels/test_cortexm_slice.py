# SPDX-License-Identifier: MIT
"""Slices of `cortexm` that are one run of neighbours, and those that are not."""

from __future__ import annotations

from itertools import product

import pytest
from cortexm_harness import BOARD, PORTABLE, Case, accepted, case, run
from helium_harness import needs_emulator
from move_cases import data, moved
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.format import channels_last, row_major
from aidge_build.operators.rearrange import Slice

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")
TYPES = (DType.int8, DType.float32, DType.int16)
CHANNELS_LAST = (
    ((1, 32, 9, 1), (0, 0, 1, 0), (1, 32, 8, 1)),  # the frames of a state without the oldest one
    ((1, 3, 5, 7), (0, 0, 2, 0), (1, 3, 3, 7)),
    ((2, 5, 4, 3), (1, 0, 0, 0), (1, 5, 4, 3)),
    ((1, 7, 1, 6), (0, 0, 0, 2), (1, 7, 1, 3)),
    ((1, 70, 2, 2), (0, 11, 1, 1), (1, 13, 1, 1)),
)
ROW_MAJOR = (((3, 40), (1, 5), (1, 33)), ((6, 9), (2, 0), (3, 9)), ((1, 7, 30), (0, 6, 29), (1, 1, 1)))


def sliced(dims, starts, counts, steps, form=channels_last, dtype=DType.int8):
    tensor, values = data(Randomness(len(dims)), dims, dtype, form=form(len(dims)))
    return moved(case, Slice(starts, counts, steps), [tensor], [values])


def candidates():
    forms = [*((channels_last, each) for each in CHANNELS_LAST), *((row_major, each) for each in ROW_MAJOR)]
    return [sliced(*shape, (1,) * len(shape[0]), form, dtype) for (form, shape), dtype in product(forms, TYPES)]


def test_runs_of_neighbours_are_taken():
    assert {entry.kernel.name for entry in candidates()} == {"slice"}


@pytest.mark.parametrize(
    "starts, counts, steps",
    [
        ((0, 0, 0, 0), (1, 3, 2, 7), (1, 1, 2, 1)),
        ((0, 0, 4, 0), (1, 3, 2, 7), (1, 1, -1, 1)),
        ((0, 0, 0, 1), (1, 3, 2, 6), (1, 1, 1, 1)),
        ((0, 1, 0, 0), (1, 2, 1, 7), (1, 1, 1, 1)),
        ((0, 0, 0, 0), (1, 0, 5, 7), (1, 1, 1, 1)),
    ],
    ids=["a step", "backwards", "part of each row", "part of each pixel", "nothing"],
)
def test_other_slices_are_left_to_another_library(starts, counts, steps):
    assert accepted([sliced((1, 3, 5, 7), starts, counts, steps)]) == []


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-O0",), PORTABLE], ids=["usual", "-O0", "portable"])
def test_slices_are_exact_on_the_emulated_core(flags):
    assert run(candidates(), *flags, board=BOARD) == []


def test_slices_are_exact_on_this_machine():
    assert run(candidates(), *STRICT, board="host") == []


class StoredOtherwise(Case):
    """Chosen for a slice of row-major tensors, whose storage order changed afterwards."""

    @property
    def kernel(self):
        return sliced((1, 7, 30), (0, 2, 0), (1, 3, 30), (1, 1, 1), row_major).kernel


@needs_emulator
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_a_slice_whose_storage_order_is_decided_later_is_exact_too(dtype):
    entry = sliced((1, 7, 30), (0, 2, 0), (1, 3, 30), (1, 1, 1), channels_last, dtype)
    assert accepted([entry]) == []
    assert run([StoredOtherwise(entry.view, entry.values)], board=BOARD) == []
