# SPDX-License-Identifier: MIT
"""Cycles of little blocks, counted by hand: each shows one rule of a core's timing table."""

from __future__ import annotations

import re

import pytest

from aidge_build.contract.thumb.instruction import Instruction, read_disassembly
from aidge_build.prove.timing.pipeline import block_cycles, sequence_cycles
from aidge_build.prove.timing.table import load_timing

# (core, code, cycles). A name that ends in .n has 16 bits, every other one 32.
SEQUENCES = {
    "each instruction of a Cortex-M0 waits for the one before it": ("m0", "ldr.n r1, [r0]; ldr.n r2, [r0]; str.n r2, [r0]", 6),
    "a call of a Cortex-M0+ takes 3 cycles, 1 of them for the jump": ("m0plus", "bl 100", 2),
    "loads in a row overlap": ("m4", "ldr r1, [r0]; ldr r2, [r0, #4]; ldr r3, [r0, #8]; adds.n r1, #1", 5),
    "a load of two words overlaps with none": ("m4", "ldr r1, [r0]; ldrd r2, r3, [r0, #8]; nop.n", 6),
    "a load waits for an address from a load": ("m4", "ldr r1, [r0]; ldr r1, [r1, #4]; nop.n", 5),
    "a load waits for an address that was just computed": ("m4", "adds.n r1, r0, #4; ldr.n r2, [r1]; nop.n", 5),
    "a load directly behind a store waits": ("m4", "str.n r1, [r0]; ldr.n r2, [r0]; nop.n", 5),
    "a store does not wait for its data": ("m4", "adds.n r1, #1; str.n r1, [r0]; nop.n", 3),
    "a store to a sum of registers takes 2": ("m4", "str r1, [r0, r2]; nop.n", 3),
    "IT behind 16 bits is free": ("m4", "lsls.n r1, r1, #1; it.n cs; movcs.n r1, r2", 2),
    "IT behind 32 bits is not": ("m4", "lsls r1, r1, #1; it.n cs; movcs.n r1, r2", 3),
    "three of 32 bits at odd half-words lose a cycle behind a longer one": (
        *("m4", "push.n {r4}; add r0, r1, r2; add r0, r1, r2; add r0, r1, r2", 2 + 3 + 1),
    ),
    "a product is ready a cycle later on a Cortex-M33": ("m33", "mul r0, r1, r2; add r3, r0, r0", 3),
    "sums of products are chained": ("m33", "mla r0, r1, r2, r0; mla r0, r3, r4, r0; mla r0, r5, r6, r0", 3),
    "a loaded value is there after 2 cycles": ("m33", "ldr r0, [r1]; add r2, r0, r0", 3),
    "a loaded value is stored a cycle earlier": ("m33", "ldr r0, [r1]; str r0, [r2]", 2),
    "16 bits and a branch of a Cortex-M33 go together": ("m33", "adds.n r0, r0, r1; b.n 100", 1),
    "no two additions of a Cortex-M33 do": ("m33", "adds.n r0, r0, r1; adds.n r2, r2, r3", 2),
    "a load of registers takes a cycle for each": ("m33", "ldmia.n r0!, {r1, r2, r3, r4}; adds.n r5, #1", 5),
    "early arithmetic feeds late arithmetic of the same cycle": ("m7", "add r0, r1, r2; eor r3, r0, r4", 1),
    "late arithmetic feeds none of the same cycle": ("m7", "eor r0, r1, r2; eor r3, r0, r4", 2),
    "late arithmetic feeds an address after 2 cycles": ("m7", "eor r0, r1, r2; ldr r3, [r0]", 3),
    "a word is loaded for late arithmetic of the next cycle": ("m7", "ldr r0, [r1]; eor r2, r0, r3", 2),
    "a byte a cycle later": ("m7", "ldrb r0, [r1]; eor r2, r0, r3", 3),
    "what is shifted is needed a cycle earlier": ("m7", "ldr r0, [r1]; eor r2, r3, r0, lsl #4", 3),
    "a product takes no word of the cycle before": ("m7", "ldr r0, [r1]; mul r2, r0, r3", 3),
    "sums of products are chained in each cycle": ("m7", "smlad r0, r1, r2, r0; smlad r0, r3, r4, r0; smlad r0, r5, r6, r0", 3),
    "a product and a store share a way": ("m7", "smlad r0, r1, r2, r0; str r3, [r4]", 2),
    "two words of different banks are loaded together": ("m7", "ldr r0, [r2]; ldr r1, [r2, #4]", 1),
    "two words of a bank are not": ("m7", "ldr r0, [r2]; ldr r1, [r2, #8]", 2),
    "a byte is stored in the cycle of its load": ("m7", "ldrb r0, [r1]; strb r0, [r2]", 1),
    "a unit of a Cortex-M55 is busy for two beats": ("m55", "vldrb.u8 q0, [r0]; vldrb.u8 q1, [r1]", 3),
    "beats in different units overlap": (
        *("m55", "vldrw.u32 q0, [r0]; vadd.i32 q1, q0, q2; vmul.i32 q3, q1, q2; vstrw.32 q3, [r1]", 4),
    ),
    "additions of floats and of integers have different units": ("m55", "vadd.f32 q0, q1, q2; vadd.i32 q3, q4, q5", 2),
    "a sum of floats shares the unit of products": ("m55", "vadd.f32 q0, q1, q2; vmul.i32 q3, q4, q5", 3),
    "a narrowed vector is stored after 3 cycles": ("m55", "vmovnb.i32 q0, q1; vstrb.16 q0, [r0]", 4),
    "a scalar instruction runs in the second beat": ("m55", "vadd.i32 q0, q1, q2; adds.n r0, #1; vadd.i32 q3, q4, q5", 3),
    "two registers of floats are loaded in a cycle": ("m55", "vldmia r0!, {s0-s7}; vpop {d8-d9}; vldmia r1, {s8}", 4 + 2 + 1),
    "and stored": ("m55", "vpush {d8-d9}; vldrb.u8 q0, [r0]", 2 + 1),
    "two of 16 bits go together if one is an addition of a constant": ("m55", "adds.n r0, #1; lsls.n r1, r1, #2", 1),
    "chained additions of a Cortex-M85 go together": ("m85", "adds.n r0, r0, r1; adds.n r0, r0, r1", 1),
    "a loaded word is added in its cycle": ("m85", "ldr r0, [r1]; adds.n r2, r0, r3", 1),
    "a loaded address waits for 2": ("m85", "ldr r0, [r1]; ldr r2, [r0]", 3),
    "no two extensions go together": ("m85", "uxtb.n r0, r1; uxtb.n r2, r3", 2),
    "a scalar instruction goes with a vector behind it": ("m85", "adds.n r0, #1; vldrw.u32 q0, [r1]", 1),
    "nothing scalar runs in the second beat of a load": ("m85", "vldrw.u32 q0, [r1]; adds.n r0, #1", 3),
}
# A pass of a loop behind another one.
LOOPS = {
    "a taken branch of a Cortex-M0 takes 3": ("m0", "subs.n r1, #1; bne.n 0", 4),
    "a taken branch of a Cortex-M0+ takes 2": ("m0plus", "subs.n r1, #1; bne.n 0", 3),
    "a taken branch of a Cortex-M4 takes 2": ("m4", "subs.n r1, #1; bne.n 0", 3),
    "flags of the cycle before delay a branch of a Cortex-M33": ("m33", "subs.n r1, #1; bne.n 0", 3),
    "flags of an earlier cycle do not": ("m33", "subs.n r1, #1; mov.n r0, r2; bne.n 0", 3),
    "a predicted branch is free": ("m7", "subs.n r1, #1; bne.n 0", 1),
    "a loop instruction is free": ("m55", "vldrb.u8 q0, [r0], #16; vmlava.s8 r2, q0, q1; vldrb.u8 q1, [r3], #16; le lr, 0", 4),
}


