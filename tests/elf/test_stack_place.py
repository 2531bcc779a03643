# SPDX-License-Identifier: MIT
"""The stack begins in a RAM, and what it may use is RAM that nothing else has."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.command import Result, aidge_build
from tests.elf.fault import check
from tests.elf.own_script import REGIONS, RISCV, SCRIPT, link, program
from tests.programs import needs_cross_compiler, needs_riscv

pytestmark = needs_cross_compiler
VARIABLES = "volatile int kept[20] = {1}; volatile char free_bytes[4000]; void extra(void) { kept[1] = free_bytes[3]; }"
RECURSION = "volatile int depth; void extra(void) { if (depth) { extra(); depth--; } }"
OWN = "static char my_{0}[{1}] __attribute__((aligned(8), used));"
NAKED = "__attribute__((naked)) void Reset_Handler(void)"


def top(where: str, script: str = SCRIPT) -> str:
    return script.replace("stack_top = 0x20010000", f"stack_top = {where}")


def own_array(name: str, size_bytes: int, begin: str) -> str:
    code = program(VARIABLES + OWN.format(name, size_bytes))
    return code.replace("    stack_top, Reset", f"    {begin}, Reset")


def set_by_code(address: str) -> str:
    text = f'{NAKED} {{ __asm__("ldr r0, ={address}\\nmsr MSP, r0\\nisb\\nbl main\\nb ."); }}'
    return program(VARIABLES).replace("void Reset_Handler(void) { main(); for (;;); }", text)


def of_stack(result: Result) -> list[str]:
    return [finding["text"] for finding in result.json["findings"] if finding["code"] == "STK03"]


FAULTS = {
    "beyond the RAM": (program(), top("0x20060000"), "0x20060000, in no RAM. RAM: DTCM 0x20000000 to 0x2000ffff, AXI"),
    "below the RAM": (program(), top("0x20000000"), "0x20000000, in no RAM"),
    "in flash": (program(), top("0x08000400"), "0x08000400, in FLASH, which cannot be written"),
    "at the bottom of the RAM": (program(), top("0x20000008"), "DTCM has 8 B below"),
    "in variables": (program(VARIABLES), top("0x20000060"), "bytes of kept (80 B at 0x20000000), free_bytes"),
    "in the middle of an array": (program(VARIABLES), top("free_bytes + 2000"), "bytes of free_bytes (4,000 B at 0x"),
    "an array that is too small": (
        own_array("stack", 16, "my_stack + 16"),
        SCRIPT,
        "in my_stack (16 B) and may use 60 B, among them bytes of kept",
    ),
    "in code that was copied to RAM": (
        program(VARIABLES + '__attribute__((section(".fast"))) void fast(void) { kept[2] = 1; }').replace(
            "extra(void) {", "extra(void) { void fast(void); fast();"
        ),
        top("_fast + 132").replace("    .data :", "    .fast : { _fast = .; . += 128; *(.fast) } > DTCM AT > FLASH\n    .data :"),
        "section .fast",
    ),
    "in flash, without a bound": (program(RECURSION), top("0x08000400"), "in FLASH, which cannot be written"),
    "in variables, without a bound": (program(RECURSION + VARIABLES.replace("extra", "more")), top("0x20000060"), "free_bytes"),
    "where the reset handler sets it": (set_by_code("0x20060000"), SCRIPT, "0x20060000, in no RAM"),
}
LEGAL = {
    "an array of its own": (own_array("space", 512, "my_space + 512"), SCRIPT),
    "an array with a seal": (own_array("space", 512, "my_space + 504"), SCRIPT),
    "an array for threads that holds more": (own_array("stacks", 1024, "my_stacks + 512"), SCRIPT),
    "a section of its own": (
        program(VARIABLES),
        top("stack_end").replace("    .data :", "    .stack (NOLOAD) : { . += 512; stack_end = .; } > DTCM\n    .data :"),
    ),
    "filler between heap and stack": (
        program(VARIABLES),
        top("0x20010000").replace("    stack_top", "    ._user_heap_stack : { . += 512; . += 4096; } > DTCM\n    stack_top"),
    ),
    "the lowest bytes of a section of variables": (
        program(VARIABLES),
        top("stack_end").replace(".bss : {", ".bss : { . += 512; stack_end = .;"),
    ),
    "two memories, one behind the other": (
        program(VARIABLES),
        top("0x20010008").replace("    AXI (rw)", "    SRAM (rw) : ORIGIN = 0x20010000, LENGTH = 4K\n    AXI (rw)"),
    ),
    "a number that the reset handler replaces": (set_by_code("0x20010000"), top("0x20000100")),
    "the end of another RAM": (program(), top("0x24080000")),
}


@pytest.mark.requirement("STK03")
@pytest.mark.parametrize("name", FAULTS)
def test_a_stack_in_no_ram_or_in_bytes_of_something_else_is_an_error(tmp_path, name):
    code, script, expected = FAULTS[name]
    result = check(link(tmp_path, code, script))
    (text,) = of_stack(result)
    assert expected in text and result.exit_code == 1


@pytest.mark.requirement("STK03")
@needs_riscv
@pytest.mark.parametrize("name", ["in variables", "in flash, without a bound"])
def test_a_stack_of_a_program_for_riscv_begins_where_start_up_code_says(tmp_path, name):
    code, script, expected = FAULTS[name]
    result = check(link(tmp_path, code, script, cpu=RISCV))
    (finding,) = (one for one in result.json["findings"] if one["code"] == "STK03")
    assert expected in finding["text"] and "start-up code writes to sp" in finding["hint"] and result.exit_code == 1


@pytest.mark.parametrize("name", LEGAL)
def test_a_stack_in_bytes_of_its_own_is_no_fault(tmp_path, name):
    code, script = LEGAL[name]
    result = check(link(tmp_path, code, script), *REGIONS, "--region=SRAM=0x20010000,0x1000")
    assert (of_stack(result), result.exit_code) == ([], 0)


def test_the_memories_of_a_map_are_asked_like_those_of_a_board(tmp_path):
    elf = link(tmp_path, program(), top("0x20060000"), f"-Wl,-Map={tmp_path / 'app.map'}")
    assert of_stack(check(elf, "--map", str(tmp_path / "app.map")))


def test_words_that_are_instructions_are_no_place_of_a_stack(tmp_path: Path):
    """A core of profile A has branches where Cortex-M has its table."""
    (tmp_path / "a.c").write_text(
        "int x; void _start(void) { x = 1; for (;;); }\n"
        '__asm__(".section .vectors, \\"ax\\"\\n.arm\\nb _start\\nb _start\\nb _start\\nb _start\\n");'
    )
    elf = tmp_path / "a.elf"
    words = ["arm-none-eabi-gcc", "-mcpu=cortex-a9", "-marm", "-nostdlib", "-Wl,-Tdata=0x20000000", "-o", str(elf)]
    subprocess.run([*words, str(tmp_path / "a.c")], check=True, capture_output=True)
    assert of_stack(check(elf, "--region=ALL=0,0x10000000,flash", "--region=RAM=0x20000000,0x10000")) == []


RESERVES = {
    "ST": ("_estack = stack_top; _Min_Stack_Size = 0x300;", "", " of 768 B", "reserved by _Min_Stack_Size below _estack"),
    "CMSIS": (
        "__StackTop = stack_top; __StackLimit = stack_top - 512;",
        "",
        " of 512 B",
        "reserved by __StackLimit to __StackTop",
    ),
    "a number alone": ("__stack_size__ = 0x500;", "", " of 1,280 B", "reserved by __stack_size__"),
    "start-up code": ("", '__asm__(".equ Stack_Size, 0x600\\n.global Stack_Size");', " of 1,536 B", "reserved by Stack_Size"),
    "an array": ("", "", " of 512 B", "reserved by my_stack"),
    "too few bytes": ("_estack = stack_top; _Min_Stack_Size = 40;", "", " of 40 B", "reserved by _Min_Stack_Size below _estack"),
    "a heap within": (
        "__StackTop = stack_top; __StackLimit = stack_top - 4096; __HeapBase = stack_top - 4000; __HeapLimit = stack_top - 512;",
        "",
        " of 512 B",
        "reserved by __StackLimit to __StackTop, but for the heap",
    ),
    "a variable of ST's name": ("_estack = stack_top;", "int _Min_Stack_Size = 512;", "", "compared with nothing: --max-stack N"),
    "another stack": ("__StackTop = 0x24080000; __StackLimit = 0x24070000;", "", "", "compared with nothing: --max-stack N"),
    "a variable of this name": ("", "int STACK_SIZE = 512;", "", "compared with nothing: --max-stack N"),
}


@pytest.mark.parametrize("name", RESERVES)
def test_the_bound_is_compared_with_what_the_firmware_itself_reserves_for_the_stack(tmp_path, name):
    symbols, code, reserved, by = RESERVES[name]
    text = own_array("stack", 512, "my_stack + 512") if name == "an array" else program(VARIABLES + code)
    result = aidge_build("check", link(tmp_path, text, SCRIPT.replace("    .data :", f"    {symbols}\n    .data :")), *REGIONS)
    assert re.search(rf"stack <= \d+ B{reserved} \(\+ \d+ B for an interrupt\), {by}   Reset_Handler", result.stdout)
    assert ("warning STK01" in result.stdout, result.exit_code) == (name == "too few bytes", 0)


def test_a_budget_is_what_the_bound_is_compared_with(tmp_path):
    result = aidge_build("check", link(tmp_path, program()), *REGIONS, "--max-stack", "4000")
    assert "B for an interrupt)   Reset_Handler" in result.stdout
