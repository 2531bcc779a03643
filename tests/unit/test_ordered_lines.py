# SPDX-License-Identifier: MIT
"""Kernels in assembly get the order of instructions that takes the fewest cycles, and nothing moves that another line needs."""

from __future__ import annotations

import re

import pytest

from aidge_build.build.ordering.dependences import dependences
from aidge_build.build.ordering.lines import moved_instruction
from aidge_build.build.ordering.texts import best_text, ordered_text
from aidge_build.contract.thumb.statements import asm_statements, joined
from aidge_build.prove.timing.pipeline import operation_of, sequence_cycles
from aidge_build.prove.timing.table import load_timing
from tests.instruction_values import differences, lines_of

M4, M7, M55 = map(load_timing, ("cortex-m4", "cortex-m7", "cortex-m55"))
LEVELS = ["vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, r8", "vadd.f32 {0}, {0}, r9"]


def text(*lines: str) -> str:
    """A function with these lines; a line that ends in a colon is a label."""
    printed = [f'        "{line if line.endswith(":") else "    " + line}\\n"' for line in lines]
    return "\n".join(["void f(void)", "{", "    __asm__(", *printed, "    );", "}"])


def ordered(*lines: str) -> list[str]:
    """The lines in their new order."""
    old = text(*lines)
    new = ordered_text(old, M7)
    assert differences(old, new) == []
    return [line.strip() for line in lines_of(new) if line]


def cycles(lines: list[str]) -> int:
    return sequence_cycles(M7, [moved_instruction(line).instruction for line in lines])


def test_what_waits_for_a_load_makes_room_for_what_does_not():
    old = ["ldr r4, [r0]", "smlad r5, r4, r6, r5", "ldr r7, [r1]", "smlad r8, r7, r6, r8", "add r9, r9, #1", "add r10, r10, #1"]
    new = ordered(*old)
    assert sorted(new) == sorted(old) and cycles(new) < cycles(old)


@pytest.mark.parametrize(
    "fixed",
    [
        *("1:", "bne 1b", "it gt", "vpst", "push {r4-r6}", "sub sp, sp, #8", "cpsid i", "adr r2, 1f", "ldr r2, =table"),
        *("mov r2, r3, rrx", "strex r11, r12, [r2]", "add R2, r3, r3", "add a3, a4, a4", "add total, total, r3"),
        *("ldm r2, {r11-ip}", "ldr r2, [r3]; mov r3, r2", "vldr p0, [r2]"),
    ],
)
def test_nothing_moves_across_what_stays(fixed):
    """Of two stretches each has the order that it would have alone."""
    half = ["ldr r4, [r0]", "smlad r5, r4, r6, r5", "add r9, r9, #1", "add r10, r10, #1"]
    assert ordered(*half, fixed, *half) == [*ordered(*half), fixed, *ordered(*half)]
    assert ordered(*half) != half


@pytest.mark.parametrize(
    "first, second, may_pass",
    [
        ("str r6, [r0]", "ldr r4, [r1]", False),  # perhaps the same address
        ("str r6, [r0]", "ldr r4, [r0, #4]", True),
        ("str r6, [r0]", "ldrb r4, [r0, #3]", False),
        ("str r6, [r0], #4", "ldr r4, [r0]", False),  # the address is late
        ("adds r6, r6, #1", "adc r4, r4, r7", False),
        ("usub8 r6, r6, r7", "sel r4, r8, r7", False),
        ("vmov d0, r6, r7", "vmov r4, s1", False),
        ("mov r8, r4", "ldr r4, [r1]", False),
    ],
)
def test_a_load_passes_only_what_it_does_not_depend_on(first, second, may_pass):
    wait = ["smlad r9, r4, r6, r9", "smlad r9, r4, r6, r9"]
    busy = ["mul r6, r6, r7", "mul r6, r6, r7", "mul r6, r6, r7"]
    new = ordered(*busy, first, second, *wait)
    assert (new.index(second) < new.index(first)) is may_pass


@pytest.mark.parametrize(
    "moved", ["vst21.8 {q5, q6}, [r0]!", "vld21.8 {q5, q6}, [r0]!", "stm r0!, {r2-r9}", "vldmia r0!, {s20-s27}"]
)
def test_an_address_moves_by_all_bytes_of_several_registers(moved):
    lines = ["add r1, r0, #0", moved, "str r10, [r0, #-20]", "ldr r11, [r1, #12]", "ldr r12, [r1, #16]"]
    known = [moved_instruction(line) for line in lines]
    followers = dependences(known, [operation_of(M7, one.instruction) for one in known])
    assert 3 in followers[2] and 4 not in followers[2]


