# SPDX-License-Identifier: MIT
"""No call takes more instructions than the longest way through its code, whatever the data are: random programs, counted.

A fixed sample; AIDGE_STRESS=1 (`./sconsw stress`) takes more programs, cores and options.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from aidge_build.boards import load_board
from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf import read_image
from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.longest.calls import GIVEN, Calls
from aidge_build.run.emulate import Counted, run_program
from aidge_build.run.toolchain import disassemble
from tests.programs import build, needs_cross_compiler, needs_qemu, needs_riscv

SIZE, COUNT, LIMIT = 24, 6, 2_000_000
RISCV = ("qemu_riscv32", "qemu_hazard3", "qemu_riscv32_v")
BOARDS = {"mps2-an386": "-O2", "mps3-an547": "-Os"}
MORE = [(board, flag, seed) for board in (*BOARDS, "mps2-an505", "rp2040") for flag in ("-O1", "-O2", "-Os") for seed in range(8)]
MORE_RISCV = [(board, flag, seed) for board in RISCV for flag in ("-O1", "-O2", "-Os") for seed in range(8)]
MAIN = """
#include <stdint.h>
#include <string.h>
static int8_t x[SIZE], y[SIZE];
static uint32_t seed = 7;
static uint32_t drawn(void) { seed = seed * 1664525u + 1013904223u; return seed >> 8; }
FUNCTIONS
int main(void)
{
    int32_t turn, index, kind;
    int32_t sum = 0;
    for (turn = 0; turn < 24; turn++) {
        kind = turn % 6;
        for (index = 0; index < SIZE; index++)
            x[index] = (int8_t)(kind == 0 ? -128 : kind == 1 ? 127 : kind == 2 ? 0 : (int32_t)drawn());
        CALLS
    }
    return sum == 12345;
}
"""


def statements(choose: random.Random, depth: int) -> str:
    """Some C statements on sum, i, x and y; loops end by counts, and some of them earlier by data."""
    found = []
    for _ in range(choose.randint(1, 3)):
        kind = choose.randint(0, 8 if depth < 3 else 3)
        index, number = choose.randint(0, SIZE - 1), choose.randint(-90, 90)
        inner = statements(choose, depth + 1) if kind > 3 else ""
        name = f"i{depth}"
        found.append(
            [
                f"sum += x[{index}] * {number};",
                f"y[{index}] = (int8_t)(sum > {number} ? {number} : sum);",
                f"if (x[{index}] > {number}) sum ^= {number}; else sum = sum * 3 + x[{index}] / {abs(number) + 1};",
                f"sum = sum < {number} ? {number} : sum;",
                f"if (x[{index}] > {number}) {{ {inner} }}",
                f"for (int {name} = 0; {name} < {choose.randint(1, 5)}; {name}++) {{ sum += x[{name} + {index} / 2]; {inner} }}",
                f"for (int {name} = 0; {name} < n; {name}++) {{ if (x[{name}] == {number}) break; {inner} }}",
                f"switch (x[{index}] & 3) {{ case 0: sum += 5; break; case 1: {inner} break; case 2: sum ^= 77; break; "
                f"default: sum -= y[{index}]; }}",
                f"{{ int8_t kept[12]; memcpy(kept, x + {index % 12}, 12); {inner} sum += kept[sum & 7]; }}",
            ][kind]
        )
    return "\n".join(found)


def program(seed: int, count: int) -> str:
    choose = random.Random(seed)
    functions = [
        f"__attribute__((noinline)) int32_t f{number}(const int8_t *x, int8_t *y, int32_t n)\n"
        f"{{ int32_t sum = 1; {statements(choose, 0)} return sum; }}"
        for number in range(count)
    ]
    calls = " ".join(f"sum += f{number}(x, y, {5 + number % 4});" for number in range(count))
    text = MAIN.replace("SIZE", str(SIZE)).replace("CALLS", calls)
    return text.replace("FUNCTIONS", "\n".join(functions))


@pytest.mark.requirement("G9")
@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize("board, flag, seed", MORE if "AIDGE_STRESS" in os.environ else [(*one, 1) for one in BOARDS.items()])
def test_no_call_takes_more_instructions_than_its_longest_way(board, flag, seed, tmp_path):
    elf = build(board, program(seed, COUNT), tmp_path, flags=(flag, "-std=gnu99"))
    compare(elf, board, read_disassembly(disassemble(elf)))


@pytest.mark.requirement("G9")
@needs_riscv
@pytest.mark.parametrize("board, flag, seed", MORE_RISCV if "AIDGE_STRESS" in os.environ else [("qemu_hazard3", "-Os", 2)])
def test_no_call_of_risc_v_code_takes_more_instructions_than_its_longest_way(board, flag, seed, tmp_path):
    elf = build(board, program(seed, COUNT), tmp_path, flags=(flag, "-std=gnu99", "-msave-restore"))
    compare(elf, board, {})


def compare(elf: Path, board: str, instructions: dict) -> None:
    image = read_image(elf)
    calls = Calls(image, instructions)
    equal = 0
    for number in range(COUNT):
        symbol = image.symbol(f"f{number}")
        arguments = [*GIVEN[:2], 5 + number % 4]
        try:
            bound = calls.call(symbol.address, arguments, calls.memory(), LIMIT).instructions
        except Refusal as refusal:
            assert board == "rp2040", (number, refusal)  # jumps by tables through a function of libgcc
            continue
        measured = run_program(elf, load_board(board), work_folder=elf.parent, counted=Counted(step_symbol=f"f{number}")).steps
        assert measured.count >= 24 and measured.longest <= bound, (number, measured, bound)
        equal += measured.longest == bound
    assert equal > 0 or board == "rp2040"
