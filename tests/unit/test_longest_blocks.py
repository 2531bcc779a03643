# SPDX-License-Identifier: MIT
"""The ends of blocks: jump tables, comparisons before a branch, calls, and loops that the core counts."""

from __future__ import annotations

import pytest

from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.longest.calls import Calls
from aidge_build.prove.longest.ends import Frame, State
from aidge_build.prove.longest.registers import Registers
from tests.listings import DATA, TEXT, followed, followed_briefly, listed, longest

CALLER = "f:\npush {r4, lr}\nbl __aeabi_fdiv\npop {r4, pc}\n__aeabi_fdiv:\n"


def switched(jump: str, width: int, index: int | None, entries: tuple[int, ...], gap: int = 0) -> int:
    """The instructions of a switch over three cases, of 1, 2 and 3 instructions, with a table of these entries. `gap` is the
    number of instructions between the table and the cases."""
    between = "nop\n" * gap
    image, instructions = listed(f"f:\n{jump}\nnop\nnop\n{between}bx lr\nmovs r1, #1\nbx lr\nmovs r1, #1\nmovs r1, #2\nbx lr")
    del instructions[TEXT + 4], instructions[TEXT + 8]
    table = b"".join(entry.to_bytes(width, "little") for entry in entries)
    content = bytearray(image.sections[0].content)
    content[4 : 4 + len(table)] = table
    object.__setattr__(image.sections[0], "content", bytes(content))
    calls = Calls(image, instructions)
    return calls.call(TEXT, [index, TEXT], calls.memory(), 100).instructions


@pytest.mark.parametrize("jump, width", [("tbb [pc, r0]", 1), ("tbh [pc, r0, lsl #1]", 2)])
def test_a_jump_table_leads_to_the_case_of_its_index_or_to_each_case(jump: str, width: int) -> None:
    cases = (4, 6, 10)  # halfwords from the table to each case
    assert [switched(jump, width, index, cases) for index in (0, 1, 2, None)] == [2, 3, 4, 4]
    assert [switched(jump, width, index, cases[:1] * 2) for index in (0, None)] == [2, 2]
    assert [switched(jump, width, index, (4 + 240, 6 + 240), 120) for index in (0, 1, None)] == [2, 3, 3]
    with pytest.raises(Refusal, match="a jump beyond the table at 0x8004"):
        switched(jump, width, 1000, cases)
    with pytest.raises(Refusal, match="a jump table that cannot be read at 0x8000"):
        switched(jump, width, 0, (3, 4))


def test_a_jump_table_elsewhere_is_refused() -> None:
    with pytest.raises(Refusal, match="a jump table that cannot be read at 0x8000"):
        switched("tbb [r1, r0]", 1, 0, (4, 6))


@pytest.mark.parametrize(
    "before, rounds",
    [
        ("cmp r0, #3\nbeq .equal\nbx lr", 3),
        ("cmp r0, #3\nbne .other", 3),
        ("cmp r1, #3\nbne .other", 0),
        ("cmp r0, r1\nbne .other", 0),
        ("cmp r0, #3\nbhi .other", 0),
        ("cmn r0, #3\nbne .other", 0),
        ("cmp r0, #3\nsubs r1, #1\nbne .other", 0),
        ("cmp r0, #3\nb .on\n.on:\nbne .other", 0),
        ("cbnz r0, .other\nadds r0, #4", 4),
        ("cbz r0, .zero\nbx lr\n.zero:\nadds r0, #2", 2),
        ("cbz r0, .other", 0),
    ],
)
@followed_briefly
def test_after_a_number_was_compared_the_path_of_equal_numbers_knows_it(before: str, rounds: int) -> None:
    text = f"{CALLER}{before}\n.equal:\nsubs r0, #1\ncmp r0, #0\nbne .equal\n.other:\nbx lr"
    if not rounds:
        with pytest.raises(Refusal, match="repeats depends on data"):
            longest(text, None, None)
        return
    lines = before.replace(".zero:\n", "").replace("\nbx lr", "").count("\n") + 1
    assert longest(text, None, None) == 2 + lines + rounds * 3 + 1 + 1


@pytest.mark.parametrize("condition, rounds", [("al", 3), ("ne", 3), ("eq", 2)])
def test_an_it_block_of_a_function_of_the_library_runs_under_its_condition(condition: str, rounds: int) -> None:
    text = f"{CALLER}movs r0, #2\nit {condition}\nadd{condition} r0, #1\n.next:\nsubs r0, #1\nbne .next\nbx lr"
    assert longest(text.replace("addal", "add"), None, None) == 2 + 3 + 2 * rounds + 1 + 1


