# SPDX-License-Identifier: MIT
"""Kernels that only move elements, of every library that has them, against their numpy meaning: here and on emulated cores."""

from __future__ import annotations

from itertools import product

import cortexm_harness
import harness
import helium_harness
import numpy
import pytest
from cortexm_harness import BOARD, PORTABLE
from helium_harness import needs_emulator
from move_cases import blocks, concatenations, copies, data, moved, slices
from random_tensors import Randomness

from aidge_build.contract.kernel_kit.runs import FILL, runs
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import Format, channels_last, row_major
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.pad import Pad
from aidge_build.operators.reformat import Reformat

TYPES = (DType.int8, DType.int8, DType.float32, DType.int16, DType.int64)
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")


def test_ref_moves_elements_of_every_type_exactly():
    cases = [*copies(harness.case, 120, TYPES), *concatenations(harness.case, 60, 12, TYPES), *blocks(harness.case)]
    assert harness.differing(cases, harness.run(cases)) == []


def some(case):
    """An emulated case has at most two inputs."""
    return [*copies(case, 56, (DType.int8, DType.int8, DType.float32)), *concatenations(case, 40, 2)]


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-O0",), ("-Os", "-flto"), PORTABLE], ids=lambda flags: " ".join(flags) or "usual")
def test_cortexm_moves_elements_exactly(flags):
    assert cortexm_harness.run(harness.under(flags, some(cortexm_harness.case)), *flags, board=BOARD) == []


def repeating_pads(case):
    """Elements that repeat at the edges of images."""
    for seed, (channels, height, width) in enumerate(((3, 9, 8), (2, 3, 300), (70, 3, 9))):
        for dtype, form in product((DType.int8, DType.float32, DType.int16), (row_major, channels_last)):
            random = Randomness(seed)
            tensor, values = data(random, (1 + seed % 2, channels, height, width), dtype, form=form(4))
            ends = [(0, 0, random.integer(0, 2), random.integer(0, 2)) for _ in range(2)]
            yield moved(case, Pad(*ends, random.choice("reflect", "edge", "wrap")), [tensor], [values])


def some_of_helium(case):
    return [*some(case), *repeating_pads(case), *blocks(case, (DType.int8, DType.uint8, DType.float32)), *slices(case, 24)]


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-O3",)], ids=lambda flags: " ".join(flags) or "usual")
def test_helium_moves_elements_exactly(flags):
    cases = some_of_helium(helium_harness.case)
    assert helium_harness.run(harness.under(flags, cases), "-Wall", "-Wextra", "-Werror", *flags) == []


def test_the_c_versions_move_elements_exactly_on_this_machine():
    assert cortexm_harness.run(some(cortexm_harness.case), *STRICT, board="host") == []


def reformats(case):
    random = Randomness(6)
    for dims in (
        (1, 3, 9, 7),
        (2, 3, 4, 5),
        (2, 16, 4, 5),
        (1, 17, 5, 5),
        (1, 18, 4, 5),
        (2, 40, 2, 7),
        (3, 5, 8),
        (1, 1, 3, 4),
        (1, 300, 2, 3),
    ):
        for one, other in ((row_major, channels_last), (channels_last, row_major)):
            data = random.data(*dims).with_(format=one(len(dims)))
            yield case(Reformat(), [data], [random.int8(*dims)], quantization=data.quantization, format=other(len(dims)))
            for dtype, values in ((DType.uint8, random.int8(*dims).view(numpy.uint8)), (DType.float32, random.float32(*dims))):
                tensor = Tensor("x", dims, dtype).with_(format=one(len(dims)))
                yield case(Reformat(), [tensor], [values], format=other(len(dims)))


def pictures():
    """Those of three channels that become pixels on Cortex-M."""
    found = cortexm_harness.accepted(list(reformats(cortexm_harness.case)))
    return [entry for entry in found if entry.call.function == "aidge_cortexm_pixels_of_planes"]


@needs_emulator
@pytest.mark.parametrize("flags", [(), PORTABLE], ids=lambda flags: " ".join(flags) or "usual")
def test_cortexm_copies_three_planes_to_pixels_exactly(flags):
    assert len(pictures()) == 4
    assert cortexm_harness.run(pictures(), "-Wall", "-Wextra", "-Werror", *flags, board=BOARD) == []


def reorders(case):
    """Runs of neighbours, runs of elements that lie apart, one loop around them to four."""
    random = Randomness(7)
    for dims, one, other in (
        ((2, 4, 16, 9), (0, 2, 1, 3), (0, 1, 2, 3)),
        ((1, 4, 16, 32), (0, 1, 2, 3), (0, 1, 3, 2)),
        ((3, 5, 7, 11), (3, 0, 2, 1), (0, 1, 2, 3)),
        ((2, 3, 4, 5, 13), (4, 2, 0, 3, 1), (0, 1, 2, 3, 4)),
        ((9, 40), (1, 0), (0, 1)),
        ((2, 30, 8), (2, 1, 0), (1, 0, 2)),
    ):
        for dtype, values in (
            (DType.int8, random.int8(*dims)),
            (DType.uint8, random.int8(*dims).view(numpy.uint8)),
            (DType.float32, random.float32(*dims)),
        ):
            yield case(Reformat(), [Tensor("x", dims, dtype).with_(format=Format(one))], [values], format=Format(other))


def candidates():
    """For the tests of all kernels."""
    moved = [*reformats(helium_harness.case), *reorders(helium_harness.case)]
    return [*some(cortexm_harness.case), *pictures(), *some_of_helium(helium_harness.case), *moved]


@needs_emulator
@pytest.mark.parametrize("flags", [(), ("-Os",)], ids=lambda flags: " ".join(flags) or "usual")
def test_helium_copies_between_storage_orders_exactly(flags):
    cases = [*reformats(helium_harness.case), *reorders(helium_harness.case)]
    assert helium_harness.run(harness.under(flags, cases), "-Wall", "-Wextra", "-Werror", *flags) == []


def placed(dims, places):
    source = Tensor("x", dims, DType.int8, format=channels_last(len(dims)))
    target = source.with_(dims=tuple(map(len, places)))
    return runs(source, target, [numpy.array(place) for place in places])


def test_neighbouring_pixels_are_one_run():
    segments, _, fields = placed((1, 8, 4, 5), [[0], range(8), range(4), [FILL, 0, 1, 2, 3, 4, FILL, FILL]])
    assert segments.tolist() == [[-1, 8], [0, 40], [-1, 16]] and fields["row_bytes"] == 64


def test_a_pad_of_rows_alone_is_one_row():
    segments, offsets, fields = placed((1, 8, 4, 5), [[0], range(8), [FILL, 0, 1, 2, 3, FILL], range(5)])
    assert segments.tolist() == [[-1, 40], [0, 160], [-1, 40]] and fields["dims"] == (1,) * 5 and set(offsets) == {0}


def test_nothing_is_filled_where_no_place_is():
    _, _, fields = placed((1, 2, 2, 2), [[0], [0, 1], [0, 0, 1, 1], [0, 0, 1, 1]])
    assert fields["fill_bytes"] == 0 and fields["dims"] == (1, 1, 1, 1, 4) and fields["row_bytes"] == 8
