# SPDX-License-Identifier: MIT
"""Budgets have no tolerance: today's figure is kept, one less is not."""

from __future__ import annotations

import pytest

from aidge_build.boards import load_board
from tests.command import aidge_build
from tests.programs import build_model, needs_cross_compiler

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


@pytest.mark.parametrize("budget, code", [("--max-stack", "STK01"), ("--max-flash", "MEM10"), ("--max-instructions", "INS01")])
def test_todays_figure_is_kept_and_one_less_is_not(digits, budget, code):
    verb, number = ("run" if code == "INS01" else "check"), figure(digits, budget)
    options = [digits, "--board", "stm32f7", *(["--folder", digits.parent] if verb == "run" else [])]
    kept = aidge_build(verb, *options, budget, number)
    assert kept.exit_code == 0 and " error " not in kept.stdout, kept.stdout
    exceeded = aidge_build(verb, *options, budget, number - 1)
    assert exceeded.exit_code == 1 and f" error {code}: " in exceeded.stdout and "(+1" in exceeded.stdout