@pytest.mark.parametrize("call", ["bl", "blx"])
def test_a_call_of_a_named_function_comes_back(call: str) -> None:
    assert longest(f"f:\npush {{r4, lr}}\n{call} g\npop {{r4, pc}}\ng:\nmovs r0, #1\nbx lr") == 5


def test_a_return_loads_the_other_registers_from_below_pc() -> None:
    text = "f:\nmovs r4, #4\nmovs r7, #7\npush {r4, r7, lr}\nmovs r4, #0\nmovs r7, #0\nRETURN"
    for back in ("pop {r4, r7, pc}", "ldmia sp!, {r4, r7, pc}", "add sp, #8\npop {pc}"):
        registers = followed(text.replace("RETURN", back)).registers
        kept = [4, 7] if "r4" in back else [0, 0]
        assert [registers.values[at] for at in (4, 7)] == kept and registers.values[13] == followed("f:\nbx lr").registers.values[
            13
        ]


def test_behind_a_loop_of_vectors_a_vector_moves_whole_whatever_lr_is() -> None:
    loop = "movs r2, #1\nwlstp.8 lr, r2, .out | c005f002\n.loop:\nadds r3, #1\nletp lr, .loop\n.out:\n"
    moved = "vldrb.u8 q0, [r0] | 1e00ed90\nvstrb.8 q0, [r0, #16] | 1e10ed80\nbx r6"
    text = f"f:\nmov r6, lr\nmovw r0, #0\nmovt r0, #8192\nstr r2, [r0, #12]\n{loop}{moved}"
    assert followed(text, None, None, 9).memory.load(DATA + 28, 4) == 9


def test_a_jump_through_pc_goes_where_a_register_or_a_word_says_and_moves_the_base() -> None:
    assert longest(f"f:\nmovw r1, #{TEXT + 12}\nmov pc, r1\nnop\nbx lr") == 3
    text = f"f:\nmovw r1, #{TEXT + 20}\nstr r1, [r0, #4]\nLOAD\nnop\nnop\nbx lr"
    for load, base in (("ldr pc, [r0, #4]", DATA), ("ldr pc, [r0, #4]!", DATA + 4), ("add r0, #4\nldr pc, [r0], #8", DATA + 12)):
        state = followed(text.replace("LOAD", load).replace(f"{TEXT + 20}", f"{TEXT + 24 if 'add' in load else TEXT + 20}"), DATA)
        assert state.registers.values[0] == base and state.instructions == 4 + ("add" in load)
    with pytest.raises(Refusal, match="a jump to an address that is not known, at 0x8000"):
        longest("f:\nmov pc, r0\nbx lr", None)


def test_a_return_ends_the_innermost_call_with_its_address() -> None:
    frames = tuple(
        Frame(back, entry, site, (site,)) for back, entry, site in ((90, 1, 11), (20, 2, 12), (30, 3, 13), (30, 3, 14))
    )
    state = State(Registers([]), None, frames, 5, position=(8,))
    assert (state.leave(77, 0), state.frames, state.position, state.left) == (76, frames, (8,), None)
    assert (state.leave(31, 0), state.frames, state.position, state.left) == (30, frames[:3], (14,), 14)
    assert (state.leave(20, 0), state.frames, state.position, state.left) == (20, frames[:1], (12,), 12)
    assert (state.leave(90, 0), state.frames, state.position, state.left) == (90, (), (11,), 11)


@pytest.mark.parametrize("count, length", [(None, 12), (0, 4), (1, 7), (2, 10), (3, 12)])
def test_a_loop_of_an_unknown_number_of_elements_may_be_skipped_and_may_go_on(count: int | None, length: int) -> None:
    text = "f:\nmov r2, lr\nmov r1, #3\nwls lr, r0, .out\n.loop:\nsubs r1, #1\nbeq .out\nle lr, .loop\n.out:\nbx r2"
    assert longest(text, count) == length


def test_what_is_counted_in_an_unknown_loop_is_not_known_behind_it() -> None:
    loop = "wls lr, r0, .out\n.loop:\nmov r3, #2\nsubs r1, #1\nbeq .out\nle lr, .loop\n.out:\n"
    text = f"f:\nmov r2, lr\nmov r1, #3\nmov r3, #1\n{loop}bx r2"
    assert [followed(text, count).registers.values[3] for count in (None, 0, 1)] == [None, 1, 2]
    registers = followed(text, None).registers
    assert registers.values[14] is None and registers.elements == 1
