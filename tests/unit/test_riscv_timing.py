# SPDX-License-Identifier: MIT
"""The work of RISC-V instructions, and cycles of little blocks of them, counted by hand."""

from __future__ import annotations

import pytest

from aidge_build.boards import load_board
from aidge_build.contract.riscv.instruction import STORE, UNKNOWN, Instruction, Instructions, Operation, instruction_at
from aidge_build.contract.riscv.work import work_of
from aidge_build.contract.work import ADDRESS, CONDITION, DATA, OPERAND, RESULT, SECOND
from aidge_build.measure.fit.count import counting_board
from aidge_build.prove.timing.estimate import Edge, Executed, Timing
from aidge_build.prove.timing.pipeline import block_cycles, sequence_cycles
from aidge_build.prove.timing.table import load_timing, timing_of

# (operation, kind, registers that it reads, registers that it writes)
WORKS = {
    "add a0, a1, a2": (Operation("add", "a0", "a1", "a2"), "add", (("a1", OPERAND), ("a2", SECOND)), ("a0",)),
    "li a0, 1": (Operation("addi", "a0", number=1), "add_constant", (), ("a0",)),
    "mulhu a0, a1, a2": (Operation("mulhu", "a0", "a1", "a2"), "multiply_long", (("a1", OPERAND), ("a2", SECOND)), ("a0",)),
    "lh a0, 2(a1)": (Operation("lh", "a0", "a1", number=2), "load_narrow", (("a1", ADDRESS),), ("a0",)),
    "sw a2, (a1)": (Operation("sw", "", "a1", "a2", width=4), "store", (("a1", ADDRESS), ("a2", DATA)), ()),
    "sb zero, (a1)": (Operation(STORE, "", "a1", width=1), "store_narrow", (("a1", ADDRESS),), ()),
    "bnez a0, .": (Operation("bne", "", "a0"), "compare_branch", (("a0", CONDITION),), ()),
    "j .": (Operation("jal", "zero"), "branch", (), ()),
    "jal .": (Operation("jal", "ra"), "call", (), ("ra",)),
    "ret": (Operation("jalr", "zero", "ra"), "branch_register", (("ra", OPERAND),), ()),
    "jalr a0": (Operation("jalr", "ra", "a0"), "call_register", (("a0", OPERAND),), ("ra",)),
    "custom-0": (Operation(UNKNOWN), "default", (), ()),
}
# (core, instructions, cycles). A target or a source that is no register is `-`.
SEQUENCES = {
    "a product of a Hazard3 is there at once": ("hazard3", "mul a0 a1 a2; add a3 a0 a0", 2),
    "a loaded value is there a cycle later": ("hazard3", "lbu a0 a1; add a2 a0 a0", 3),
    "a loaded address, too": ("hazard3", "lw a0 a1; lw a2 a0; addi a3", 4),
    "a branch waits for what is loaded": ("hazard3", "lw a0 a1; beq - a0 a2", 3),
    "a loaded value is stored at once": ("hazard3", "lw a0 a1; sw - a2 a0", 2),
    "a division takes 18": ("hazard3", "div a0 a1 a2; addi a3", 19),
    "nothing waits for the register of zeros": ("hazard3", "lw zero a1; add a2 zero a0", 2),
    "a byte is there after 3 cycles of an E31": ("e31", "lbu a0 a1; add a2 a0 a0", 4),
    "a word after 2": ("e31", "lw a0 a1; add a2 a0 a0", 3),
    "a product after 5": ("e31", "mul a0 a1 a2; add a3 a0 a0", 6),
    "no product begins before the end of another one": ("e31", "mul a0 a1 a2; mul a3 a4 a5; addi a6", 7),
}


def code(text: str, first: int = 0x100, size_bytes: int = 2) -> tuple[Instruction, ...]:
    """Instructions of so many bytes from an address on; a branch leads back to this address, with + in its name 64 further."""
    found: list[Instruction] = []
    for said in text.split("; "):
        name, *registers = said.replace("-", "").split(" ")
        at = first + size_bytes * len(found)
        distance = 64 if name.endswith("+") else first - at
        found.append(Instruction(at, size_bytes, Operation(name.rstrip("+"), *registers, number=distance)))
    return tuple(found)


@pytest.mark.parametrize("text", WORKS)
def test_an_operation_is_of_a_kind_and_reads_registers_in_roles(text):
    operation, kind, reads, writes = WORKS[text]
    work = work_of(operation, 4)
    assert (work.kind, work.reads, work.writes) == (kind, reads, tuple((register, RESULT) for register in writes))
    assert work.jumps == (operation.name in ("bne", "jal", "jalr")) and work.words == (kind[:4] in ("load", "stor"))


@pytest.mark.parametrize("rule", SEQUENCES)
def test_a_block_takes_what_the_manual_says(rule):
    core, text, expected = SEQUENCES[rule]
    assert sequence_cycles(load_timing(core), code(text)) == expected


def test_a_hazard3_expects_jumps_back_and_no_others():
    table, behind = load_timing("hazard3"), code("addi a0", 0x200)
    loop, onwards = code("addi a1 a1; bne - a1"), code("addi a1 a1; bne+ - a1")
    assert block_cycles(table, loop, loop, taken=True) == 2
    assert block_cycles(table, loop, behind, taken=False) == 1 + 2
    assert block_cycles(table, onwards, behind, taken=True) == 1 + 1
    assert block_cycles(table, onwards, behind, taken=False) == 1
    assert block_cycles(table, code("jal ra"), behind, taken=True) == 1 + 1


def test_a_jump_of_a_hazard3_to_32_bits_at_an_odd_half_word_loses_a_cycle():
    table, jump = load_timing("hazard3"), code("jal zero")
    assert [block_cycles(table, jump, code("addi a0", first, 4), taken=True) for first in (0x200, 0x202)] == [2, 3]
    loops = [code("addi a1 a1; bne - a1", first, 4) for first in (0x200, 0x202)]
    assert [block_cycles(table, loop, loop, taken=True) for loop in loops] == [2, 2]  # it expects these jumps


def test_an_e31_expects_all_branches_but_the_end_of_a_loop():
    table, loop, behind = load_timing("e31"), code("addi a1 a1; bne - a1"), code("addi a0", 0x200)
    assert block_cycles(table, loop, loop, taken=True) == 2
    assert block_cycles(table, loop, behind, taken=False) == 1 + 3


def test_a_block_has_no_instructions_that_begin_inside_of_others():
    """The upper half of `lui a0, 0x85550`, 0x8555, is a compressed shift, too."""
    words = bytes.fromhex("37055585 13051500")  # and addi a0, a0, 1
    upper = instruction_at(2, words[2:4])
    assert upper is not None and upper.operation.name == "srai"
    timing = Timing(load_timing("hazard3"), Instructions(((0, words),)), stall_cycles=0)
    total, _ = timing.cycles(Executed((Edge(0, 0, 0, 8, -1, 10),), ()), ())
    assert total.total == 2 * 10


def test_a_core_without_a_table_is_counted_on_the_board_of_another_core_with_the_same_code():
    machine = counting_board(load_board("esp32c6"))
    assert machine is not None and (machine.name, machine.core.name) == ("fe310", "rv32imac")
    names = ("fe310", "esp32c6", "esp32c3", "ch32v307")
    assert [timing_of(load_board(name).core) is None for name in names] == [False, True, True, True]
