# SPDX-License-Identifier: MIT
"""A window that moves on by some frames: in place, and into a copy of the data."""

from __future__ import annotations

from pathlib import Path

import helium_harness
import pytest
from harness import case, differing, run
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.slide import Slide

ROOT = Path(__file__).parents[2]


def cases(dtype: DType, case=case):
    random = Randomness(43)
    for dims, axis, count in (
        ((7,), 0, 2),
        ((3, 5), 1, 1),
        ((3, 5), 0, 3),
        ((1, 6, 9), 2, 8),
        ((2, 40), 1, 3),
        ((2, 44), 1, 4),
        ((2, 3, 4), -2, 1),
        ((1, 1), 0, 1),
    ):
        added = tuple(count if place == axis % len(dims) else size for place, size in enumerate(dims))
        window, frames = (random.numbers.integers(-100, 100, size).astype(dtype.numpy) for size in (dims, added))
        for first in (False, True):
            yield case(Slide(axis, first), [Tensor("x", dims, dtype), Tensor("u", added, dtype)], [window, frames])


def test_kernels_of_every_library_move_bytes_without_a_third_function_of_the_c_library():
    """Headers of int8 models say that memcpy and memset are all."""
    texts = [path for path in (ROOT / "kernels").rglob("*") if path.suffix in (".h", ".py")]
    assert len(texts) > 100 and not [path for path in texts if "memmove" in path.read_text()]


@pytest.mark.parametrize("dtype", [DType.int8, DType.float32, DType.int64])
@pytest.mark.parametrize("where", [{}, {"overwritten": 0}], ids=["a copy", "in place"])
def test_the_newest_frames_follow_the_ones_that_stay(dtype, where):
    made = list(cases(dtype))
    assert differing(made, run(made, **where)) == []


def candidates():
    """The cases that vectors take."""
    made = [entry for dtype in (DType.int8, DType.float32) for entry in cases(dtype, helium_harness.case)]
    return [entry for entry in made if not entry.view.operator.first]


@helium_harness.needs_emulator
def test_vectors_of_the_emulated_core_move_a_window_in_place_and_into_a_copy():
    assert {entry.call.function for entry in candidates()} == {"aidge_helium_slide"}
    assert helium_harness.run(candidates()) == helium_harness.run(candidates(), lead=lambda entry: 0) == []
