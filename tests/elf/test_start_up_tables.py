# SPDX-License-Identifier: MIT
"""Start-up code calls constructors by a table of the linker script: they count, and what else it calls has no bound."""

from __future__ import annotations

import pytest

from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf import read_image, stack_use
from aidge_build.prove.elf.deepest import StackBound
from aidge_build.run.toolchain import disassemble
from tests.elf.own_script import SCRIPT, link, program
from tests.programs import needs_cross_compiler

pytestmark = needs_cross_compiler
TABLES = """
    .tables : {
        __preinit_array_start = .; __preinit_array_end = .;
        __init_array_start = .; KEEP(*(.init_array*)) __init_array_end = .;
        __fini_array_start = .; KEEP(*(.fini_array*)) __fini_array_end = .;
    } > FLASH
"""
CODE = """
typedef void (*entry)(void);
#define BOUNDS(name) extern entry __##name##_array_start[], __##name##_array_end[];
BOUNDS(preinit) BOUNDS(init) BOUNDS(fini)
#define HOLDS(bytes) { __asm__("sub sp, #" #bytes "\\n add sp, #" #bytes "\\n bx lr"); }
__attribute__((naked)) void first(void) HOLDS(200)
__attribute__((naked)) void early(void) HOLDS(304)
__attribute__((naked)) void late(void) HOLDS(408)
__attribute__((section(".init_array"), used)) entry const initial[2] = { first, early };
__attribute__((section(".fini_array"), used)) entry const final[2] = { late, first };
entry volatile other = late, beyond;
__attribute__((noipa)) void __libc_init_array(void) { INIT }
__attribute__((noipa)) void __libc_fini_array(void) { FINI }
void extra(void) { __libc_init_array(); __libc_fini_array(); }
"""
COUNTED = (
    "int n = __preinit_array_end - __preinit_array_start; for (int i = 0; i < n; i++) __preinit_array_start[i](); "
    "n = __init_array_end - __init_array_start; for (int i = 0; i < n; i++) __init_array_start[i]();",
    "for (int n = __fini_array_end - __fini_array_start; n > 0;) __fini_array_start[--n]();",
)
BY_POINTERS = (
    "for (entry *at = __preinit_array_start; at < __preinit_array_end;) (*at++)(); "
    "for (entry *at = __init_array_start; at != __init_array_end; at++) (*at)();",
    "for (entry *at = __fini_array_end; at > __fini_array_start;) (*--at)();",
)


def bound_of(tmp_path, init: str, fini: str, flags: str = "-O2", core: str = "cortex-m4") -> StackBound:
    script = SCRIPT.replace("    .rodata :", TABLES + "    .rodata :")
    code = program(CODE.replace("INIT", init).replace("FINI", fini))
    elf = link(tmp_path, code, script, flags, cpu=(f"-mcpu={core}", "-mthumb", "-mfloat-abi=soft"))
    return stack_use(read_image(elf), read_disassembly(disassemble(elf)), ()).program


@pytest.mark.parametrize("flags, core", [("-O0", "cortex-m4"), ("-O2", "cortex-m0"), ("-Os", "cortex-m0"), ("-Os", "cortex-m4")])
@pytest.mark.parametrize("loops", [COUNTED, BY_POINTERS], ids=["counted", "by pointers"])
def test_the_deepest_function_of_a_table_counts(tmp_path, loops, flags, core):
    bound = bound_of(tmp_path, *loops, flags, core)
    assert bound.path[-2:] == ("__libc_fini_array", "late") and bound.held_bytes[-1] == 408


@pytest.mark.parametrize(
    "init",
    [
        "other(); " + COUNTED[0],
        COUNTED[0] + " other();",
        '__asm__ volatile("ldr r3, =__init_array_start\\n ldr r3, [r3]\\n bl first\\n blx r3" ::: "r3", "lr");',
        "entry last = 0; for (entry *at = __init_array_start; at < __init_array_end; at++) { (*at)(); last = beyond; } last();",
    ],
)
def test_what_is_called_and_comes_from_no_table_has_no_bound(tmp_path, init):
    bound = bound_of(tmp_path, init, COUNTED[1])
    assert bound.bytes is None and " at __libc_init_array" in bound.reason and "an indirect " in bound.reason
