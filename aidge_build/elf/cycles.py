# SPDX-License-Identifier: MIT
"""An estimate of cycles from executed instructions, for cores with one issue slot and memory without wait states.

The rules are those of Arm's technical reference manuals (Cortex-M4: DDI 0439, table 3-1, and section 3.3.2 on loads and stores;
Cortex-M3: DDI 0337; Cortex-M0: DDI 0432; Cortex-M0+: DDI 0484). Nothing is fitted; where a manual gives a range, its middle is
taken. Cores with two issue slots or caches have no such table, and get no number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from aidge_build.elf.disassembly import CONDITIONS, Instruction, memory_operand, register_bytes, register_list

_LOAD = re.compile(r"ldr(b|h|sb|sh|t|bt|ht)?")
_STORE = re.compile(r"str(b|h|t|bt|ht)?")
_NO_ADDRESSES = ("ldr", "str", "cmp", "cmn", "tst", "teq", "b", "v", "cb", "it")  # what computes none
_MULTIPLE = re.compile(r"(push|pop|ldm|stm|vpush|vpop|vldm|vstm)(ia|db|fd)?")
_BIAS = "estimated without wait states"
_UNKNOWN = "not validated on this core, its bias is unknown"
_ML_KEM, _BIKE = "0.8 to 3.3 % below 18 published STM32L4R5 counts of ML-KEM", "3 to 13 % below those of BIKE"


@dataclass(frozen=True)
class CycleModel:
    """`taken_cycles` is what a taken branch adds; `validation` says how far the numbers can be trusted."""

    taken_cycles: int
    validation: str
    pipelined_loads: bool
    store: int
    call: int
    return_by_pop: int
    slow: Mapping[str, int]


_M4_SLOW = {
    "sdiv": 6,
    "udiv": 6,
    "vdiv": 14,
    "vsqrt": 14,
    "vmla": 3,
    "vmls": 3,
    "vnmla": 3,
    "vnmls": 3,
    "vfma": 3,
    "vfms": 3,
    "vfnma": 3,
    "vfnms": 3,
    "tbb": 2,
    "tbh": 2,
    "mrs": 2,
    "isb": 3,
    "dsb": 3,
}
_M3_SLOW = {
    "sdiv": 6,
    "udiv": 6,
    "mla": 2,
    "mls": 2,
    "umull": 4,
    "smull": 4,
    "umlal": 5,
    "smlal": 5,
    "tbb": 2,
    "tbh": 2,
    "mrs": 2,
    "isb": 3,
    "dsb": 3,
}
_M0_SLOW = {"mrs": 4, "msr": 4, "isb": 4, "dsb": 4, "dmb": 4}
_M0PLUS_SLOW = {"mrs": 3, "msr": 3, "isb": 3, "dsb": 3, "dmb": 3}
_MODELS = {
    "cortex-m0": CycleModel(2, f"{_BIAS}; {_UNKNOWN}", False, 2, 2, 2, _M0_SLOW),
    "cortex-m0plus": CycleModel(1, f"{_BIAS}; {_UNKNOWN}", False, 2, 2, 2, _M0PLUS_SLOW),
    "cortex-m3": CycleModel(2, f"{_BIAS}; {_UNKNOWN}", True, 1, 1, 1, _M3_SLOW),
    "cortex-m4": CycleModel(2, f"{_BIAS}; {_ML_KEM}, {_BIKE}", True, 1, 1, 1, _M4_SLOW),
    "cortex-m33": CycleModel(2, f"{_BIAS}; the Cortex-M4's rules, {_UNKNOWN}", True, 1, 1, 1, _M4_SLOW),
}


def cycle_model(cpu: str, multiplier_cycles: int = 1) -> CycleModel | None:
    """The model of a core whose products of 32 bits take so many cycles, or None where no simple table describes it (two issue
    slots, caches, vectors). What follows a + takes instructions away and changes none."""
    model = _MODELS.get(cpu.partition("+")[0])
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
