# SPDX-License-Identifier: MIT
"""What something else may change is not known: code that it leads to counts, or the program has no bound."""

from __future__ import annotations

import pytest

from tests.elf.own_script import SCRIPT, link
from tests.elf.test_decided_branches import PROGRAM, bound_of
from tests.programs import needs_cross_compiler

pytestmark = needs_cross_compiler
FAR_BYTES = 400
FAR = f"sub sp, #{FAR_BYTES}; add sp, #{FAR_BYTES}"
FUNCTIONS = f"""
__attribute__((noinline, used)) void far(void) {{ volatile char b[{FAR_BYTES}]; b[x & 7] = 1; }}
__attribute__((noinline, used)) void near(void) {{ x = 2; }}
__attribute__((noinline, used)) void change(int *p) {{ *p = (int)far; }}
__attribute__((noinline, used)) void change_lower(int *p) {{ p[-2] = (int)far; }}
"""
M0, M4, M33, M55 = ("cortex-m0",), ("cortex-m4",), ("cortex-m33",), ("cortex-m55", "-mfloat-abi=hard")


def counts(folder, code: str, core: tuple[str, ...], *flags: str) -> bool:
    """Whether the code that holds FAR_BYTES counts, or the program has no bound."""
    cpu = (f"-mcpu={core[0]}", *core[1:], "-mthumb")
    bound = bound_of(link(folder, PROGRAM.replace("%s", FUNCTIONS + code), SCRIPT, *flags, cpu=cpu))
    return bound.bytes is None or bound.bytes >= FAR_BYTES


def by_hand(lines: str) -> str:
    text = "\\n ".join(f".syntax unified; push {{r4-r7, lr}}; {lines}; pop {{r4-r7, pc}}; .ltorg".split("; "))
    return f'__attribute__((naked)) int main(void) {{ __asm__("{text}"); }}'


@pytest.mark.parametrize("flag", ["-O0", "-O1", "-Os"])
@pytest.mark.parametrize(
    "code",
    [
        "int main(void) { int a[3] = {0, 0, 0}; a[x & 1] = 1; if (a[0]) far(); return a[1]; }",
        "volatile int *volatile p; int main(void) { volatile int b = 0; p = &b; b = 0; while (!b); far(); return 0; }",
        'const int k __attribute__((section(".rodata.k"))) = 0; int main(void) { if (*(volatile int *)&k) far(); return 0; }',
    ],
    ids=["an array", "a variable of an interrupt", "a constant that a tool programs"],
)
def test_a_variable_that_a_pointer_an_interrupt_or_a_tool_may_change_decides_nothing(tmp_path, code, flag):
    assert all(counts(tmp_path, code, core, flag) for core in (M0, M4))


SPILLED = (
    "sub sp, #16; ldr r2, =near; str r2, [sp]; ldr r4, =far; ldr r1, =x; ldr r1, [r1]; {}; ldr r2, [sp]; blx r2; add sp, #16"
)


@pytest.mark.parametrize(
    "store, core",
    [
        ("str r4, [sp, r1, lsl #2]", M4),
        ("add r3, sp, #8; add r3, r3, r1, lsl #2; str r4, [r3, #-8]", M4),
        ("mrs r3, msp; str r4, [r3]", M4),
        ("add r0, sp, #8; bl change_lower", M0),
        ("add sp, #4; push {r2}; mov r0, sp; bl change", M0),
        ("mov r1, sp; movs r0, #0x30; bkpt 0xab", M0),
    ],
)
def test_a_function_whose_address_a_store_may_change_in_the_stack_is_not_called_for_certain(tmp_path, store, core):
    assert counts(tmp_path, by_hand(SPILLED.format(store)), core)


@pytest.mark.parametrize(
    "between, what, core",
    [
        ("vaddv.u8 r0, q0", "r0", M55),
        ("vmaxv.s8 r0, q0", "r0", M55),
        ("vmlaldav.s16 r0, r1, q0, q1", "r1", M55),
        ("viwdup.u8 q0, r2, r1, #1", "r2", M55),
        (".arch_extension cdecp0; cx1 p0, r2, #5", "r2", M33),
        (".arch_extension cdecp0; cx1d p0, r2, r3, #5", "r3", M33),
        (".arch_extension cdecp0; cx3 p0, r3, r1, r2, #60", "r3", M55),
        (".arch_extension cdecp0; cx3da p0, r2, r3, r1, r0, #5", "r3", M33),
    ],
)
def test_a_register_that_an_instruction_of_a_large_core_writes_is_not_known(tmp_path, between, what, core):
    assert counts(tmp_path, by_hand(f"movs {what}, #5; {between}; cmp {what}, #5; beq 1f; {FAR}; 1:"), core)
    assert counts(tmp_path, by_hand(f"ldr {what}, =near; {between}; blx {what}"), core)


def test_a_custom_instruction_that_reads_like_a_store_is_refused(tmp_path):
    code = PROGRAM.replace("%s", by_hand(".arch_extension cdecp0; vcx1 p0, s1, #5"))
    bound = bound_of(link(tmp_path, code, SCRIPT, cpu=("-mcpu=cortex-m33", "-mfloat-abi=hard", "-mthumb")))
    assert bound.bytes is None and "'stcl', which may be another instruction, at main+0x2" in bound.reason


@pytest.mark.parametrize("read", [".balign 4; nop; mov r3, pc; adds r3, #5", ".balign 4; movs r3, #3; add r3, pc"])
def test_pc_is_not_aligned_where_it_is_moved_or_added_to_a_register(tmp_path, read):
    """Two bytes below the way that is taken, another one begins."""
    assert counts(tmp_path, by_hand(f"{read}; bx r3; b 2f; {FAR}; 2:"), M4)
