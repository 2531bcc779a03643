# SPDX-License-Identifier: MIT
"""The longest way through small programs whose worst cases are known; what has none is refused with the place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.longest.calls import Calls
from aidge_build.prove.longest.order import Order
from tests.listings import DATA_BYTES, TEXT, followed, listed, longest

ARRAY = 0x20000000


def test_a_straight_way_is_as_long_as_it_is():
    assert longest("f:\nmovs r0, #1\nadds r0, #2\nbx lr") == 3


def test_a_return_that_loads_pc_from_the_stack_is_followed():
    assert longest("f:\nstr lr, [sp, #-4]!\nmovs r0, #1\nldr pc, [sp], #4") == 3


def test_nested_loops_with_known_counts_are_counted_exactly():
    text = """
    f:
        movs r2, #5
    .rows:
        mov r3, r1
    .columns:
        ldrb r4, [r0], #1
        subs r3, #1
        bne .columns
        subs r2, #1
        bne .rows
        bx lr
    """
    assert longest(text, ARRAY, 7) == 1 + 5 * (1 + 7 * 3 + 2) + 1


def test_of_two_ways_that_data_decide_the_longer_one_counts_each_time():
    text = """
    f:
        movs r2, #6
    .next:
        ldrb r3, [r0], #1
        cmp r3, #9
        bgt .rare
        adds r4, #1
    .again:
        subs r2, #1
        bne .next
        bx lr
    .rare:
        adds r4, #2
        adds r4, #3
        adds r4, #4
        b .again
    """
    assert longest(text, ARRAY) == 1 + 6 * (3 + 4 + 2) + 1


def test_what_only_a_way_that_is_known_not_to_be_taken_holds_does_not_count():
    text = "f:\ncmp r0, #3\nbeq .short\nmovs r1, #1\nmovs r1, #2\nmovs r1, #3\n.short:\nbx lr"
    assert (longest(text, 3), longest(text, 4), longest(text, None)) == (3, 6, 6)


@pytest.mark.parametrize(("name", "skipping", "going_on"), [("cbz", 0, 4), ("cbnz", 4, 0)])
def test_a_number_that_is_known_decides_a_comparison_with_zero(name, skipping, going_on):
    text = f"f:\n{name} r0, .short\nmovs r1, #1\nmovs r1, #2\n.short:\nbx lr"
    assert (longest(text, skipping), longest(text, going_on), longest(text, None)) == (2, 4, 4)


def test_instructions_of_an_it_block_count_whether_or_not_they_do_something():
    text = "f:\ncmp r0, #3\nite eq\nmoveq r1, #4\nmovne r1, #8\n.loop:\nsubs r1, #1\nbne .loop\nbx lr"
    assert longest(text, 3) == 4 + 4 * 2 + 1
    assert longest(text, 5) == 4 + 8 * 2 + 1
    with pytest.raises(Refusal, match="the loop at 0x00008010 repeats"):
        longest(text, None)


def test_a_return_under_a_condition_ends_one_way_and_not_the_other():
    text = "f:\ncmp r0, #0\nit eq\nbxeq lr\nmovs r1, #1\nmovs r1, #2\nbx lr"
    assert (longest(text, 0), longest(text, 1), longest(text, None)) == (3, 6, 6)


def test_calls_and_tail_calls_count_what_they_call():
    text = """
    f:
        push {r4, lr}
        mov r4, r0
        bl g
        cmp r4, #0
        bne .other
        pop {r4, pc}
    .other:
        pop {r4, lr}
        b h
    g:
        movs r0, #1
        bx lr
    h:
        movs r0, #2
        movs r0, #3
        bx lr
    """
    assert longest(text, 0) == 3 + 2 + 3
    assert longest(text, 1) == longest(text, None) == 3 + 2 + 2 + 2 + 3


def test_a_function_that_both_ways_call_returns_to_each():
    text = """
    f:
        push {r4, lr}
        cmp r0, #0
        beq .one
        bl g
        bl g
        pop {r4, pc}
    .one:
        bl g
        pop {r4, pc}
    g:
        movs r2, #3
    .loop:
        subs r2, #1
        bne .loop
        bx lr
    """
    assert longest(text, None) == 3 + 2 * (1 + 8) + 1


def test_a_loop_that_data_end_is_refused_with_its_place():
    text = "f:\nldr r1, [r0]\nuntil_zero:\nsubs r1, r1, #3\nbne until_zero\nbx lr"
    with pytest.raises(Refusal, match="how often the loop at until_zero repeats depends on data"):
        longest(text, ARRAY)


@pytest.mark.parametrize(
    "body, rounds, length",
    [
        ("lsrs r1, r1, #1\nbne .again", 33, 2),  # one way out leaves nothing of the number
        ("subs r2, r2, r3\nlsls r1, r1, #2\nbne .again", 33, 3),
        ("lsl r1, r1, #1\ncmp r1, r3\nbls .again", 33, 3),  # nothing changes any more behind 32 shifts: it would never end
        ("lsl r1, r1, #1\ntst r1, #8\nbeq .again", 5, 3),  # bit 3 is clear for good behind 4
        ("movs r1, r1, lsl #1\nadcs r2, r2\ntst r2, #1\nbeq .again", 34, 4),
        ("add r1, r1, r1\ncmp r1, #0\nbpl .again", 33, 3),
        ("lsrs r1, r1, #1\nb .over\n.over:\nbne .again", 33, 3),  # the block before sets the flags
        ("lsl r1, r1, #1\nb .over\n.over:\ntst r1, #8\nbeq .again", 5, 4),
        ("movs r1, r1, lsl #1\nadcs r2, r2\nlsl r4, r4, #1\ntst r2, #1\nbeq .again", 34, 5),
        ("lsrs r1, r1, #1\nbeq .out\nadd r3, #1\ncmp r2, r3\nbls .again\n.out:", 33, 5),
        ("b .two\n.two:\nlsl r1, r1, #1\nb .three\n.three:\ntst r1, #8\nbeq .again", 5, 5),
        ("lsrs r1, r1, #1\nbeq .out\nb .again\n.out:", 1, 32 * 3 + 2),
        ("cmp r2, r3\nbeq .out\nlsrs r1, r1, #1\nbne .again\n.out:", 33, 4),  # the other way out does not matter
        ("lsl r1, r1, #1\ntst r1, #8\nbne .out\nlsl r2, r2, #1\ntst r2, #2\nbeq .again\n.out:", 4 + 2 + 1, 6),
        ("lsl r1, r1, #1\nasr r2, r2, #1\ncmp r1, r2\nbhi .again", 65, 4),
        ("lsl r1, r1, #1\nlsl r1, r1, #1\ntst r1, #8\nbeq .again", 5, 4),
        ("lsl r1, r1, #1\nlsr r1, r1, #2\ntst r1, #8\nbeq .again", 33, 4),
        ("cmp r1, r3\nitt hi\nlsrhi r1, r1, #1\nlsrhi r3, r3, #1\nbhi .again", 65, 5),
        ("lsr r1, r1, #1\ncbz r1, .out\nb .again\n.out:", 1, 32 * 3 + 2),
        ("lsrs r1, r1, #1\nb .middle\n.back:\nb .again\n.middle:\nbne .back", 1, 32 * 4 + 3),
    ],
)
def test_a_loop_of_shifts_comes_round_once_for_each_bit(body, rounds, length):
    text = f"f:\nldr r1, [r0]\nldr r2, [r0, #4]\nldr r3, [r0, #8]\n.again:\n{body}\nbx lr"
    assert longest(text, ARRAY) == 3 + rounds * length + 1


@pytest.mark.parametrize(
    "body",
    [
        "cmp r3, r2\nit hi\nlsrhi r1, r1, #1\nadd r3, r3, #1\ncmp r1, #0\nbne .again",
        "lsls r1, r1, r3\nbne .again",
        "lsrs r1, r2, #1\nbne .again",
        "lsr r1, r1, #1\norr r1, r1, r3\ncmp r1, #0\nbne .again",
        "cmp r3, r2\nbhi .over\nlsl r1, r1, #1\n.over:\nadd r3, r3, #1\ncmp r1, #0\nbmi .again",  # not in each round
        "lsls r1, r1, #1\nbcs .over\ntst r1, #8\n.over:\nbne .again",  # one of two blocks sets the flags
        "cmp r2, r3\nbhi .out\nasrs r1, r1, #1\nbne .again\n.out:\nadd r4, r4, r1",
        "add r3, #1\ncmp r2, r3\nbhi .out\nlsrs r1, r1, #1\nbpl .again\n.out:",
        "add r3, #1\ncmp r2, r3\nbhi .out\nlsrs r1, r1, #1\nbeq .again\n.out:",
        "add r3, #1\ncmp r2, r3\nbhi .out\nlsrs r1, r1, #1\nbne .out\nb .again\n.out:",
        "lsrs r1, r1, #0\nbne .again",
        "lsrs r1, r1, #1\nbmi .out\nadd r3, #1\ncmp r2, r3\nbls .again\n.out:",
        "lsrs r1, r1, #1\nbne .out\nadd r3, #1\ncmp r2, r3\nbls .again\n.out:",
        "add r1, r1, r3\ncmp r1, #0\nbpl .again",
        "pop {r1}\ncmp r1, #0\nbne .again",
        "movs r1, r3, lsl #1\nbne .again",
        "movs r1, r2\nbne .again",
        "cmp r1, r3\nit ls\nlsrls r1, r1, #1\nbhi .again",  # not in rounds that go on
        "cmp r2, r3\nbne .over\nlsr r1, r1, #1\n.over:\nadd r3, #1\ncmp r1, #0\nbne .again",
        "lsl r1, r1, #1\ncmp r1, r3\nbls .again\nadd r3, #1\ncmp r2, r3\nbls .again",  # two ways back
    ],
)
def test_a_loop_that_does_more_than_shift_has_no_such_bound(body):
    text = f"f:\nldr r1, [r0]\nldr r2, [r0, #4]\nldr r3, [r0, #8]\n.again:\n{body}\nbx lr"
    with pytest.raises(Refusal, match="depends on data|more than"):
        longest(text, ARRAY)


def test_bits_that_are_known_among_others_end_a_loop_when_they_come_out():
    # As libgcc divides on a Cortex-M0+: ones at the top count the rounds, and bits of the quotient come in below.
    text = "f:\nmov r2, #255\nlsl r2, r2, #24\n.again:\ncmp r0, r1\nadcs r2, r2\nbcs .again\nmov r0, r2\nbx lr"
    assert longest(text, None, None) == 2 + 9 * 3 + 2


def test_a_search_that_ends_at_a_known_place_takes_as_long_as_finding_nothing():
    text = """
    f:
        add r1, r0, #12
    .next:
        ldrb r2, [r0], #1
        cmp r2, r3
        beq .found
        cmp r0, r1
        bne .next
        movs r0, #0
        bx lr
    .found:
        bx lr
    """
    assert longest(text, ARRAY) == 1 + 12 * 5 + 2


def test_a_loop_over_the_bits_of_a_number_comes_round_once_for_each_that_may_be_set():
    text = """
    f:
        movw r1, #4369
        bic r2, r1, r0
        beq .none
    .next:
        subs r3, r2, #1
        ands r2, r2, r3
        bne .next
    .none:
        bx lr
    """
    assert longest(text, None) == 3 + 4 * 3 + 1


def test_a_loop_over_bits_of_which_all_may_be_set_is_refused():
    text = "f:\nnext:\nadd r3, r2, #-1\nands r2, r3\nbne next\nbx lr"
    with pytest.raises(Refusal, match="the loop at f repeats"):
        longest(text)


def test_a_register_that_is_kept_in_the_stack_or_in_the_fpu_is_known_afterwards():
    text = """
    f:
        push {r4, lr}
        sub sp, #8
        str r0, [sp, #4]
        vmov s3, r1
        bl g
        ldr r2, [sp, #4]
        vmov r3, s3
        add r2, r3
    .loop:
        subs r2, #1
        bne .loop
        add sp, #8
        pop {r4, pc}
    g:
        movs r0, #0
        movs r1, #0
        bx lr
    """
    assert longest(text, 3, 4) == 5 + 3 + 3 + 2 * 7 + 2


def test_a_store_to_where_data_say_makes_its_array_unknown_and_nothing_else():
    text = """
    f:
        push {r4, r5, lr}
        movs r5, #3
        str r5, [sp, #-4]!
        movw r4, #0
        movt r4, #8192
        str r5, [r4, #8]
        ldrb r1, [r4]
        str r1, [r4, r1]
        ldr r2, [sp], #4
    .loop:
        subs r2, #1
        bne .loop
        WHAT
        pop {r4, r5, pc}
    """
    assert longest(text.replace("WHAT", "nop")) == 9 + 6 + 2
    with pytest.raises(Refusal, match="again"):
        longest(text.replace("WHAT", "ldr r2, [r4, #8]\nagain:\nsubs r2, #1\nbne again"))


def test_a_store_through_a_pointer_of_which_nothing_is_known_makes_all_variables_unknown():
    text = """
    f:
        push {r4, lr}
        sub sp, #8
        movs r5, #3
        str r5, [sp]
        STORE
        ldr r2, [sp]
    again:
        subs r2, #1
        bne again
        add sp, #8
        pop {r4, pc}
    """
    assert longest(text.replace("STORE", "nop"), None) == 6 + 6 + 2
    with pytest.raises(Refusal, match="again"):
        longest(text.replace("STORE", "str r1, [r0]"), None)


def test_a_switch_goes_where_its_index_says_or_to_the_longest_case():
    text = """
    f:
        cmp r0, #2
        bhi .out
        tbb [pc, r0]
        nop
        nop
    .zero:
        movs r1, #1
        bx lr
    .one:
        movs r1, #1
        movs r1, #2
        movs r1, #3
        bx lr
    .two:
        movs r1, #1
        movs r1, #2
    .out:
        bx lr
    """
    image, instructions = listed(text)
    table = TEXT + 12
    del instructions[table], instructions[table + 4]
    code = image.sections[0]
    content = bytearray(code.content)
    content[12:15] = bytes((at - table) // 2 for at in (TEXT + 20, TEXT + 28, TEXT + 44))
    object.__setattr__(code, "content", bytes(content))
    calls = Calls(image, instructions)
    counts = [calls.call(TEXT, [index], calls.memory(), 100).instructions for index in (0, 1, 2, 3, None)]
    assert counts == [5, 7, 6, 3, 7]


def test_loops_that_the_core_counts_come_round_as_often_as_there_are_elements():
    whole = "f:\ndls lr, r0\n.loop:\nadds r1, #1\nle lr, .loop\nbx r2"
    assert longest(whole, 6, None, 0xFFFFFFFF) == 1 + 6 * 2 + 1
    text = "f:\nmov r2, lr\nwls lr, r0, .out\n.loop:\nadds r1, #1\nle lr, .loop\n.out:\nbx r2"
    assert [longest(text, count) for count in (0, 1, 4)] == [3, 5, 11]


def test_ways_with_different_numbers_meet_without_them_and_those_that_agree_keep_them():
    text = """
    f:
        cmp r0, #0
        beq .other
        movs r1, #4
        movs r2, #5
        b .met
    .other:
        movs r1, #4
        movs r2, #6
    .met:
        subs r1, #1
        bne .met
        bx lr
    """
    state = followed(text, None)
    assert state.instructions == 5 + 4 * 2 + 1 and state.registers.values[1] == 0 and state.registers.values[2] is None


def test_ways_within_ways_are_followed_to_where_each_pair_meets():
    text = """
    f:
        movs r4, #3
    .outer:
        ldr r1, [r0]
        cmp r1, #0
        beq .skip
        movs r5, #2
    .inner:
        ldr r2, [r0]
        cmp r2, r1
        bne .rare
    .back:
        subs r5, #1
        bne .inner
    .skip:
        subs r4, #1
        bne .outer
        bx lr
    .rare:
        movs r6, #1
        movs r6, #2
        b .back
    """
    assert longest(text, ARRAY) == 1 + 3 * (3 + 1 + 2 * (3 + 3 + 2) + 2) + 1


@pytest.mark.parametrize(
    "instruction, reason",
    [
        ("bx r0", "a jump to an address that is not known"),
        ("blx r0", "a call of an address that is not known"),
        ("svc 0", "'svc' at 0x8000 is not followed"),
        ("udf #0", "'udf' at 0x8000 is not followed"),
        ("bkpt 0x00ab", "'bkpt' at 0x8000 is not followed"),
        ("mov sp, r0\npush {r4}", "the stack pointer depends on data"),
        ("b 9000 <elsewhere>", "where no instruction begins"),
        ("add pc, r0", "'add' writes pc at 0x8000"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_the_reason(instruction, reason):
    with pytest.raises(Refusal, match=reason):
        longest(f"f:\n{instruction}\nnop\nbx lr", None)


@pytest.mark.parametrize("names, found", [((), None), (("array",), 0x03020100), (("f", "array"), 0x03020100), (("other",), None)])
def test_a_constant_that_start_up_code_copies_is_known_and_any_other_variable_is_not(names, found):
    image, instructions = listed("f:\nmovw r1, #0\nmovt r1, #8192\nldr r0, [r1]\nbx lr")
    code, ram = image.sections
    image = replace(image, sections=(code, replace(ram, content=bytes(range(DATA_BYTES)))))
    calls = Calls(image, instructions, names)
    assert calls.call(TEXT, (), calls.memory(), 100).registers.values[0] == found


def test_a_call_through_a_register_that_is_known_is_followed_and_comes_back():
    text = "f:\npush {r4, lr}\nmov r4, r1\nblx r0\npop {r4, pc}\ng:\nmovs r0, #1\nbx lr"
    assert longest(text, TEXT + 16 | 1) == 3 + 2 + 1


def test_a_loop_without_a_count_ends_where_it_is_left():
    text = "f:\nmovs r0, #4\n.loop:\nsubs r0, #1\nbeq .out\nle .loop\n.out:\nbx lr"
    assert longest(text) == 1 + 3 * 3 + 2 + 1


def test_ways_in_loops_are_ordered_by_how_often_they_came_round():
    graph = {0: (1,), 1: (2, 5), 2: (3,), 3: (2, 4), 4: (1,), 5: ()}
    order = Order(0, graph.__getitem__)
    begin, outer, inner = order.begin(0), order.begin(1), order.begin(2)
    assert begin == (0,) and outer == (1, 0, 0) and inner == (1, 0, 1, 0, 0)
    assert order.moved(begin, 0, 1) == outer and order.moved(outer, 1, 2) == inner
    third = order.moved(inner, 2, 3)
    again = order.moved(third, 3, 2)
    assert inner < third < again == (1, 0, 1, 1, 0)
    behind = order.moved(order.moved(again, 2, 3), 3, 4)
    assert again < behind < order.moved(behind, 4, 1) == (1, 1, 0)
    assert order.moved(order.moved(behind, 4, 1), 1, 5) == (2,) == order.begin(5)
    assert order.begin(77) == (6, 77) > order.begin(5)  # what the text did not show comes last


def test_ways_of_a_function_that_one_way_calls_meet_in_each_turn_of_its_loops():
    text = """
    f:
        push {r4, lr}
        movs r4, #2
    .twice:
        ldr r1, [r0]
        cmp r1, #0
        beq .without
        bl g
    .without:
        subs r4, #1
        bne .twice
        pop {r4, pc}
    g:
        movs r2, #3
    .next:
        ldr r1, [r0]
        cmp r1, #7
        beq .rare
    .back:
        subs r2, #1
        bne .next
        bx lr
    .rare:
        movs r3, #1
        movs r3, #2
        b .back
    """
    assert longest(text, ARRAY) == 2 + 2 * (4 + 1 + 3 * (3 + 3 + 2) + 1 + 2) + 1
