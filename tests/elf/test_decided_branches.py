# SPDX-License-Identifier: MIT
"""A branch that a constant decides goes one way: start-up code asks so whether a function exists that need not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf import StackBound, read_image, stack_use
from aidge_build.run.toolchain import disassemble
from tests.elf.own_script import SCRIPT, link
from tests.programs import needs_cross_compiler

pytestmark = needs_cross_compiler
CORES = (("-mcpu=cortex-m4",), ("-mcpu=cortex-m0",), ("-mcpu=cortex-m33",), ("-mcpu=cortex-m7", "-mfloat-abi=hard"))
PROGRAM = """
volatile int x;
__attribute__((weak)) void hook(int);
%s
void Reset_Handler(void) { main(); for (;;); }
extern char stack_top[];
__attribute__((section(".isr_vector"), used)) void *const vectors[4] = {stack_top, Reset_Handler, Reset_Handler, Reset_Handler};
"""
TABLES = """
    .init_array : { PROVIDE_HIDDEN(__preinit_array_start = .); KEEP(*(.preinit_array)) PROVIDE_HIDDEN(__preinit_array_end = .);
        PROVIDE_HIDDEN(__init_array_start = .); KEEP(*(.init_array*)) PROVIDE_HIDDEN(__init_array_end = .); } > FLASH
    .fini_array : { KEEP(*(.fini_array*)) } > FLASH
    .data :"""


def bound_of(elf: Path) -> StackBound:
    return stack_use(read_image(elf), read_disassembly(disassemble(elf)), ()).program


@pytest.mark.parametrize("core", CORES, ids=lambda core: core[0][6:])
def test_a_program_with_the_start_up_code_of_gcc_and_newlib_has_a_bound(tmp_path, core):
    """frame_dummy of crtbegin.o leads to register_tm_clones, which calls a function that need not exist by a literal 0."""
    compiler = ("arm-none-eabi-gcc", *core, "-mthumb")
    ends = [
        subprocess.run([*compiler, f"-print-file-name={name}.o"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("crtbegin", "crtend")
    ]
    code = PROGRAM % "void __libc_init_array(void); void _init(void) {} int main(void) { __libc_init_array(); return x; }"
    elf = link(
        tmp_path, code, SCRIPT.replace("    .data :", TABLES, 1), "-Wl,-u,__libc_init_array", *ends, "-lc", cpu=(*core, "-mthumb")
    )
    assert read_image(elf).symbol("frame_dummy") is not None
    bound = bound_of(elf)
    assert bound.bytes is not None and "frame_dummy" in bound.path, bound


HELD = "volatile char b[100]; b[x & 7] = 1;"
WAYS = {
    "guarded": ("int main(void) { if (hook) hook(x); return 0; }", ""),
    "guarded, after a choice": ("int main(void) { if (x > 3 && hook) hook(x); return 0; }", ""),
    "by the opposite": ("int main(void) { if (!hook) return 1; hook(x); return 0; }", ""),
    "a variable decides": ("int main(void) { if (x) hook(x); return 0; }", "which is not in the program"),
    "guarded by the reverse": ("int main(void) { if (!hook) hook(x); return 0; }", "which is not in the program"),
}


@pytest.mark.parametrize("flags", [("-O0",), ("-O1",), ("-Os",)], ids=lambda flags: flags[0])
@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4"])
def test_a_call_of_a_function_that_does_not_exist_counts_only_where_it_may_run(tmp_path, core, flags):
    for name, (code, reason) in WAYS.items():
        elf = link(tmp_path, PROGRAM % code, SCRIPT, "-mlong-calls", *flags, cpu=(f"-mcpu={core}", "-mthumb"))
        bound = bound_of(elf)
        assert (reason in bound.reason and bound.bytes is None) if reason else bound.bytes is not None, (name, bound)


@pytest.mark.parametrize(
    "condition, number, is_taken",
    [
        ("eq", 5, True),
        ("ne", 5, False),
        ("lo", 4, True),
        ("hs", 4, False),
        ("hi", 0xFFFFFFFF, True),
        ("ls", 0xFFFFFFFF, False),
        ("lt", 0xFFFFFFFF, True),
        ("ge", 0xFFFFFFFF, False),
        ("gt", 6, True),
        ("le", 6, False),
    ],
)
def test_two_constants_decide_a_condition_as_the_core_does(tmp_path, condition, number, is_taken):
    """The way that is not taken holds 800 bytes."""
    near, far = ("", "sub sp, #400\\n sub sp, #400\\n add sp, #400\\n add sp, #400\\n")[:: 1 if is_taken else -1]
    lines = f"ldr r3, ={number}\\n cmp r3, #5\\n b{condition} 1f\\n {far} bx lr\\n 1: {near} bx lr"
    code = PROGRAM % f'__attribute__((naked)) int main(void) {{ __asm__("{lines}"); }}'
    bound = bound_of(link(tmp_path, code, SCRIPT))
    assert bound.bytes is not None and bound.bytes < 800


@pytest.mark.parametrize(
    "between, what", [("bkpt 0xab", "r0"), ("bkpt 0xab", "r3"), ("bl called", "r2"), ("mrs r0, primask", "r0")]
)
def test_a_register_that_something_else_may_change_decides_nothing(tmp_path, between, what):
    """A debugger answers a semihosting call in r0: the way behind it, which holds 400 bytes, may run for any number."""
    far = "sub sp, #400\\n add sp, #400"
    lines = f"push {{lr}}\\n movs {what}, #5\\n {between}\\n cmp {what}, #5\\n beq 1f\\n {far}\\n 1: pop {{pc}}"
    code = PROGRAM % f'void called(void) {{ x = 1; }} __attribute__((naked)) int main(void) {{ __asm__("{lines}"); }}'
    bound = bound_of(link(tmp_path, code, SCRIPT, "-u", "called"))
    assert bound.bytes is not None and bound.bytes >= 400, bound
