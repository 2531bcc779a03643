# SPDX-License-Identifier: MIT
"""Budgets have no tolerance: today's figure is kept, one less is not."""

from __future__ import annotations

import math

import pytest

from aidge_build.boards import load_board
from aidge_build.prove.timing.deviation import deviation_of
from tests.command import aidge_build
from tests.programs import build, build_model, model, needs_cross_compiler

pytestmark = needs_cross_compiler


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    return build_model("digits.onnx", load_board("stm32f7"), folder)


def figure(digits, budget: str) -> int:
    checked = aidge_build("check", digits, "--board", "stm32f7", "--json").json
    if budget == "--max-stack":
        return checked["stack_bound_bytes"]
    if budget == "--max-flash":
        return next(region["used_bytes"] for region in checked["regions"] if region["name"] == "FLASH")
    ran = aidge_build("run", digits, "--board", "stm32f7", "--folder", digits.parent, "--json").json
    return -(-ran["run_instructions"] // ran["runs"])


@pytest.mark.requirement("STK01", "MEM10", "INS01")
@pytest.mark.parametrize("budget, code", [("--max-stack", "STK01"), ("--max-flash", "MEM10"), ("--max-instructions", "INS01")])
def test_todays_figure_is_kept_and_one_less_is_not(digits, budget, code):
    verb, number = ("run" if code == "INS01" else "check"), figure(digits, budget)
    options = [digits, "--board", "stm32f7", *(["--folder", digits.parent] if verb == "run" else [])]
    kept = aidge_build(verb, *options, budget, number)
    assert kept.exit_code == 0 and " error " not in kept.stdout, kept.stdout
    exceeded = aidge_build(verb, *options, budget, number - 1)
    assert exceeded.exit_code == 1 and f" error {code}: " in exceeded.stdout and "(+1" in exceeded.stdout


def test_estimated_cycles_and_milliseconds_may_exceed_no_budget_by_their_stated_error(tmp_path):
    elf, board = build("stm32f4", model("CCM"), tmp_path), load_board("stm32f4")
    words = (elf, "--board", "stm32f4")
    ran = aidge_build("run", *words, "--json").json
    mean = ran["run_cycles_estimated"] / ran["runs"]
    most = math.ceil(deviation_of(board.core).range_of(mean)[1])
    assert most > 1.05 * mean
    for option, unit in (("--max-cycles", 1), ("--max-ms", board.clock_hz / 1e3)):
        assert aidge_build("run", *words, option, most / unit if unit > 1 else most).exit_code == 0
        exceeded = aidge_build("run", *words, option, (most - 2) / unit if unit > 1 else most - 2)
        assert (
            exceeded.exit_code == 1
            and " error CYC01: up to " in exceeded.stdout
            and "per inference, estimated at " in exceeded.stdout
        )


@pytest.mark.parametrize(
    "board, reason",
    [
        ("nrf52840", "the file of board nrf52840 does not describe its flash"),
        ("mps2-an386", "the file of board mps2-an386 states no clock"),
        ("m2354", "no inference was counted, or the core has no timing table"),
    ],
)
def test_a_budget_of_time_that_cannot_be_compared_is_not_kept(tmp_path, board, reason):
    elf = build(board, model(load_board(board).arena_regions[0].name), tmp_path)
    result = aidge_build("run", elf, "--board", board, "--max-ms", 1000)
    assert result.exit_code == 1 and f"error CYC01: the budget of ms cannot be checked: {reason}" in result.stdout
