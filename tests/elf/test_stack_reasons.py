# SPDX-License-Identifier: MIT
"""Where there is no bound of the stack, the finding says why, for the program and for each model, and what helps there."""

from __future__ import annotations

import struct

import pytest
from elftools.elf.elffile import ELFFile

from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf.findings import RULES
from aidge_build.prove.elf.frames import RETURN, State, apply
from tests.command import Result, aidge_build
from tests.elf.own_script import REGIONS, claim, edited, link, program
from tests.elf.test_stack_bound import REFUSED
from tests.programs import build, needs_cross_compiler

CALLED = "static int kws_fc(void) {"


def stack_findings(result: Result) -> list[dict]:
    return [finding for finding in result.json["findings"] if finding["code"] == "STK02"]


LOST = {
    "a ROM": (
        "void rom_fill(void) { ((void (*)(void))0x1235)(); }",
        "the way leads to 0x00001234, which is not in the program. Path: kws_run > kws_fc > rom_fill",
    ),
    "a pointer": (
        "void (*volatile fill)(void); void rom_fill(void) { fill(); }",
        "an indirect call at rom_fill",
    ),
}


@needs_cross_compiler
@pytest.mark.parametrize("name", LOST)
def test_a_bound_of_a_model_that_disappears_says_why(tmp_path, name):
    """As where the C library's memset is replaced by one in a boot ROM."""
    function, reason = LOST[name]
    elf = link(
        tmp_path,
        program().replace("__attribute__((noinline)) " + CALLED, f"{function}\n__attribute__((noinline)) {CALLED} rom_fill();"),
    )
    result = aidge_build("check", elf, *REGIONS, "--json")
    of_program, of_model = stack_findings(result)
    assert of_program["text"].startswith("no stack bound: ")
    assert of_model["text"].startswith(f"no stack bound of kws_run: {reason}") and of_model["severity"] == "warning"
    assert of_model["hint"].startswith("generated code calls by name alone: link another rom_fill")
    (entry,) = result.json["models"]
    assert entry["stack_bound_bytes"] is None and entry["stack_refused"] in of_model["text"] and entry["stack_refused"]
    assert of_model["text"] in aidge_build("check", elf, *REGIONS).stdout


@needs_cross_compiler
def test_a_model_that_keeps_its_bound_has_no_reason_and_is_printed(tmp_path):
    elf = link(tmp_path, program("void extra(void) { ((void (*)(void))0x1235)(); }"))
    result = aidge_build("check", elf, *REGIONS, "--json")
    (of_program,) = stack_findings(result)
    assert "which is not in the program" in of_program["text"] and "a boot ROM's" in of_program["hint"]
    (entry,) = result.json["models"]
    assert entry["stack_bound_bytes"] is not None and entry["stack_refused"] == ""
    assert "stack kws_run <= " in aidge_build("check", elf, *REGIONS).stdout


@needs_cross_compiler
def test_a_model_whose_function_is_not_linked_says_so(tmp_path):
    elf = link(tmp_path, program().replace("kws_run", "renamed_run"))
    (finding,) = stack_findings(aidge_build("check", elf, *REGIONS, "--json"))
    assert finding["text"] == "no stack bound of kws_run: kws_run is not in the program"
    assert finding["hint"] == "does the firmware call it?"


@needs_cross_compiler
def test_a_program_for_a_core_whose_code_nobody_reads_says_that_its_stack_is_not_bounded(tmp_path):
    def to_xtensa(content: bytearray, image: ELFFile) -> None:
        struct.pack_into("<H", content, 18, 94)

    elf = edited(link(tmp_path, program(says=claim(cpu=""))), to_xtensa)
    result = aidge_build("check", elf, *REGIONS, "--json")
    assert result.exit_code == 0
    (finding,) = result.json["findings"]
    reason = "the program is for XTENSA, code is read for Cortex-M and RISC-V alone"
    assert (finding["code"], finding["severity"]) == ("STK02", "note")
    assert finding["text"] == f"no stack bound for this machine: {reason}" and "fill the stack with a pattern" in finding["hint"]
    assert result.json["stack_refused"] == reason
    required = aidge_build("check", elf, *REGIONS, "--max-stack", "4096")
    assert (
        required.exit_code == 2
        and "a stack bound needs a program for Cortex-M or RISC-V, this one is for XTENSA" in required.stderr
    )
    assert "Hint: leave out the budget" in required.stderr


@needs_cross_compiler
@pytest.mark.parametrize(
    "statement, reason",
    [
        ("msr msp, %0", "MSP is set, at main+"),
        ("msr psp, %0", "PSP is set, at main+"),
        ("mov sp, %0", "the stack pointer is set to a fixed address, at main+"),
        ("svc #1 @ %0", "a supervisor call"),
    ],
)
def test_a_program_that_changes_stacks_is_told_to_size_each(tmp_path, statement, reason):
    elf = build("stm32f7", f'int main(void) {{ __asm__ volatile("{statement}" : : "r"(0x20000100)); return 0; }}', tmp_path)
    (finding,) = stack_findings(aidge_build("check", elf, "--board", "stm32f7", "--json"))
    assert reason in finding["text"] and "size each task's" in finding["hint"]


@needs_cross_compiler
@pytest.mark.parametrize("name", REFUSED)
def test_each_reason_has_a_hint_of_its_own(tmp_path, name):
    code, reason = REFUSED[name]
    flags = ("-fno-optimize-sibling-calls",) if "rec" in name or "cycle" in name else ("-O2",)
    finding = stack_findings(
        aidge_build("check", build("mps2-an386", code, tmp_path, flags=flags), "--board", "mps2-an386", "--json")
    )[0]
    assert reason in finding["text"] and finding["hint"] != RULES["STK02"].hint


@pytest.mark.parametrize(
    "line, is_kept",
    [
        ("strexd\tr2, r0, r1, [sp]", False),
        ("stlexd\tr2, r0, r1, [sp]", False),
        ("strd\tr0, r1, [sp]", False),
        ("strex\tr2, r0, [sp]", True),
        ("str\tr0, [sp]", True),
    ],
)
def test_a_store_of_two_words_may_overwrite_the_return_address_behind_the_first(line, is_kept):
    state = State()
    for text in ("push\t{r4, lr}", line):
        (instruction,) = read_disassembly(f" 8000000:\te8c0 0000 \t{text}").values()
        apply(state, instruction, instruction.mnemonic, lambda address: None)
    (back,) = read_disassembly(" 8000004:\tbd10      \tpop\t{r4, pc}").values()
    assert (apply(state, back, "pop", lambda address: None) == RETURN) is is_kept