def test_a_shift_of_a_vector_through_a_register_reads_and_writes_both():
    lines = ["vmov q1, q0", "vshlc q1, r0, #8", "add r2, r0, #1", "vadd.i32 q3, q1, q1"]
    known = [moved_instruction(line) for line in lines]
    followers = dependences(known, [operation_of(M55, one.instruction) for one in known])
    assert 1 in followers[0] and {2, 3} <= {*followers[1]}


def test_the_unit_with_most_work_does_not_wait_where_its_instructions_have_shorter_chains():
    old = ["vmov q7[2], q7[0], r0, r2", "vmov q7[3], q7[1], r4, r6", "vadd.i32 q7, q7, r7"]
    old += [step.format(register) for step in LEVELS for register in ("q5", "q7")]
    instructions = {line: moved_instruction(line).instruction for line in old}
    new = [line.strip() for line in lines_of(ordered_text(text(*old), M55)) if line]
    assert [sequence_cycles(M55, map(instructions.get, lines)) for lines in (old, new)] == [14, 11]
    assert new.index("vcvt.f32.s32 q5, q5") < new.index(old[0])


STEP = [
    *("ldrd r2, r3, [r0], #8", "ldrd r12, lr, [r1], #8"),
    *("smlad r5, r12, r2, r5", "smlad r9, r12, r3, r9", "smlad r7, lr, r2, r7", "smlad r11, lr, r3, r11"),
    *("sxtb16 r12, r12", "sxtb16 lr, lr"),
    *("smlad r4, r12, r2, r4", "smlad r8, r12, r3, r8", "smlad r6, lr, r2, r6", "smlad r10, lr, r3, r10"),
]


def loads(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("ldr")]


def test_two_loads_replace_a_pair_where_they_save_more_cycles_than_instructions():
    old = STEP * 6
    new = ordered(*old)
    assert len(old) < len(new) < 1.11 * len(old)
    assert cycles(new) + len(new) - len(old) < cycles(ordered(*STEP)) * 6


def test_a_long_function_is_ordered_as_a_whole_and_stays_in_strings_of_a_length_that_compilers_promise():
    lines = [("    " + line, f'        "    {line}\\n"') for line in STEP * 40]
    old = "\n".join(["void f(void)", "{", asm_statements(lines, ".syntax unified"), "}"])
    new = best_text(old, M7)
    assert joined(new) == ordered_text(joined(old), M7) != ordered_text(old, M7)
    strings = [lines_of(statement) for statement in new.split("__asm__(")]
    assert len(strings) > 3 and all(len("".join(said)) + len(said) < 4096 for said in strings)


def test_a_text_with_a_jump_that_reaches_few_bytes_does_not_grow():
    near = ordered("cbz r0, 1f", *STEP * 6, "1:")
    assert len(near) == len(STEP) * 6 + 2
    assert len(ordered("beq 1f", *STEP * 6, "1:")) > len(near)


def test_the_first_of_several_divided_loads_moves_the_address_for_all():
    """Addresses that are moved again and again would be another chain."""
    divided = [line for line in loads(ordered(*STEP * 10)) if not line.startswith("ldrd")]
    moving = [line.rpartition("#")[2] for line in divided if not line.endswith("]")]
    assert len(divided) == 24 and moving == ["48", "48"]


def test_a_group_of_divided_loads_ends_where_an_offset_would_be_too_far_back():
    far = ["ldrd r2, r3, [r0, #-252]" if number % 24 == 12 else line for number, line in enumerate(STEP * 9)]
    offsets = [int(match[1]) for line in loads(ordered(*far)) if (match := re.match(r"ldr r.*#(-?\d+)\]", line))]
    assert offsets and min(offsets) == -252


@pytest.mark.parametrize(
    "address, is_divided",
    [
        *(("[{}], #248", True), ("[{}], #256", False), ("[{}, #8]!", False)),
        *(("[{}, #-252]", True), ("[{}, #-256]", False), ("[{}, #1020]", True)),
    ],
)
def test_a_pair_stays_where_no_load_of_one_register_has_its_address(address, is_divided):
    pairs = [f"ldrd r2, r3, {address.format('r0')}", f"ldrd r12, lr, {address.format('r1')}"]
    new = loads(ordered(*[*pairs, *STEP[2:]] * 8))
    assert (new == pairs * 8) is not is_divided and len(new) == 16 + 10 * is_divided


@pytest.mark.parametrize("low, high, last", [("r0", "r2", "ldr r0, [r0, #8]"), ("r2", "r0", "ldr r0, [r0, #12]")])
def test_a_load_that_overwrites_its_address_comes_last(low, high, last):
    step = [line.replace("r3", "r0") for line in STEP[1:]]
    new = loads(ordered(*[f"ldrd {low}, {high}, [r0, #8]", *step] * 8))
    divided = [line for line in new if line.startswith("ldr r") and "[r0" in line]
    assert len(divided) == 10 and divided[1::2] == [last] * 5


