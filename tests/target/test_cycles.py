# SPDX-License-Identifier: MIT
"""The estimate of cycles follows the rules of Arm's manuals, says how far it can be trusted, and is refused where none hold."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import replace

import pytest

from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf import read_image
from aidge_build.prove.timing.pipeline import block_cycles
from aidge_build.prove.timing.table import timing_of
from aidge_build.run.toolchain import disassemble
from aidge_build.run.verify.firmware import execute
from aidge_build.run.verify.vectors import random_vectors
from tests.boards import TRIED
from tests.command import aidge_build
from tests.programs import build, model, needs_cross_compiler
from tests.shared import int8_model
from tools.prediction.graph import Graph

pytestmark = needs_cross_compiler
needs_stress = pytest.mark.skipif(not os.environ.get("AIDGE_STRESS"), reason="AIDGE_STRESS=1: some seconds")
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
    return result.json["run_core_cycles"], result.json["run_instructions"]


def test_the_cycles_of_a_run_are_those_of_its_blocks_each_behind_the_one_before_it(tmp_path):
    """The loop runs ten times: as the end of the first block, once behind it, and eight times behind itself."""
    claimed = model().split("static uint8_t", 1)[0]
    code = "ldr r2, [r0]\\n movs r1, #10\\n 1: adds r2, r1\\n ldr r3, [r0, #4]\\n subs r1, #1\\n bne 1b\\n bx lr"
    elf = build("stm32f4", claimed + FUNCTION.format(code), tmp_path)
    board = load_board("stm32f4")
    program = read_disassembly(disassemble(elf, board.core))
    begin = read_image(elf).symbol("kws_run").address & ~1
    whole = [program[at] for at in sorted(program) if begin <= at][:7]
    call = next(one for one in program.values() if one.mnemonic == "bl" and one.target == begin)
    first, loop, end = whole[:6], whole[2:6], whole[6:]
    table = timing_of(board.core)
    expected = (
        block_cycles(table, [call], first, True)
        + block_cycles(table, first, loop, True)
        + 8 * block_cycles(table, loop, loop, True)
        + block_cycles(table, loop, end, False)
    )
    found = aidge_build("run", elf, "--board", "stm32f4", "--json").json
    assert (found["run_core_cycles"], found["run_instructions"]) == (expected, 6 + 9 * 4 + 1)


def test_the_cycles_of_a_loop_do_not_depend_on_the_page_that_it_lies_across(tmp_path):
    """The wide instruction begins in the last two bytes of 1,024, where an emulator ends blocks; or all are in one page."""
    loop = "2: movs r1, #10\\n 1: adds r2, r1\\n add.w r3, r1, r2\\n subs r1, #1\\n bne 1b\\n bx lr"
    found = [cycles("mps3-an547", f"b 2f\\n .p2align 10\\n .space {space}\\n {loop}", tmp_path) for space in (1018, 970)]
    assert found[0] == found[1]


def test_a_board_says_how_fast_its_multiplier_is(tmp_path):
    code = "mul r1, r2\\n mul r1, r2\\n bx lr"
    fast = cycles("rp2040", code, tmp_path)[0]
    board_file(tmp_path, "multiplier_cycles = 32", "rp2040")
    elf = build("rp2040", model().split("static uint8_t", 1)[0] + FUNCTION.format(code), tmp_path)
    result = aidge_build("run", elf, "--board", "own", "--board-path", tmp_path, "--json")
    assert result.json["run_core_cycles"] == fast + 2 * 31, result.stderr


def test_constants_wait_for_each_line_of_flash_that_no_cache_holds(tmp_path):
    """Eight words of constants are two lines; read one by one from both ends, every read but the middle ones changes the line."""
    constants = "static const int words[8] __attribute__((aligned(16), used)) = {1, 2, 3, 4, 5, 6, 7, 8};\n"
    claimed = constants + model().split("static uint8_t", 1)[0]
    main = FUNCTION.replace("word[8]", "unused").replace("kws_run(word)", "kws_run((int *)words)")
    board_file(tmp_path, "flash = { line = 16 }")
    orders = {"in_order": (range(0, 32, 4), 2), "from_both_ends": ((0, 28, 4, 24, 8, 20, 12, 16), 8), "again": ((0, 4, 0, 4), 1)}
    for name, (offsets, lines) in orders.items():
        code = "\n".join(["movs r2, #0", *(f"ldr r1, [r0, #{offset}]" for offset in offsets), "bx lr"]).replace("\n", "\\n ")
        elf = build("stm32f4", claimed + main.format(code), tmp_path, name=name)
        for board, expected in (("own", lines), ("stm32f4", min(lines, 2))):
            result = aidge_build("run", elf, "--board", board, "--board-path", tmp_path, "--json")
            found = result.json
            assert (found["run_flash_lines"], found["run_data_stalls"]) == (expected, 5 * expected), result.stderr


def board_file(folder, keys, base="stm32f4"):
    """A board of the user, called own, with other caches."""
    (folder / "own.toml").write_text(f'extends = "{base}"\n{keys}\n')


# 32 instructions of 2 or 4 bytes and a return, from the begin of a line on; 5 wait states. The 8 or 4 instructions of a line hide
# as many times the mean cycles of an instruction, of the 6 that the next line takes: (lines without, lines with, instructions).
STRAIGHT = {
    "no prefetch": ("nop", "line = 16", (5, 0, 0)),
    "prefetch": ("nop", "line = 16, prefetch = true", (1, 4, 8)),
    "wide instructions without prefetch": ("nop.w", "line = 16", (9, 0, 0)),
    "wide instructions": ("nop.w", "line = 16, prefetch = true", (1, 8, 4)),
    "short lines": ("nop", "line = 8, prefetch = true", (1, 8, 4)),
}


@pytest.mark.parametrize("name", STRAIGHT)
def test_code_waits_for_each_line_of_flash_that_was_not_fetched_ahead(tmp_path, name):
    instruction, keys, expected = STRAIGHT[name]
    board_file(tmp_path, f"flash = {{ {keys} }}")
    claimed = model().split("static uint8_t", 1)[0]
    function = FUNCTION.replace("naked,", "naked, aligned(16),").format(f".rept 32\\n {instruction}\\n .endr\\n bx lr")
    elf = build("stm32f4", claimed + function, tmp_path)
    found = aidge_build("run", elf, "--board", "own", "--board-path", tmp_path, "--json").json
    without, ahead, hidden = expected
    stalls = round(5 * without + ahead * max(0, 6 - hidden * found["run_core_cycles"] / 33))
    assert found["run_code_stalls"] == stalls and found["run_cycles_estimated"] == found["run_core_cycles"] + stalls


def test_a_loop_that_the_cache_holds_waits_once_and_a_longer_one_each_time(tmp_path):
    claimed = model().split("static uint8_t", 1)[0]
    code = "movs r1, #10\\n b 1f\\n .p2align 4\\n 1: .rept 22\\n nop\\n .endr\\n subs r1, #1\\n bne 1b\\n bx lr"
    elf = build("stm32f4", claimed + FUNCTION.replace("naked,", "naked, aligned(16),").format(code), tmp_path)
    for lines, expected in ((3, 1 + 3 + 1), (2, 1 + 3 * 10 + 1)):  # before the loop, of the loop, of the return
        board_file(tmp_path, f"flash = {{ line = 16, code_cache = {{ bytes = {16 * lines}, ways = {lines}, line = 16 }} }}")
        found = aidge_build("run", elf, "--board", "own", "--board-path", tmp_path, "--json").json
        assert found["run_code_stalls"] == 5 * expected


def test_an_external_flash_gives_cycles_with_its_cache_and_without(tmp_path):
    code = "mov r1, #50\\n 1: sub r1, #1\\n bne 1b\\n bx lr"
    claimed = model().split("static uint8_t", 1)[0]
    elf = build("rp2040", claimed + FUNCTION.replace("naked,", "naked, aligned(8),").format(code), tmp_path)
    result = aidge_build("run", elf, "--board", "rp2040")
    assert re.search(r"\n~[\d,]+ cycles, ~[\d.]+ ms at 125 MHz without the cache of the external flash\n", result.stdout)
    found = aidge_build("run", elf, "--board", "rp2040", "--json").json
    assert (found["run_code_stalls"], found["run_data_stalls"]) == (64, 0)
    assert found["run_cycles_uncached"] == found["run_core_cycles"] + 64 * (2 + 2 * 49)


def test_what_nobody_described_is_not_counted_and_said(tmp_path):
    elf = build("nrf52840", model("RAM"), tmp_path)
    found = aidge_build("run", elf, "--board", "nrf52840", "--json").json
    assert found["run_code_stalls"] is None and found["run_data_stalls"] > 0
    said = aidge_build("run", elf, "--board", "nrf52840").stdout
    assert "without stalls for code in flash, which the board's file does not describe" in said


def requested(path, board):
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    return load(parser.parse_args([str(path), "--board", board]), "net")


def of_any_length(request):
    """The same build as if the cache of the board held any loop."""
    return replace(request, target=replace(request.target, loop_bytes=0))


def estimated(request, board, folder):
    program = build_program(request)
    vectors = random_vectors(program.view, 1, seed=0)
    return execute(program, load_board(board), vectors, folder, estimates=True).result.run_cycles


def test_loops_fit_the_cache_of_code_of_the_board(tmp_path):
    """Lines, a plane, a pointwise and a depthwise convolution, and a fully connected layer, each long enough to be unrolled."""
    graph = Graph(1, quantized=True)
    value = graph.convolution(graph.input(1, 3, 12, 12), 24, (3, 3))
    value = graph.convolution(graph.convolution(value, 24, (3, 3), groups=24), 64, (1, 1))
    value = graph.convolution(graph.convolution(value, 64, (1, 1)), 8, (3, 3))
    graph.output(graph.dense(value, 4))
    (tmp_path / "net.onnx").write_bytes(graph.model().SerializeToString())
    request = requested(tmp_path / "net.onnx", "stm32l4r5")
    short, long = (estimated(each, "stm32l4r5", tmp_path) for each in (request, of_any_length(request)))
    assert 18 * short.code_stalls < short.core < long.code_stalls
    assert short.core < 1.05 * long.core


# Cycles of core and code, and stalls for constants, by a model that shares no code with this one: instruction by instruction, the
# cycles of Arm's manual, 5 wait states, prefetch, caches of 64 lines of 16 bytes for code and 8 for constants.
INDEPENDENT = [("kws_dscnn", 3.89e6, 0.445e6), pytest.param("ic_resnet8", 15.88e6, 2.183e6, marks=needs_stress)]


@pytest.mark.parametrize("name, core_and_code, constants", INDEPENDENT)
def test_core_code_and_constants_take_what_an_independent_model_says(tmp_path, name, core_and_code, constants):
    found = estimated(of_any_length(requested(int8_model(name), "stm32f4")), "stm32f4", tmp_path)
    assert found.core + found.code_stalls == pytest.approx(core_and_code, rel=0.05)
    assert found.data_stalls == pytest.approx(constants, rel=0.02)
    assert found.total == found.core + found.code_stalls + found.data_stalls


def test_an_estimate_says_how_far_it_can_be_trusted(tmp_path):
    elf = build("stm32f4", model("CCM"), tmp_path)
    printed = aidge_build("run", elf, "--board", "stm32f4").stdout
    assert re.search(
        r"\n~[\d,]+ cycles per inference, ~[\d.]+ ms at 168 MHz, "
        r"with stalls of \d+ cycles for code and \d+ for constants in flash "
        r"\(estimated; the core without wait states: \d+\.\d % below to \d\.\d % above what was measured for \d+ programs, "
        r"\d\.\d % on average; no board was measured; as the board's file says: its clock, caches and prefetch of its flash on\)",
        printed,
    )
    found = aidge_build("run", elf, "--board", "stm32f4", "--json").json
    assert found["run_instructions"] < found["run_cycles_estimated"] < 3 * found["run_instructions"]
    layers = sum(layer["cycles_estimated"] for layer in found["layers"])
    assert 0 < found["run_cycles_estimated"] - layers < 100


def test_a_core_without_a_timing_table_gets_no_estimate(tmp_path):
    result = aidge_build("run", build("m2354", model("SRAM"), tmp_path), "--board", "m2354", "--json")
    assert result.json["run_cycles_estimated"] is None and "not estimated" in result.json["cycles_validation"]


@pytest.mark.parametrize("name", [name for name in TRIED if timing_of(load_board(name).core)])
def test_every_core_with_a_table_takes_cycles_for_its_instructions(tmp_path, name):
    board = load_board(name)
    result = aidge_build("run", build(name, model(board.arena_regions[0].name), tmp_path), "--board", name, "--json")
    assert result.json["run_core_cycles"] > result.json["run_instructions"] / 2, result.stderr


def test_caches_of_the_core_that_the_firmware_leaves_off_are_named(tmp_path):
    claimed = model().split("static uint8_t", 1)[0] + FUNCTION.format("bx lr")
    board = load_board("stm32f7")
    own_start = replace(board, has_caches=False)
    for made_for, bits, off in (
        (own_start, 0, "code and data"),
        (own_start, 1 << 17, "data"),
        (own_start, 3 << 16, ""),
        (board, 0, ""),
    ):
        switched = f"int main(void) {{ *(volatile unsigned *)0xE000ED14 |= {bits}u; "
        elf = build(made_for, claimed.replace("int main(void) { ", switched), tmp_path)
        said = re.findall(
            r"\nthe firmware does not switch the core's cache for (.+) on,", aidge_build("run", elf, "--board", "stm32f7").stdout
        )
        assert said == [off] * bool(off)


def test_firmware_with_double_precision_passes_the_check_of_its_chip_and_hears_that_the_emulator_lacks_it(tmp_path):
    code = model().replace("int main(void) {", "volatile double a = 1.5, b;\nint main(void) { b = a * a;", 1)
    elf = build("stm32h743", code, tmp_path, flags=("-mfpu=fpv5-d16",))
    assert "MEM13" not in aidge_build("check", elf, "--board", "stm32h743").stdout
    assert "no FPU in double precision: -mfpu=fpv5-sp-d16" in aidge_build("run", elf, "--board", "stm32h743").stderr
