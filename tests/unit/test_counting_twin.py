# SPDX-License-Identifier: MIT
"""A board without an emulator is counted on a machine with its core."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aidge_build.boards import load_board
from aidge_build.measure.fit.count import counting_board, counting_twin
from aidge_build.measure.fit.time import NO_COUNTS, unknown_time

MACHINE = load_board("qemu_riscv32")


@pytest.mark.parametrize("name", ["esp32c3", "ch32v006", "esp32p4"])
def test_the_memories_follow_each_other_in_the_machine_that_begins_with_the_vectors(name):
    board = load_board(name)
    twin = counting_twin(board)
    assert twin is not None and twin.emulator == MACHINE.emulator and twin.core is board.core
    assert {region.name for region in twin.regions} == {region.name for region in board.regions}
    assert twin.region("vectors").origin == min(region.origin for region in MACHINE.regions)
    ordered = sorted(twin.regions, key=lambda region: region.origin)
    assert all(lower.end <= upper.origin for lower, upper in zip(ordered, ordered[1:]))
    assert ordered[-1].end <= max(region.end for region in MACHINE.regions)


def test_programs_that_do_not_fit_the_board_are_counted_all_the_same():
    machine = counting_board(load_board("ch32v003"))
    assert machine is not None and min(region.length_bytes for region in machine.regions) >= 1 << 20


def test_a_machine_with_another_core_or_too_little_memory_is_none():
    assert counting_twin(load_board("stm32n657")) is None
    board = load_board("esp32c3")
    large = tuple(replace(region, length_bytes=16 << 20) for region in board.regions)
    assert counting_twin(replace(board, regions=large)) is None
    assert counting_twin(MACHINE) is MACHINE


def test_a_core_without_a_timing_table_has_no_time_whatever_was_counted():
    assert unknown_time(load_board("stm32f4"), "no emulator").reason == "no emulator"
    assert unknown_time(load_board("esp32c3"), "no emulator").reason == NO_COUNTS