def test_loads_after_one_that_overwrites_their_address_are_of_another_group():
    other = [STEP[0], "ldrd r12, r1, [r1]", *STEP[2:]]
    old = text(*(STEP + other) * 4, *STEP)
    new = ordered_text(old, M7)
    assert new.count('"    ldr r') > 0
    assert differences(old, new) == []


def test_a_pair_becomes_loads_in_a_row_where_it_follows_a_load_and_the_first_does_not_wait_for_its_address():
    step = ["ldr r3, [r0, #4]", *STEP[1:]]
    new = [line.strip() for line in lines_of(ordered_text(text(*step * 2), M4)) if line]
    assert loads(new)[:3] == ["ldr r3, [r0, #4]", "ldr lr, [r1, #4]", "ldr r12, [r1], #8"]
    assert sequence_cycles(M4, [moved_instruction(line).instruction for line in new]) == 2 * 15 - 1


def test_pairs_next_to_loads_are_divided_before_pairs_next_to_pairs():
    step = ["ldr r3, [r0, #4]", *STEP[1:]]
    new = loads([line.strip() for line in lines_of(ordered_text(text(*STEP, *step), M4))])
    assert new[:2] == STEP[:2] and len(new) == 5


@pytest.mark.parametrize("core", ["cortex-m33", "cortex-m55", "cortex-m85"])
def test_cores_that_issue_a_pair_beside_others_keep_it(core):
    new = ordered_text(text(*STEP * 6), load_timing(core))
    assert sorted(lines_of(new)) == sorted(lines_of(text(*STEP * 6)))


def test_only_cores_that_overlap_instructions_get_another_order():
    names = ["cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m33", "cortex-m7", "cortex-m55", "cortex-m85"]
    assert [name for name in names if load_timing(name).overlaps] == names[3:]


SUMS = ["smlad r4, r2, r3, r4", "smlad r5, r2, r3, r5", "smlad r6, r2, r3, r6", "smlad r7, r2, r3, r7"]
LOOP = ["adds r0, r0, #4", "1:", "ldr r2, [r0]", *SUMS, "subs r1, r1, #1", "bne 1b", "mov r0, r4"]


def test_a_loop_begins_at_a_word_and_has_no_instruction_of_16_bits_on_a_core_that_fetches_words():
    inside = [".p2align 2", "1:", "ldr.w r2, [r0]", *SUMS, "subs.w r1, r1, #1", "bne.w 1b"]
    new = [line.strip() for line in lines_of(best_text(text(*LOOP), M4)) if line]
    assert [line for line in new if line not in LOOP] == [line for line in inside if line not in LOOP]
    assert new[0] == LOOP[0] and new[-1] == LOOP[-1]


@pytest.mark.parametrize("table, first", [(M7, "adds r0, r0, #4"), (M4, "cbz r0, 1f")])
def test_a_loop_stays_where_it_gains_nothing_or_a_jump_reaches_few_bytes(table, first):
    old = text(first, *LOOP[1:])
    assert ".p2align" not in best_text(old, table) and ".w" not in best_text(old, table)


@pytest.mark.parametrize("long", ["ldr r2, [r0, #-4]", "ldr r2, [r0], #4", "str r2, [r0, #4]!", "add r2, r2, r3, lsl #2"])
def test_an_instruction_that_has_32_bits_anyway_is_printed_as_it_was_because_some_assemblers_refuse_its_long_name(long):
    old = ["1:", *SUMS, long, "subs r1, r1, #1", "bne 1b"]
    new = lines_of(best_text(text(*old), M4))
    assert "    " + long in new and "    subs.w r1, r1, #1" in new


def test_what_is_before_it_stays_short_because_both_take_one_cycle():
    old = ["1:", *SUMS, "cmp r0, r1", "it lt", "movlt r0, r1", "subs r2, r2, #1", "bne 1b"]
    assert "    cmp r0, r1" in lines_of(best_text(text(*old), M4))


def test_a_loop_around_others_and_a_loop_of_short_instructions_stay():
    around = ["2:", "mov r6, r8", *LOOP, "bne 2b"]
    assert "    mov r6, r8" in lines_of(best_text(text(*around), M4))
    short = ["1:", "ldrb r4, [r0]", "strb r4, [r1]", "subs r3, r3, #1", "bne 1b"]
    assert lines_of(best_text(text(*short), M4)) == lines_of(text(*short))
