# SPDX-License-Identifier: MIT
"""Milliseconds at a board's clock: two ends from published counts and wait states, or the reason why nothing is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aidge_build.boards import list_boards, load_board
from aidge_build.fit.time import NO_CLOCK, NO_CYCLES, NO_WAIT_STATES, time_of
from aidge_build.timing.deviation import deviation_of

CYCLES = 1_000_000


def ends_of(time):
    return time.milliseconds * (1 - time.error), time.milliseconds * (1 + time.error)


def test_without_wait_states_the_ends_are_those_of_the_published_counts():
    board = replace(load_board("stm32l053"), flash_wait_states=0)
    least, most = deviation_of(board.core).range_of(CYCLES)
    assert ends_of(time_of(CYCLES, 0.0, board)) == pytest.approx((least / 32e3, most / 32e3))
    assert ends_of(time_of(CYCLES, 0.1, board)) == pytest.approx((0.9 * least / 32e3, 1.1 * most / 32e3))


@pytest.mark.parametrize(("name", "states"), [("stm32l053", 1), ("stm32f103", 2), ("stm32f446", 5)])
def test_wait_states_move_the_longer_end_alone(name, states):
    board = load_board(name)
    assert board.flash_wait_states == states
    with_states, without = (ends_of(time_of(CYCLES, 0.0, one)) for one in (board, replace(board, flash_wait_states=0)))
    assert with_states == pytest.approx((without[0], (1 + states) * without[1]))


def test_a_program_behind_a_cache_was_measured_between_the_ends():
    """P-256 on an nRF52840: estimates were 8 to 12 % below what was measured (docs/proof.md), and no number was made of them."""
    board = load_board("nrf52840")
    least, most = ends_of(time_of(CYCLES, 0.0, board))
    assert all(least < CYCLES / (1 - share) / board.clock_hz * 1e3 < most for share in (0.08, 0.12))


@pytest.mark.parametrize(
    ("name", "reason"),
    [("rp2040", NO_WAIT_STATES), ("m2354", NO_CYCLES), ("stm32n657", NO_WAIT_STATES)],
)
def test_what_no_published_count_covers_is_not_known(name, reason):
    assert time_of(CYCLES, 0.0, load_board(name)).reason == reason


def test_a_board_without_a_clock_and_a_program_without_cycles_have_no_time():
    board = load_board("stm32l053")
    assert time_of(CYCLES, 0.0, replace(board, clock_hz=0)).reason == NO_CLOCK
    assert time_of(None, 0.0, board).milliseconds is None


def test_milliseconds_are_said_for_cores_with_counts_alone():
    for name in list_boards():
        board = load_board(name)
        if time_of(CYCLES, 0.0, board).milliseconds is not None:
            assert board.core.timing and deviation_of(board.core).counts
