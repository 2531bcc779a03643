# SPDX-License-Identifier: MIT
"""The stack of handlers: what they do on a condition counts, and only the reset handler may begin the stack anew."""

from __future__ import annotations

from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf import read_image, stack_use
from aidge_build.prove.elf.deepest import StackBound
from aidge_build.run.toolchain import disassemble
from tests.elf.own_script import SCRIPT, link, program
from tests.programs import needs_cross_compiler

pytestmark = needs_cross_compiler
FRAME_BYTES = 36  # what the core pushes without FPU, and what aligns it


def interrupt_of(tmp_path, code: str) -> StackBound:
    idle, handler = "void Fault_Handler(void) { for (;;); }", f'void Fault_Handler(void) {{ __asm__("{code}"); }}'
    assert idle in program()
    elf = link(tmp_path, program().replace(idle, f"__attribute__((naked)) {handler}"), SCRIPT)
    return stack_use(read_image(elf), read_disassembly(disassemble(elf)), ()).interrupt


def test_what_is_taken_on_a_condition_counts_in_either_way(tmp_path):
    for block, held_bytes in (
        ("itt eq\\n subeq sp, #200\\n addeq sp, #200", 200),
        ("itete ne\\n subne sp, #80\\n subeq sp, #120\\n addne sp, #80\\n addeq sp, #120", 120),
    ):
        assert interrupt_of(tmp_path, f"cmp r0, #1\\n {block}\\n bx lr").bytes == FRAME_BYTES + held_bytes


def test_a_handler_that_begins_the_stack_anew_has_no_bound(tmp_path):
    bound = interrupt_of(tmp_path, "movw r0, #0\\n movt r0, #0x2001\\n mov sp, r0\\n b .")
    assert bound.bytes is None and "the stack pointer is set to a fixed address" in bound.reason
