# SPDX-License-Identifier: MIT
"""A RISC-V program in QEMU that traps where no handler is ends with the reason, and does not run for ever."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aidge_build.base.errors import CheckFailed
from aidge_build.boards import load_board
from aidge_build.run.emulate import run_program, supervision
from aidge_build.run.toolchain import build_program
from tests.programs import needs_riscv

START = """
__attribute__((naked, section(".vectors"), used)) void Reset_Handler(void)
{{ __asm__ volatile("la sp, __stack_top\\n\\tjal main\\n1:\\tj 1b"); }}
__attribute__((noinline)) int main(void) {{ __asm__ volatile("{instruction}"); return 0; }}
"""


@needs_riscv
@pytest.mark.parametrize(
    "instruction, hint",
    [("vsetvli t0, a0, e8, m1, ta, ma", "mstatus.VS"), ("fadd.s f0, f0, f0", "mstatus.FS"), ("unimp", "handler to mtvec")],
)
def test_the_bit_of_mstatus_that_is_off_is_named(tmp_path, monkeypatch, instruction, hint):
    monkeypatch.setattr(supervision, "_LOOK", 0.05)
    board = replace(load_board("qemu_riscv32_v"), sources=())
    (tmp_path / "main.c").write_text(START.format(instruction=instruction))
    flags = ["-Wl,--no-warn-rwx-segments"]
    elf = build_program(board, [tmp_path / "main.c"], tmp_path / "app.elf", work_folder=tmp_path, extra_flags=flags)
    with pytest.raises(CheckFailed) as raised:
        run_program(elf, board, work_folder=tmp_path)
    assert "nothing is executed after main" in raised.value.what and hint in raised.value.hint
