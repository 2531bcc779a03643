# SPDX-License-Identifier: MIT
"""The estimate of cycles follows the rules of Arm's manuals, says how far it can be trusted, and is refused where none hold."""

from __future__ import annotations

import re

import pytest

from aidge_build.boards import load_board
from aidge_build.elf.cycles import cycle_model
from tests.boards import TRIED
from tests.command import aidge_build
from tests.programs import build, model, needs_cross_compiler

pytestmark = needs_cross_compiler
WITHOUT_NUMBERS = ("cortex-m7", "cortex-m33", "cortex-m55")
FUNCTION = """
static int word[8];
__attribute__((naked, noinline)) int kws_run(int *p) {{ __asm__("{}"); }}
int main(void) {{ return kws_run(word) & 0; }}
"""


def cycles(board, code, tmp_path) -> tuple[int, int]:
    """(cycles, instructions) of an assembler function that ends in `bx lr`."""
    claimed = model().split("static uint8_t", 1)[0]
    result = aidge_build("run", build(board, claimed + FUNCTION.format(code), tmp_path), "--board", board, "--json")
    assert result.exit_code == 0, result.stderr
    return result.json["run_cycles_estimated"], result.json["run_instructions"]


# The return takes 1 and, as a taken branch, 2 more.
CASES = {
    "arithmetic": ("adds r1, r0, #1\\n muls r1, r1\\n bx lr", 2 + 3),
    "loads in a row overlap": ("ldr r1, [r0]\\n ldr r2, [r0, #4]\\n ldr r3, [r0, #8]\\n bx lr", 2 + 1 + 1 + 3),
    "a load from a loaded address": ("str r0, [r0]\\n ldr r1, [r0]\\n ldr r1, [r1, #4]\\n bx lr", 1 + 2 + 2 + 3),
    "a load after a store": ("str r1, [r0]\\n ldr r2, [r0, #4]\\n bx lr", 1 + 2 + 3),
    "an address just computed": ("adds r1, r0, #4\\n ldr r2, [r1]\\n bx lr", 1 + 3 + 3),
    "several registers": ("push {r4, r5, r6, lr}\\n pop {r4, r5, r6, pc}", 5 + 5 + 2),
    "a loop": ("movs r1, #10\\n 1: subs r1, #1\\n bne 1b\\n bx lr", 1 + 10 * 2 + 9 * 2 + 3),
    "two words behind a load": ("ldr r1, [r0]\\n ldrd r2, r3, [r0, #8]\\n bx lr", 2 + 2 + 3),
    "two words": ("nop\\n ldrd r2, r3, [r0, #8]\\n strd r2, r3, [r0]\\n bx lr", 1 + 3 + 3 + 3),
    "numbers of one and two words": ("vldr s0, [r0]\\n vldr d0, [r0]\\n bx lr", 2 + 3 + 3),
    "a division": ("udiv r1, r0, r0\\n bx lr", 6 + 3),
}


@pytest.mark.parametrize("name", CASES)
def test_the_rules_of_the_cortex_m4(tmp_path, name):
    code, expected = CASES[name]
    assert cycles("stm32f4", code, tmp_path)[0] == expected


def test_the_cortex_m0_is_slower_at_loads_and_calls(tmp_path):
    assert cycles("microbit", "ldr r1, [r0]\\n ldr r2, [r0]\\n str r2, [r0]\\n bx lr", tmp_path)[0] == 2 + 2 + 2 + 3


def test_the_cortex_m0plus_has_its_own_numbers_and_that_of_its_boards_multiplier(tmp_path):
    code = "add r1, r0, #4\\n ldr r2, [r1]\\n mul r1, r2\\n mul r1, r2\\n dmb\\n bx lr"
    assert cycles("rp2040", code, tmp_path)[0] == 1 + 2 + 1 + 1 + 3 + 2
    slow = tmp_path / "slow.toml"
    slow.write_text('extends = "rp2040"\nmultiplier_cycles = 32\n')
    claimed = model().split("static uint8_t", 1)[0]
    elf = build("rp2040", claimed + FUNCTION.format(code), tmp_path)
    result = aidge_build("run", elf, "--board", "slow", "--board-path", tmp_path, "--json")
    assert result.json["run_cycles_estimated"] == 1 + 2 + 32 + 32 + 3 + 2, result.stderr


def test_lines_of_flash_are_counted_where_data_come_from_another_one_than_before(tmp_path):
    """Eight words of constants are two lines; read one by one from both ends, every read but the middle ones changes the line."""
    constants = "static const int words[8] __attribute__((aligned(16), used)) = {1, 2, 3, 4, 5, 6, 7, 8};\n"
    claimed = constants + model().split("static uint8_t", 1)[0]
    main = FUNCTION.replace("word[8]", "unused").replace("kws_run(word)", "kws_run((int *)words)")
    orders = {"in_order": (range(0, 32, 4), 2), "from_both_ends": ((0, 28, 4, 24, 8, 20, 12, 16), 8), "again": ((0, 4, 0, 4), 1)}
    for name, (offsets, lines) in orders.items():
        code = "\n".join(["movs r2, #0", *(f"ldr r1, [r0, #{offset}]" for offset in offsets), "bx lr"]).replace("\n", "\\n ")
        result = aidge_build(
            "run", build("stm32f4", claimed + main.format(code), tmp_path, name=name), "--board", "stm32f4", "--json"
        )
        assert result.json["run_flash_lines"] == lines, result.stderr


def test_an_estimate_says_how_far_it_can_be_trusted(tmp_path):
    elf = build("stm32f4", model("CCM"), tmp_path)
    printed = aidge_build("run", elf, "--board", "stm32f4").stdout
    assert re.search(
        r" cycles per inference, plus flash stalls: ~\d+ for constants with 5 wait states, and those of fetching code "
        r"\(estimated without wait states; \d+\.\d % below to \d\.\d % above what was measured for \d+ programs, "
        r"\d\.\d % on average; no board was measured\)",
        printed,
    )
    found = aidge_build("run", elf, "--board", "stm32f4", "--json").json
    assert found["run_instructions"] < found["run_cycles_estimated"] < 3 * found["run_instructions"]
    layers = sum(layer["cycles_estimated"] for layer in found["layers"])
    assert 0 < found["run_cycles_estimated"] - layers < 100


@pytest.mark.parametrize("name", [name for name in TRIED if load_board(name).cpu in WITHOUT_NUMBERS])
def test_cores_without_numbers_get_no_estimate(tmp_path, name):
    board = load_board(name)
    assert cycle_model(board.core) is None
    result = aidge_build("run", build(name, model(board.arena_regions[0].name), tmp_path), "--board", name, "--json")
    assert result.json["run_cycles_estimated"] is None and "not estimated" in result.json["cycles_validation"]
