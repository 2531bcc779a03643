# SPDX-License-Identifier: MIT
"""What instructions make of registers, flags and memory, and what is not known behind them."""

from __future__ import annotations

import random
import re

import pytest

from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.longest.memory import Constants, Memory
from aidge_build.prove.longest.thumb.arithmetic import BITWISE, SHIFTS
from aidge_build.prove.longest.thumb.operands import COUNT, VECTORS, reader, vector_parts
from aidge_build.prove.longest.values import (
    WORD,
    Few,
    Near,
    Objects,
    OneLess,
    Partly,
    Span,
    bits_of,
    combined,
    flag_bits,
    flags_of,
    flags_of_comparison,
    holds,
    joined_flags,
    known_of,
    shifted,
)
from tests.listings import DATA, followed, listed

LOW, ALL = 0xFFFFFFFF, 1 << 32
RESULTS = {
    "add r0, r1, r2": 12 + 5,
    "add r0, r1, #3": 15,
    "add r1, r2\nmov r0, r1": 17,
    "adds r0, r1, r2, lsl #3": 12 + 40,
    "sub r0, r2, r1": -7,
    "subw r0, r1, #2": 10,
    "rsb r0, r1, #1": -11,
    "and r0, r1, #6": 4,
    "orr r0, r1, r2": 13,
    "eor r0, r1, r2": 9,
    "bic r0, r1, #4": 8,
    "orn r0, r2, r1": -9,
    "mvn r0, r1": -13,
    "negs r0, r1": -12,
    "mul r0, r1, r2": 60,
    "muls r1, r2\nmov r0, r1": 60,
    "mla r0, r1, r2, r3": 60 + 0x80000004,
    "mls r0, r1, r2, r1": -48,
    "udiv r0, r3, r2": 0x80000004 // 5,
    "sdiv r0, r3, r2": -(0x7FFFFFFC // 5),
    "udiv r0, r1, r4": 0,
    "sdiv r0, r1, r4": 0,
    "movw r0, #515\nmovt r0, #3": 0x30203,
    "lsl r0, r1, #4": 192,
    "lsr r0, r3, r2": 0x80000004 >> 5,
    "asr r0, r3, #3": 0xF0000000,
    "ror r0, r3, #4": 0x48000000,
    "lsl r0, r1, r3": 12 << 4,
    "lsr r0, r1, r5": 0,
    "asr r0, r3, r5": LOW,
    "lsl r0, r1, r5": 0,
    "uxtb r0, r6": 0x81,
    "uxth r0, r6": 0x9281,
    "sxtb r0, r6": 0xFFFFFF81,
    "sxth r0, r6": 0xFFFF9281,
    "uxtab r0, r1, r6": 0x81 + 12,
    "sxtah r0, r1, r6": 0xFFFF9281 + 12,
    "clz r0, r1": 28,
    "rbit r0, r1": 0x30000000,
    "rev r0, r6": 0x81928300,
    "ubfx r0, r6, #8, #8": 0x92,
    "sbfx r0, r6, #4, #4": -8,
    "ubfx r0, r6, #8, #4": 2,
    "sbfx r0, r6, #4, #8": 0x28,
    "cmp r1, r2\ncsel r0, r1, r2, gt": 12,
    "cmp r1, r2\ncsinc r0, r1, r2, lt": 6,
    "cmp r1, r2\ncsinv r0, r1, r2, lt": -6,
    "cmp r1, r2\ncsneg r0, r1, r2, lt": -5,
    "cmp r1, r2\ncsel r0, r1, zr, lt": 0,
    "cmp r1, r2\ncsel r0, zr, r2, gt": 0,
    "cmp r1, r2\ncsinc r0, zr, zr, lt": 1,
    "cmp r1, r2\ncset r0, gt": 1,
    "cmp r1, r2\ncinc r0, r1, lt": 12,
    "cmp r1, r2\ncinc r0, r1, gt": 13,
    "cmp r1, r2\ncset r0, lt": 0,
    "cmp r1, r2\ncsetm r0, gt": -1,
    "cmp r1, r2\ncinv r0, r1, gt": -13,
    "cmp r1, r2\ncneg r0, r1, gt": -12,
    "cmp r1, r2\ncneg r0, r1, le": 12,
    "cmp r10, #1\ncsel r0, r1, r1, eq": 12,
    "uxtab r0, r1, r6, ror #8": 0x92 + 12,
    "sxth r0, r6, ror #8": 0xFFFF8392,
    "lsrs r0, r2, #1\nite cs\nmovcs r0, #7\nmovcc r0, #8": 7,
    "lsls r0, r3, #1\nite cs\nmovcs r0, #7\nmovcc r0, #8": 7,
    "lsls r0, r1, #1\nite cs\nmovcs r0, #7\nmovcc r0, #8": 8,
    "asrs r0, r1, #3\nite cs\nmovcs r0, #7\nmovcc r0, #8": 7,
    "tst r1, #4\nite ne\nmovne r0, #7\nmoveq r0, #8": 7,
    "teq r1, #12\nite ne\nmovne r0, #7\nmoveq r0, #8": 8,
    "movs r0, r3, lsl #1\nite cs\nmovcs r0, #7\nmovcc r0, #8": 7,
    "movs r0, r1, lsl #28\nite cs\nmovcs r0, #7\nmovcc r0, #8": 8,
    "movs r0, r1, lsr #3\nite cs\nmovcs r0, #7\nmovcc r0, #8": 7,
    "ands r0, r2, r1, lsr #3\nite cs\nmovcs r0, #7\nmovcc r0, #8": 7,
    "tst r2, r3, lsl #1\nite cs\nmovcs r0, #7\nmovcc r0, #8": 7,
    "cmp r2, r1\nmovs r0, r1\nite cs\nmovcs r0, #7\nmovcc r0, #8": 8,
    "cmp r1, r2\nlsls r0, r1, r4\nite cs\nmovcs r0, #7\nmovcc r0, #8": 7,
    "negs r0, r1\nite cs\nmovcs r0, #7\nmovcc r0, #8": 8,
    "negs r0, r4\nite cs\nmovcs r0, #7\nmovcc r0, #8": 7,
    "cmp r1, r2\nadc r0, r1, r2": 18,
    "cmp r1, r2\nands r0, r1, #255\nadc r0, r1, r2": 18,
    "cmp r2, r1\nsbc r0, r1, r2": 6,
    "adds r0, r3, r3\nadcs r0, r4": 9,
    "subs r0, r4, r1\nsbcs r0, r0\nit mi\nmovmi r0, #7": 7,
    "umull r4, r0, r3, r3": 0x40000004,
    "smull r4, r0, r3, r3": 0x3FFFFFFC,
    "umlal r1, r2, r3, r3\nmov r0, r2": 0x40000009,
    "smlal r1, r2, r3, r4\nmov r0, r1": 12,
    "smmul r0, r3, r3": 0x3FFFFFFC,
    "smulbb r0, r6, r2": -28031 * 5,
    "smulbt r0, r2, r3": 5 * -32768,
    "bfi r1, r2, #1, #2\nmov r0, r1": 10,
    "bfc r1, #2, #1\nmov r0, r1": 8,
    "rev16 r0, r6": 0x83008192,
    "revsh r0, r6": 0xFFFF8192,
    "cmn r1, #4\nite mi\nmovmi r0, #7\nmovpl r0, #8": 8,
    "strb r6, [r7, #5]\nldrsb r0, [r7, #5]": 0xFFFFFF81,
    "strh r6, [r7, #6]\nldrsh r0, [r7, #6]": 0xFFFF9281,
    "str r6, [r7]\nldrsb r0, [r7, #1]": 0xFFFFFF92,
    "lsls r0, r3, #0\nldrsb r0, [r7, #3]\nstr r3, [r7]\nldrsb r0, [r7, #3]": 0xFFFFFF80,
    "strh r6, [r7, #6]\nldrh r0, [r7, #6]": 0x9281,
    "str r6, [r7]\nldrb r0, [r7, #1]": 0x92,
    "str r6, [r7]\nstrb r1, [r7, #1]\nldr r0, [r7]": 0x00830C81,
    "str r6, [r7, #4]!\nldr r0, [r7]": 0x839281,
    "str r6, [r7], #4\nldr r0, [r7, #-4]": 0x839281,
    "str r6, [r7, #12]\nldr r0, [r7, r1]": 0x839281,
    "str r6, [r7, #20]\nldr r0, [r7, r2, lsl #2]": 0x839281,
    "str r1, [r7]\nstr r2, [r7, #4]\nldr r0, [r7, #2]": 5 << 16,
    "strd r1, r6, [r7, #8]\nldr r0, [r7, #12]": 0x839281,
    "strd r1, r2, [r7, #8]!\nldrd r1, r0, [r7], #4": 5,
    "stmia r7!, {r1, r2, r6}\nldr r0, [r7, #-8]": 5,
    "stmia r7, {r1, r2, r6}\nldmia r7, {r3, r4, r5}\nadd r0, r4, r5": 0x839286,
    "push {r1, r2}\npop {r3, r4}\nmov r0, r4": 5,
    "vmov s1, r1\nvmov r0, s1": 12,
    "vmov d3, r1, r2\nvmov r0, s7": 5,
    "vmov s4, s5, r1, r2\nvmov r0, r3, s5, s4\nadds r0, r3": 17,
    "vmov s1, r2\nvstr s1, [r7, #4]\nldr r0, [r7, #4]": 5,
    "str r2, [r7, #4]\nvldr s1, [r7, #4]\nvmov r0, s1": 5,
    "vmov s1, r2\nvpush {s0, s1}\nldr r0, [sp, #4]\nadd sp, #8": 5,
    "str r2, [r7, #4]\nvldmia r7!, {s0, s1}\nvmov r0, s1": 5,
    "add r1, r2, lsl #3\nmov r0, r1": 12 + 40,
    "str r3, [r7]\nvldrw.u32 q0, [r7] | 1f04ed97\nvmov r0, s0": 0x80000004,
    "str r3, [r7]\nstrh r6, [r7]\nldr r0, [r7]": 0x80009281,
    "str r6, [r7, #8]\nstmia r7, {r1, r2}\nldr r0, [r7, #8]": 0x839281,
    "str r6, [r7, #8]\nstrd r1, r2, [r7]\nldr r0, [r7, #8]": 0x839281,
    "vldrw.u32 q0, [r7], #16 | 1f04ec97\nmov r0, r7": DATA + 16,
    "vstrb.16 q0, [r7, #32]! | 0e80edb7\nmov r0, r7": DATA + 32,
    "vld20.8 {q0, q1}, [r7]! | 1e00fcb7\nmov r0, r7": DATA + 32,
    "vmov s2, r1\nvadd.f32 s1, s2, s3\nvmov r0, s2": 12,
    "vmla.s32 q0, q1, r2\nmov r0, r2": 5,
    "cmp r1, r1\nsmlad r3, r1, r2, r2\nite ne\nmovne r0, #8\nmoveq r0, #7": 7,
    "ldr r0, [pc, #-8]": 0,
    "ldr r0, [pc]\nmov r1, r1 | 12345678": 0x12345678,
}
BEGIN = """
    movs r1, #12
    movs r2, #5
    movw r3, #4
    movt r3, #32768
    movs r4, #0
    movs r5, #40
    movw r6, #37505
    movt r6, #131
    movw r7, #0
    movt r7, #8192
"""


@pytest.mark.parametrize("text", RESULTS)
def test_an_instruction_computes_what_the_manual_says(text):
    assert followed(f"f:{BEGIN}{text}\nbx lr").registers.values[0] == RESULTS[text] & LOW


@pytest.mark.parametrize(
    "text",
    [
        "ldr r0, [r7]",
        "add r0, r1, r10",
        "mul r0, r1, r10",
        "smlad r0, r1, r2, r3",
        "vmov r0, s9",
        "vcvt.s32.f32 s1, s1\nvmov r0, s1",
        "mov r0, #1\nvmrs r0, fpscr",
        "str r1, [r7]\nstrb r10, [r7, #1]\nldr r0, [r7]",
        "cmp r10, #1\ncsel r0, r1, r2, eq",
        "cmp r1, r2\ncsel r0, r1, s1, gt",
        "cmp r1, r2\ncsel r0, s1, r2, lt",
        "cmp r10, #1\nit eq\nmoveq r0, #2",
        "cmp r1, r2\ncinc r0, r10, gt",
        "cmp r10, #1\ncinc r0, r1, gt",
        "sub sp, #8\nstr r1, [sp], #4\nadd r2, sp, r10\nstr r3, [r2]\nldr r0, [sp, #-4]\nadd sp, #4",
        "mov r0, #1\ncmp r1, r1\nvmrs APSR_nzcv, fpscr\nit eq\nmoveq r0, #2",
        "mov r0, #1\ncmp r1, r1\nmsr CPSR_f, r10\nit eq\nmoveq r0, #2",
        "mov r0, #1\ncmp r1, r1\ncdp 0, 0, cr15, cr0, cr5, {0}\nit eq\nmoveq r0, #2",
        "movs r0, #1\nmcr 0, 4, r3, cr2, cr0, {4}",
        "push {r1}\nadd r2, sp, r10\nstr r3, [r2]\npop {r0}",
        "vidup.u32 q0, r2, #1\nmov r0, r2",
        "strd r5, r6, [r7]\nadd r3, r7, r10\nstr r4, [r3]\nldr r0, [r7]",
        "stmia r7, {r5, r6}\nadd r3, r7, r10\nstr r4, [r3]\nldr r0, [r7]",
        "add r7, #8\nstmdb r7!, {r5, r6}\nadd r3, r7, r10\nstr r4, [r3]\nldr r0, [r7]",
        "sub sp, #8\nstmia sp, {r5, r6}\nadd r3, sp, r10\nstr r4, [r3]\nldr r0, [sp]\nadd sp, #8",
        "vmov s1, r1\nvmov.32 d0[1], r1\nvmov r0, s1",
        "vmov s1, r1\nvmov.f32 s1, #112\nvmov r0, s1",
        "vmov s0, r1\nvmov q0, q1\nvmov r0, s0",
        "vmov s4, r1\nvmov q0, q1\nvmov r0, s0",
        "vmov s0, r1\nvldrb.u16 q0, [r7] | 0e80ed97\nvmov r0, s0",
        "vdup.32 q1, r7\nvmul.i32 q1, q1, r2\nvmov r0, s4",
        "vmov s1, r7\nvadd.f32 s0, s1, s2\nvmov r0, s0",
        "mov r0, #1\ncmp r10, #1\nit eq\ncmpeq r1, r2\nit eq\nmoveq r0, #2",
        "mov r0, #1\ncmp r10, #1\nbeq .a\ncmp r1, r1\nb .both\n.a:\ncmp r1, r2\n.both:\nit eq\nmoveq r0, #2",
        "str r1, [r7]\ncmp r10, #1\nit eq\nstreq r2, [r7]\nldr r0, [r7]",
        "smull r0, r4, r1, r10",
        "smlal r0, r10, r1, r2",
        "adc r0, r1, r2",
        "cmp r1, r2\nands r0, r1, #2147483648\nadc r0, r1, r2",
        "bfi r0, r10, #1, #3",
        "bfi r0, s1, #1, #3",
        "movs r0, r10, lsl #28\nite cs\nmovcs r0, #7\nmovcc r0, #8",
        "and r0, r1, s1",
        "add r0, r1, s1",
        "mul r0, r1, s1",
        "lsls r0, r1, s1",
        "uxtab r0, r1, s1",
        "movs r0, #1\nldrex r0, [r7]",
        "mov r0, #1\ncmp r1, r1\ncmp r1, s1\nit eq\nmoveq r0, #2",
        "mov r0, #1\ncmp r1, r1\ntst s1, r1\nit eq\nmoveq r0, #2",
    ],
)
def test_what_depends_on_data_is_not_known(text):
    assert followed(f"f:{BEGIN}{text}\nbx lr", 1).registers.values[0] is None


def strange(text: str) -> str:
    """An instruction of RESULTS that writes r0, with a floating-point register for its last operand, if it runs."""
    before, _, last = text.rpartition("\n")
    found = re.fullmatch(r"((?!mov(?:cc|eq))[a-u]\w* r0, (?:\w+, )*)(?:#\d+|r\d+)", last)
    return f"{before}\n{found[1]}s1" if found else ""


@pytest.mark.parametrize("text", sorted({strange(text) for text in RESULTS} - {""}))
def test_what_an_operand_of_no_known_kind_gives_is_not_known(text):
    assert followed(f"f:{BEGIN}{text}\nbx lr").registers.values[0] is None


def test_vectors_end_with_the_last_register_that_a_core_has():
    assert vector_parts("s0")[0] == VECTORS
    assert [vector_parts(last)[-1] + 1 for last in ("s31", "d15", "q7")] == [COUNT] * 3
    assert not any(map(vector_parts, ("s32", "d16", "q8")))


def test_an_instruction_that_is_not_followed_changes_no_other_register():
    values = followed(f"f:{BEGIN}smlald r0, r4, r1, r2\nvadd.f32 s1, s2, s3\nvcmp.f32 s1, s2\nbx lr").registers.values
    assert values[1:4] == [12, 5, 0x80000004] and values[4] is None and values[5:8] == [40, 0x839281, DATA]


@pytest.mark.parametrize(
    "text",
    [
        "nop",
        "pld [r1]",
        "pli [r1, #4]",
        "dsb sy",
        "isb sy",
        "dmb ish",
        "sev",
        "yield",
        "wfe",
        "wfi",
        "cpsid i",
        "cpsie i",
        "csdb",
    ],
)
def test_an_instruction_without_an_effect_on_registers_changes_nothing(text: str) -> None:
    before, after = (followed(f"f:{BEGIN}cmp r1, r2\n{more}\nbx lr").registers for more in ("", text))
    assert (after.values, after.flags) == (before.values, before.flags)


def test_loops_with_elements_of_several_sizes_do_not_meet() -> None:
    both = "cmp r10, #1\nbeq .a\ndlstp.8 lr, r1 | e001f001\nb .both\n.a:\ndlstp.16 lr, r1 | e001f011\n.both:\nbx r8"
    with pytest.raises(Refusal, match="loops of vectors with elements of several sizes meet"):
        followed(f"f:\nmov r8, lr{BEGIN}{both}")


@pytest.mark.parametrize(
    "text", ["strex r0, r1, [r7]", "ldrsbt r0, [r7]!", "clrm {r0}", "mrc 0, 0, sp, cr0, cr0", "cdp2 15, 15, cr0, cr1, cr0, {0}"]
)
def test_what_may_write_memory_or_the_stack_pointer_unseen_is_refused(text):
    with pytest.raises(Refusal, match="is not followed"):
        followed(f"f:{BEGIN}{text}\nbx lr")


@pytest.mark.parametrize("one", [0, 1, 5, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
@pytest.mark.parametrize("two", [0, 1, 5, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_conditions_compare_as_numbers_do(one, two):
    def signed(number):
        return number - (1 << 32) if number >> 31 else number

    compared = {
        "eq": one == two,
        "ne": one != two,
        "hs": one >= two,
        "cs": one >= two,
        "lo": one < two,
        "cc": one < two,
        "hi": one > two,
        "ls": one <= two,
        "ge": signed(one) >= signed(two),
        "lt": signed(one) < signed(two),
        "gt": signed(one) > signed(two),
        "le": signed(one) <= signed(two),
        "mi": bool((one - two) >> 31 & 1),
        "pl": not (one - two) >> 31 & 1,
    }
    flags = ("difference", one, two, 1)
    assert {name: holds(name, flags) for name in compared} == compared
    assert holds("vs", flags) == (not -(1 << 31) <= signed(one) - signed(two) < 1 << 31) != holds("vc", flags)
    total = ("sum", one, two, 0)
    assert holds("cs", total) == (one + two > LOW) and holds("eq", total) == ((one + two) & LOW == 0)
    assert all(holds(name, None) is None for name in compared)


def test_flags_of_several_ways_are_known_where_they_agree():
    one, two = ("difference", 5, 3, 1), ("difference", 9, 8, 1)
    assert joined_flags(one, one) is one and joined_flags(one, None) is None
    both = joined_flags(one, two)
    assert flag_bits(both) == (False, False, True, False) and holds("gt", both) is True
    mixed = joined_flags(one, ("difference", 3, 5, 1))
    assert flag_bits(mixed) == (None, False, None, False) and holds("ne", mixed) and holds("ge", mixed) is None
    assert holds("hi", ("bits", None, True, None, None)) is False and holds("ls", ("bits", None, None, False, None)) is True


def test_of_a_pointer_that_data_move_the_object_is_known_and_of_a_number_the_bits_that_may_be_set():
    objects = Objects([Span(100, 120), Span(200, 240)])
    assert objects.span(120) == Span(100, 120) and objects.span(121) is None and objects.span(99) is None
    assert objects.near(104, None) == Near(104) == objects.near(None, 104) and objects.near(150, None) is None
    assert objects.near(Near(200), 4) == Near(200)
    assert objects.joined(104, 112) == Near(100) and objects.joined(104, 204) is None and objects.joined(7, 7) == 7
    assert objects.joined(104, None) is None and objects.joined(Near(100), 112) == Near(100)
    few = Few(3)
    met = objects.joined(few, 0xFF)
    assert isinstance(met, Few) and met.most == 8 and objects.joined(few, None) is None
    assert bits_of(0xF0) == 4 and bits_of(few) == 3 and bits_of(None) == bits_of(Near(100)) == 32
    less = combined("and", few, OneLess(few))
    assert isinstance(less, Few) and less.most == 2 and combined("and", OneLess(one := Few(1)), one) == 0
    assert bits_of(combined("and", few, OneLess(Few(3)))) == 3
    assert bits_of(combined("and", None, 0xF1)) == 5 and combined("and", None, None) is None
    assert bits_of(combined("orr", few, 0xF)) == 7 and combined("orr", few, None) is None and combined("orn", few, 1) is None
    assert bits_of(combined("bic", few, None)) == 3 and bits_of(combined("bic", None, LOW ^ 6)) == 2
    assert bits_of(combined("eor", few, few)) == 6 and combined("orr", Few(30), 7) is None
    assert bits_of(combined("orr", Few(30), 1)) == 31 and combined("orr", Few(31), 1) is None
    assert combined("bic", None, None) is None and combined("bic", None, 0) is None


@pytest.mark.parametrize("load", ["ldrb r1, [r0], #1", "ldrb r1, [r0, #1]!"])
def test_a_base_that_moves_on_keeps_its_object_but_not_the_bits_that_may_be_set(load):
    assert followed(f"f:{BEGIN}and r0, r10, #240\n{load}\nbx lr").registers.values[0] is None
    assert followed(f"f:{BEGIN}add r0, r7, r10\n{load}\nbx lr").registers.values[0] == Near(DATA)


def test_behind_a_store_that_data_decide_there_is_one_memory_again():
    assert followed(f"f:{BEGIN}cmp r10, #1\nit eq\nstreq r1, [r7]\nbx lr").memory.is_alone


def test_an_operand_of_three_words_is_none():
    instruction = next(iter(listed("f:\nbx lr")[1].values()))
    assert reader(instruction, ("r1", "lsl #2", "r3")) is None and reader(instruction, ("r1", "lsl #2")) is not None


def memory() -> Memory:
    return Memory(Constants([(64, bytes(range(1, 7)))]), Objects([Span(100, 120), Span(200, 240)]), ALL)


def test_constants_are_known_to_their_end_and_nothing_else_is():
    known = memory()
    assert known.load(64, 4) == 0x04030201 and known.load(68, 2) == 0x0605 and known.load(67, 2) == 0x0504
    assert known.load(68, 4) is None and known.load(70, 1) is None
    both = Memory(Constants([(64, b"ab"), (66, b"cd"), (71, b"e")]), Objects([]), ALL)
    assert both.load(64, 4) == 0x64636261 and both.load(71, 1) == 0x65 and both.load(68, 4) is None
    assert known.load(60, 4) is None and known.load(72, 4) is None and known.load(104, 4) is None and known.load(None, 4) is None


def test_parts_of_words_are_known_by_themselves():
    known = memory()
    known.store(104, 2, 0x1234)
    assert known.load(104, 2) == 0x1234 and known.load(104, 4) is None and known.load(106, 1) is None
    known.store(106, 2, 0xABCD)
    assert known.load(104, 4) == 0xABCD1234 and known.load(105, 2) == 0xCD12
    known.kill(105, 1)
    assert known.load(104, 1) == 0x34 and known.load(105, 1) is None and known.load(106, 2) == 0xABCD
    known.store(110, 4, 0x11223344)
    assert known.load(110, 4) == 0x11223344 and known.load(112, 2) == 0x1122
    known.kill(104, 8)
    assert known.load(106, 2) is None and known.load(112, 2) == 0x1122


@pytest.mark.parametrize("seed", range(20))
def test_each_byte_is_what_was_last_stored_there_and_unknown_where_nobody_knows(seed):
    draw, memory, bytes_of = random.Random(seed), Memory(Constants([]), Objects([]), ALL), dict[int, int | None]()
    for _ in range(60):
        at, width = DATA + draw.randrange(24), draw.choice((1, 2, 4))
        value = draw.choice((None, draw.randrange(1 << 8 * width)))
        if draw.random() < 0.3:
            width = draw.randrange(1, 12)
            memory.kill(at, width)
            value = None
        else:
            memory.store(at, width, value)
        bytes_of |= {at + index: None if value is None else value >> 8 * index & 255 for index in range(width)}
        assert [memory.load(DATA + index, 1) for index in range(36)] == [bytes_of.get(DATA + index) for index in range(36)]
        words = [[bytes_of.get(DATA + index + part) for part in range(4)] for index in range(32)]
        known = [None if None in word else sum(byte << 8 * part for part, byte in enumerate(word)) for word in words]
        assert [memory.load(DATA + index, 4) for index in range(32)] == known


def test_what_two_ways_stored_is_known_where_they_agree_and_the_ways_do_not_see_each_other():
    one = memory()
    one.store(100, 4, 7)
    one.store(104, 4, 0x01010101)
    assert one.is_alone
    two = one.parted()
    one.store(104, 4, 0x02020202)
    two.store(108, 4, 10)
    two.store(100, 1, 7)
    assert (one.load(104, 4), two.load(104, 4), one.load(108, 4), two.load(108, 4)) == (0x02020202, 0x01010101, None, 10)
    one.store(112, 2, 5)
    two.store(112, 2, 5)
    one.meet(two)
    one.settle()
    assert [one.load(at, 4) for at in (100, 104, 108)] == [7, None, None] and one.load(112, 2) == 5 and one.is_alone


def test_of_different_words_that_two_ways_stored_the_object_is_known_or_the_bytes_that_agree():
    one, few = memory(), Few(3, 7)
    two = one.parted()
    both = [(204, 208), (Near(100), 112), (few, few), (few, 0xFF), (0x01020304, 0x01FF0304), (5, Near(100)), (5, None)]
    for at, words in zip(range(204, 240, 4), both, strict=False):
        for path, word in zip((one, two), words, strict=True):
            path.store(at, 4, word)
    for path, byte in ((one, 9), (two, 8)):
        path.store(236, 2, 0x0107)
        path.store(236, 1, byte)
    one.meet(two)
    one.settle()
    mixed = one.load(216, 4)
    assert [one.load(at, 4) for at in (204, 208, 212)] == [Near(200), Near(100), few]
    assert isinstance(mixed, Few) and (mixed.most, mixed.mask) == (8, 0xFF)
    assert [one.load(220 + at, 1) for at in range(4)] == [4, 3, None, 1] and one.load(224, 1) is one.load(228, 1) is None
    assert [one.load(236 + at, 1) for at in range(3)] == [None, 1, None]


def test_a_word_that_is_no_number_is_loaded_as_a_whole_only():
    known = memory()
    for value in (Near(200), Few(3), Partly(1, 1)):
        known.store(104, 4, value)
        assert known.load(104, 4) == value and known.load(104, 2) is known.load(105, 1) is known.load(102, 4) is None
        known.store(105, 1, 7)
        assert known.load(104, 4) is None and known.load(105, 1) == 7


@pytest.mark.parametrize(
    "span, kept", [(Span(103, 109), [96, 112]), (Span(100, 108), [96, 108, 112]), (Span(101, 112), [96, 112])]
)
def test_a_store_somewhere_in_an_object_changes_the_words_that_it_has_a_part_in(span, kept):
    known = Memory(Constants([]), Objects([span]), ALL)
    for at in range(96, 116, 4):
        known.store(at, 4, 7)
    known.store(Near(span.first), 1, 0)
    assert [at for at in range(96, 116, 4) if known.load(at, 4) == 7] == kept


def test_a_saved_register_is_one_on_both_ways_and_until_another_store():
    known = memory()
    known.save(104, Near(200))
    assert known.load(104, 4) == Near(200) and known.load(108, 1) is None
    known.save(104, 2)
    known.save(112, 2)
    other = known.parted()
    other.store(104, 4, 2)
    known.meet(other)
    known.settle()
    known.kill(113, 1)
    assert [known.load(at, 1) for at in (104, 112, 113)] == [2, 2, None]
    known.kill(None, 4)
    assert [known.load(at, 1) for at in (104, 112)] == [None, None]


def test_what_is_stored_somewhere_in_an_object_leaves_other_objects_and_saved_registers_alone():
    known = memory()
    known.store(100, 4, 1)
    known.save(104, 2)
    known.store(200, 4, 3)
    known.store(Near(112), 4, 9)
    assert [known.load(at, 4) for at in (100, 104, 200)] == [None, 2, 3]
    known.save(108, 2)
    known.store(104, 4, 4)  # a variable now
    known.store(109, 1, 4)  # a part of one
    known.kill(None, 4)
    assert [known.load(at, 4) for at in (104, 108, 200)] == [None, None, None]


def test_pointers_to_what_the_caller_hands_over_move_and_what_is_touched_is_remembered():
    known = Memory(Constants([]), Objects([Span(100, 120), Span(200, 240)]), 200)
    known.store(100, 4, 204)
    known.store(104, 4, 240)
    known.store(108, 4, 199)
    known.store(112, 4, 200)
    other = known.moved(200, 240, 3)
    assert [other.load(at, 4) for at in (100, 104, 108, 112)] == [207, 240, 199, 203] and known.load(100, 4) == 204
    assert known.touched == other.touched == set()
    for touch in (
        lambda: known.load(220, 1),
        lambda: known.store(200, 1, 0),
        lambda: known.kill(236, 4),
        lambda: known.load(Near(204), 4),
        lambda: known.store(Near(204), 4, 0),
    ):
        touch()
        assert known.touched == {200}
        known.touched.clear()
    known.load(116, 4)
    assert known.touched == set()
    known.store(200, 4, 7)
    known.touched.clear()
    assert known.load(200, 4) == 7 and known.touched == {200}


@pytest.mark.parametrize(
    "count, known", [(16, [1, 2, 3, 4]), (12, [1, 2, 3, 9]), (11, [1, 2, None, 9]), (9, [1, 2, None, 9]), (0, [9, 9, 9, 9])]
)
def test_a_loop_of_vectors_moves_the_words_of_the_elements_that_are_left(count, known):
    """A copy in a tail-predicated loop, as compilers make of memcpy."""
    text = f"""
    f:
        mov r6, lr
        movw r0, #0
        movt r0, #8192
        add r1, r0, #64
        movs r2, #9
        stmia r1, {{r2, r3}}
        str r2, [r1]
        str r2, [r1, #4]
        str r2, [r1, #8]
        str r2, [r1, #12]
        movs r2, #1
        str r2, [r0]
        movs r2, #2
        str r2, [r0, #4]
        movs r2, #3
        str r2, [r0, #8]
        movs r2, #4
        str r2, [r0, #12]
        movs r2, #{count}
        wlstp.8 lr, r2, .out | c005f002
    .loop:
        vldrb.u8 q0, [r0], #16 | 1e10ecb0
        vstrb.8 q0, [r1], #16 | 1e10eca1
        letp lr, .loop
    .out:
        bx r6
    """
    memory = followed(text).memory
    found = [memory.load(DATA + 64 + at, 4) for at in range(0, 16, 4)]
    assert found == known


@pytest.mark.parametrize(
    "suffix, encoding, words", [(8, "c001f002", 0), (16, "c001f012", 0), (32, "c001f022", 1), (64, "c001f032", 2)]
)
def test_the_last_element_of_a_loop_moves_alone(suffix: int, encoding: str, words: int) -> None:
    moved = "vldrw.u32 q0, [r0, #16] | 1f04ed90\nvstrw.32 q0, [r0] | 1f00ed80"
    begin = f"f:\nmov r6, lr\nmovw r0, #0\nmovt r0, #8192\nmovs r2, #1\nwlstp.{suffix} lr, r2, .out | {encoding}\n.loop:\n"
    stored = "".join(f"str r1, [r0, #{at}]\nstr r3, [r0, #{at + 16}]\n" for at in range(0, 16, 4))
    memory = followed(f"{begin}{stored}{moved}\nletp lr, .loop\n.out:\nbx r6", None, 7, None, 9).memory
    changed = [memory.load(DATA + at, 4) for at in range(0, 16, 4)]
    assert changed == [9] * words + [None] * (suffix < 32) + [7] * (4 - words - (suffix < 32))


def test_a_whole_vector_moves_outside_of_loops_whatever_lr_is() -> None:
    text = "f:\nmov r6, lr\nmovw r0, #0\nmovt r0, #8192\nstr r1, [r0, #16]\nmov lr, r5\n"
    moved = "vldrw.u32 q0, [r0, #16] | 1f00ed90\nvstrw.32 q0, [r0] | 1f00ed80\nbx r6"
    assert followed(text + moved, None, 7).memory.load(DATA, 4) == 7


def test_a_vector_of_a_loop_without_a_known_count_is_not_known_and_neither_is_what_it_changes() -> None:
    stored = "".join(f"str r1, [r0, #{at}]\n" for at in range(0, 36, 4))
    moved = "vldrw.u32 q1, [r0, #16] | 1f00ed90\nvstrw.32 q0, [r0] | 1f00ed80\nbx r6"
    text = (
        f"f:\nmov r6, lr\nmovw r0, #0\nmovt r0, #8192\n{stored}vldrw.u32 q0, [r0] | 1f00ed90\ndlstp.32 lr, r5 | e001f025\n{moved}"
    )
    found = followed(text, None, 7)
    assert found.registers.values[16:24] == [7] * 4 + [None] * 4
    assert [found.memory.load(DATA + at, 4) for at in range(0, 20, 4)] == [None] * 4 + [7]


def test_a_float_that_is_stored_anywhere_may_be_in_every_object() -> None:
    text = "f:\nmovw r0, #0\nmovt r0, #8192\nstr r1, [r0]\nvstr s0, [r5]\nbx lr"
    assert followed(text, None, 7).memory.load(DATA, 4) is None


def test_a_vector_of_addresses_from_a_register_that_is_not_followed_is_in_no_object() -> None:
    text = "f:\nmovw r1, #0\nmovt r1, #8192\nvdup.32 q7, r1\nvadd.i32 q7, q7, pc\nbx lr"
    assert followed(text).registers.values[44:] == [None] * 4


def test_a_vector_whose_elements_are_narrower_in_memory_is_not_known_and_what_it_writes_neither():
    text = "f:\nmovw r0, #0\nmovt r0, #8192\nstr r1, [r0, #16]\nWHAT\nbx lr"
    whole = followed(text.replace("WHAT", "vldrw.u32 q0, [r0, #16] | 1f00ed90\nvstrw.32 q0, [r0] | 1f00ed80"), 1, 7).memory
    assert whole.load(DATA, 4) == 7
    narrow = followed(text.replace("WHAT", "vstrb.16 q0, [r0, #16] | 0e80ed80"), 1, 7).memory
    assert narrow.load(DATA + 16, 4) is None
    scattered = followed(text.replace("WHAT", "vstrb.16 q0, [r0, q1] | 0e80ec80"), 1, 7).memory
    assert scattered.load(DATA + 16, 4) is None
    anywhere = followed(text.replace("WHAT", "vstrw.32 q0, [q1, #4] | 1e01fd82"), 1, 7).memory
    assert anywhere.load(DATA + 16, 4) is None
    gathered = followed(text.replace("WHAT", "vldrw.u32 q0, [q1, #4] | 1e01fd92"), 1, 7)
    assert gathered.memory.load(DATA + 16, 4) == 7 and gathered.registers.values[16:20] == [None] * 4


@pytest.mark.parametrize("base", ["vdup.32 q7, r1", "vmul.i32 q7, q0, r2\nvadd.i32 q7, q7, r1"])
def test_what_a_vector_of_addresses_in_an_object_writes_leaves_other_memory_alone(base: str) -> None:
    text = f"movw r1, #0\nmovt r1, #8192\nmov r2, #7\nsub sp, #8\nstr r2, [sp]\nstr r2, [r1, #4]\n{base}\nvstrw.32 q0, [q7]\n"
    registers = followed(f"f:\n{text}ldr r0, [sp]\nldr r3, [r1, #4]\nadd sp, #8\nbx lr").registers
    assert registers.values[0] == 7 and registers.values[3] is None


@pytest.mark.parametrize("at, word, known", [(252, 256, True), (252, 252, False), (256, 256, False), (1024, 1024, False)])
def test_a_vector_that_is_stored_in_part_changes_nothing_behind_its_object(at: int, word: int, known: bool) -> None:
    # `array` ends at DATA + 256, where another variable may begin: four bytes of its last word are stored (vstrb.32).
    text = f"movw r1, #0\nmovt r1, #8192\nmov r2, #7\nstr r2, [r1, #{word}]\nadd r3, r1, #{at}\n"
    text += f"vstrb.32 q1, [r3], #4 | 2f04eca3\nldr r0, [r1, #{word}]\nbx lr"
    assert followed(f"f:\n{text}").registers.values[0] == (7 if known else None)


def test_a_vector_of_addresses_is_in_the_object_of_its_sources_and_in_none_if_there_are_several():
    for text, expected in (
        ("vdup.32 q1, sp\nvdup.32 q1, r7\nvmov r0, s4", Near(DATA)),
        ("vdup.32 q1, r7\nvadd.i32 q1, q1, q2\nvmov r0, s7", Near(DATA)),
        ("vdup.32 q1, r7\nvdupt.32 q1, r7\nvmov r0, s4", Near(DATA)),
        ("vdup.32 q1, r7\nvdupt.32 q1, r10\nvmov r0, s4", None),
        ("vdup.32 q1, r7\nvmov s5, sp\nvadd.i32 q2, q1, q3\nvmov r0, s8", None),
        ("vdup.32 q1, r7\nvmov s5, r10\nvadd.i32 q2, q1, q3\nvmov r0, s8", None),
    ):
        assert followed(f"f:{BEGIN}{text}\nbx lr").registers.values[0] == expected, text


def test_a_vector_of_addresses_in_two_objects_may_write_both() -> None:
    begin = "f:\nsub sp, #8\nmovw r7, #0\nmovt r7, #8192\nstr r2, [r7]\nstr r2, [sp]\nvdup.32 q7, r7\n"
    for mixed, known in (("", 5), ("vmov s29, sp\n", None)):
        text = f"{begin}{mixed}vstrw.32 q0, [q7]\nldr r0, [sp]\nldr r1, [r7]\nadd sp, #8\nbx lr"
        assert followed(text, None, None, 5).registers.values[:2] == [known, None]


def test_a_sum_with_a_pointer_stays_in_its_object_and_a_difference_from_one_does_not():
    text = f"f:{BEGIN}WHAT\nbx lr"
    for what, expected in (
        ("add r0, r7, r10", Near(DATA)),
        ("add r0, r10, r7", Near(DATA)),
        ("sub r0, r7, r10", Near(DATA)),
        ("sub r0, r10, r7", None),
        ("rsb r0, r10, r7", None),
        ("add r0, r10, r1", None),
    ):
        assert followed(text.replace("WHAT", what)).registers.values[0] == expected, what


def test_bits_that_are_known_are_those_of_each_number_with_known_bits() -> None:
    draw = random.Random(5)
    for _ in range(3000):
        numbers, masks = ([draw.choice((0, WORD, draw.getrandbits(32))) for _ in range(2)] for _ in range(2))
        one, two = (Partly(mask, number & mask) for number, mask in zip(numbers, masks, strict=True))
        name, shift, amount = draw.choice([*BITWISE]), draw.choice(("lsl", "lsr")), draw.randrange(34)
        other = draw.choice((two, numbers[1], Few(numbers[1].bit_count(), numbers[1])))
        for found, number in (
            (combined(name, one, other), BITWISE[name](*numbers) & WORD),
            (shifted(shift, one, amount), SHIFTS[shift](numbers[0], amount) & WORD),
            (Objects((), keeps_bits=True).joined(one, other), draw.choice(numbers)),
        ):
            known = known_of(found)
            assert number & known.mask == known.bits, (name, shift, amount, one, other)
            negative, zero, *_ = flag_bits(flags_of(found, None))
            assert negative in (None, number >> 31 == 1) and zero in (None, number == 0)
        assert flag_bits(flags_of_comparison(one, other))[1] in (None, numbers[0] == numbers[1])


@pytest.mark.parametrize(
    "line, lost", [("vother.8 q0, [r1], #16", {1}), ("vother.8 q0, [r3]", {3}), ("ldother r4, [r1]", {1, 4})]
)
def test_an_unknown_instruction_may_change_the_registers_that_it_names_and_no_other(line, lost):
    numbers = "".join(f"mov r{at}, #{at}\n" for at in range(1, 8))
    found = followed(f"f:\n{numbers}{line}\nbx lr").registers.values
    assert [at for at in range(1, 8) if found[at] != at] == sorted(lost)


def test_a_loop_after_a_loop_of_vectors_counts_one_by_one_again():
    text = """
    f:
        mov r6, lr
        movs r0, #0
        movs r2, #20
        wlstp.8 lr, r2, .out | c005f002
    .vectors:
        adds r0, #1
        letp lr, .vectors
    .out:
        movs r2, #5
        dls lr, r2
    .again:
        adds r0, #1
        le lr, .again
        bx r6
    """
    assert followed(text).registers.values[0] == 2 + 5