def code(text: str, first: int = 0) -> tuple[Instruction, ...]:
    """The instructions that objdump would show, from the address `first` on."""
    lines, address = [], first
    for said in text.split("; "):
        name, _, operands = said.partition(" ")
        words = "bf00" if name.endswith(".n") else "f3af 8000"
        lines.append(f"{address:x}:\t{words}\t{name}\t{operands}\n")
        address += 2 * len(words.split())
    return tuple(read_disassembly("".join(lines)).values())


@pytest.mark.parametrize("rule", SEQUENCES)
def test_a_block_takes_what_the_rule_says(rule):
    core, text, expected = SEQUENCES[rule]
    assert sequence_cycles(load_timing(f"cortex-{core}"), code(text)) == expected


@pytest.mark.parametrize("rule", LOOPS)
def test_a_pass_of_a_loop_takes_what_the_rule_says(rule):
    core, text, expected = LOOPS[rule]
    block = code(text)
    assert block_cycles(load_timing(f"cortex-{core}"), block, block, taken=True) == expected


def test_a_jump_to_32_bits_at_an_odd_half_word_loses_a_cycle():
    table, jump = load_timing("cortex-m4"), code("b.n 100")
    taken = [block_cycles(table, jump, code("add r0, r1, r2", first), taken=True) for first in (0x100, 0x102)]
    assert taken == [2, 3]


def test_the_end_of_a_loop_is_not_foreseen_by_a_cortex_m7():
    table, behind = load_timing("cortex-m7"), code("adds.n r0, #1", 0x100)
    just_set = block_cycles(table, code("subs.n r1, #1; bne.n 0"), behind, taken=False)
    set_earlier = block_cycles(table, code("subs.n r1, #1; " + "nop; " * 6 + "bne.n 0"), behind, taken=False)
    onwards = block_cycles(table, code("subs.n r1, #1; bne.n 200"), behind, taken=False)
    assert (just_set, set_earlier, onwards) == (8 + 1, 6 + 1, 1)


def test_the_predecessor_decides_what_the_first_instruction_waits_for():
    table, block = load_timing("cortex-m33"), code("add r2, r0, r0", 0x100)
    cycles = [block_cycles(table, code(text), block, taken=False) for text in ("ldr r0, [r1]", "ldr r3, [r1]", "nop")]
    assert cycles == [2, 1, 1] and block_cycles(table, (), block, taken=False) == 1


@pytest.mark.parametrize("core", ["m0", "m0plus", "m3", "m4", "m7", "m33", "m55", "m85"])
def test_pairs_of_blocks_add_up_to_the_whole_run(core):
    """One after the other without a jump: a block cut in two takes what it takes as a whole."""
    table = load_timing(f"cortex-{core}")
    text = "ldr r0, [r1]; mul r2, r0, r3; add r4, r2, r0; str r4, [r1]; ldrb r5, [r1]; eor r6, r5, r4, ror #8"
    whole = code(text)
    for at in range(1, len(whole)):
        parts = block_cycles(table, (), whole[:at], False) + block_cycles(table, whole[:at], whole[at:], False)
        assert parts == sequence_cycles(table, whole), re.split("; ", text)[at]
