# SPDX-License-Identifier: MIT
"""An estimate of cycles from executed instructions, for cores with one issue slot and memory without wait states.

The rules are those of Arm's technical reference manuals; the numbers of a core are in its file, which names its manual. Nothing
is fitted; where a manual gives a range, its middle is taken. Cores with two issue slots or caches have no such table, and get no
number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from aidge_build.cores import Core, CycleModel
from aidge_build.elf.disassembly import CONDITIONS, Instruction, memory_operand, register_bytes, register_list

_LOAD = re.compile(r"ldr(b|h|sb|sh|t|bt|ht)?")
_STORE = re.compile(r"str(b|h|t|bt|ht)?")
_NO_ADDRESSES = ("ldr", "str", "cmp", "cmn", "tst", "teq", "b", "v", "cb", "it")  # what computes none
_MULTIPLE = re.compile(r"(push|pop|ldm|stm|vpush|vpop|vldm|vstm)(ia|db|fd)?")


def cycle_model(core: Core | None, multiplier_cycles: int = 1) -> CycleModel | None:
    """The model of a core whose products of 32 bits take so many cycles, or None where no simple table describes it (two issue
    slots, caches, vectors). What follows a + takes instructions away and changes none."""
    model = core.cycles if core else None
    if model is None or multiplier_cycles == 1:
        return model
    return replace(model, slow={**model.slow, "mul": multiplier_cycles, "muls": multiplier_cycles})


def instruction_cycles(model: CycleModel, instructions: Mapping[int, Instruction]) -> dict[int, int]:
    """Cycles of each instruction where it follows the one before it in memory; a branch counts as not taken."""
    cycles: dict[int, int] = {}
    previous: tuple[str, Instruction] | None = None
    conditional = 0
    for address in sorted(instructions):
        instruction = instructions[address]
        name = instruction.mnemonic
        if conditional and name.endswith(CONDITIONS):
            name = name[:-2]
        conditional = max(conditional - 1, 0)
        if name.startswith("it") and name.strip("ite") == "" and instruction.operands:
            conditional = len(name) - 1
        if previous is not None and previous[1].next != address:
            previous = None
        cycles[address] = _cycles(model, name, instruction, previous)
        previous = (name, instruction)
    return cycles


def _cycles(model: CycleModel, name: str, instruction: Instruction, previous: tuple[str, Instruction] | None) -> int:
    operands = instruction.operands
    if _MULTIPLE.fullmatch(name):
        registers = register_list(operands[-1])
        words = sum(register_bytes(register) for register in registers) // 4
        return 1 + words + (model.return_by_pop - 1 if "pc" in registers else 0)
    if name in ("bl", "blx"):
        return model.call
    if name in model.slow:
        return model.slow[name]
    brackets = [operand for operand in operands if operand.startswith("[")]
    if not brackets:
        return 1
    waits = _waits_for_address(name, brackets[0], previous) if model.pipelined_loads else 0
    if _LOAD.fullmatch(name):
        return (1 if model.pipelined_loads and _follows_load(brackets[0], previous) else 2) + waits
    if _STORE.fullmatch(name):
        return model.store + (1 if model.pipelined_loads and _has_index(brackets[0]) else 0) + waits
    if name in ("ldrd", "strd"):
        return (2 if _follows_load(brackets[0], previous) else 3) + waits
    if name in ("vldr", "vstr"):
        return 1 + register_bytes(operands[0]) // 4 + waits
    return 2 + waits


def _follows_load(operand: str, previous: tuple[str, Instruction] | None) -> bool:
    """Loads overlap with a load directly before them, unless their address is what that one loads; with a store nothing does."""
    if previous is None or not _LOAD.fullmatch(previous[0]):
        return False
    return previous[1].operands[0] not in _address_registers(operand)


def _waits_for_address(name: str, operand: str, previous: tuple[str, Instruction] | None) -> int:
    """One cycle more where the address is the result of the arithmetic instruction before."""
    if previous is None or not previous[1].operands or previous[0].startswith(_NO_ADDRESSES):
        return 0
    return 1 if previous[1].operands[0] in _address_registers(operand) else 0


def _address_registers(operand: str) -> tuple[str, ...]:
    base, words, _ = memory_operand(operand)
    return (base, *(word for word in words if not word.startswith("#")))


def _has_index(operand: str) -> bool:
    return len(_address_registers(operand)) > 1
