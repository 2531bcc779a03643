# SPDX-License-Identifier: MIT
"""Instructions as functions that change the known registers and memory.

After an unknown instruction, everything that it may write counts as unknown. Nothing is counted here: each instruction counts as
1.
"""

from __future__ import annotations

from aidge_build.contract.thumb.instruction import Instruction, memory_operand
from aidge_build.prove.elf.destinations import CUSTOM, is_misread, written_registers
from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.longest.memory import Memory
from aidge_build.prove.longest.registers import Operation, Registers, meet
from aidge_build.prove.longest.thumb.operands import LR, NUMBERS, SP, register, vector_parts
from aidge_build.prove.longest.thumb.transfers import block, load, several_words, store, transfer, vector, vector_sum
from aidge_build.prove.longest.thumb.words import comparison, plain
from aidge_build.prove.longest.values import Objects, holds

_HINTS = ("pld", "pldw", "pli")  # they name an address and do nothing with it
_REFUSED = ("<undefined>", "svc", "udf", "bkpt", "bf", "bfl", "bfx", "bflx", "blxns", "clrm", "vscclrm", "lctp")
_SETTING_FLAGS = ("vmrs", "msr", "cmp", "cmn", "tst", "teq", *CUSTOM)  # in addition to names that end in s
_COUNTING_VECTORS = ("vidup", "vddup", "viwdup", "vdwdup", "vshlc")  # vector instructions that also write a core register


def operation(instruction: Instruction, name: str, objects: Objects, raw: int) -> Operation:
    """Returns the effect of the instruction `name` (without its condition); `raw` are its halfwords, the first one lowest."""
    if name in _REFUSED or is_misread(name, instruction.operands):
        return _refusal(instruction, name)
    for make in (_counting, plain, comparison, load, store, block, several_words, vector, vector_sum, transfer):
        found = make(instruction, name, objects, raw)
        if found is not None:
            return found
    return _forgetting(instruction, name)


def _refusal(instruction: Instruction, name: str) -> Operation:
    def refuse(registers: Registers, memory: Memory) -> None:
        raise Refusal(f"'{name}' at 0x{instruction.address:x} is not followed")

    return refuse


def predicated(inner: Operation, condition: str, name: str) -> Operation:
    """Returns the effect of the instruction `name` under a condition."""
    writes = name.startswith(("st", "vst", "push", "vpush"))

    def apply(registers: Registers, memory: Memory) -> None:
        met = holds(condition, registers.flags)
        if met:
            inner(registers, memory)
        elif met is None:
            _maybe(inner, registers, memory, writes)

    return apply


def _maybe(inner: Operation, registers: Registers, memory: Memory, writes: bool) -> None:
    before, was_alone = registers.copy(), memory.is_alone
    other = memory.parted() if writes else None
    inner(registers, memory)
    if other is not None:
        memory.meet(other)
        if was_alone:
            memory.settle()
    meet(registers, before, memory.objects)


def _counting(instruction: Instruction, name: str, objects: Objects, raw: int) -> Operation | None:
    """Returns the effect of the start of a hardware loop, or of an instruction without effect; None for other instructions. Loop
    starts that may jump are ends of blocks."""
    if name in _HINTS:
        return lambda registers, memory: None
    if name not in ("dls", "dlstp"):
        return None
    source = register(instruction.operands[1])
    elements = elements_of(raw) if name == "dlstp" else 1
    assert source is not None

    def begin(registers: Registers, memory: Memory) -> None:
        registers.values[LR] = registers.values[source]
        registers.elements = elements

    return begin


def elements_of(raw: int) -> int:
    """Returns how many elements of a vector `dlstp` and `wlstp` take at a time, by bits 4 and 5."""
    return 16 >> (raw >> 4 & 3)


def _forgetting(instruction: Instruction, name: str) -> Operation:
    """Returns the effect of an unknown instruction: it forgets the registers that it may write."""
    written = sorted(NUMBERS[word] for word in destinations(instruction, name) if word in NUMBERS)
    written += [part for word in instruction.operands[:1] for part in vector_parts(word)]
    written += [NUMBERS[word] for operand in instruction.operands if operand.startswith("[") for word in _base(operand)]
    if SP in written or _may_move_memory(instruction, name):
        return _refusal(instruction, name)
    loses_flags = name.endswith("s") or name in _SETTING_FLAGS or "pc" in instruction.operands

    def forget(registers: Registers, memory: Memory) -> None:
        for at in written:
            registers.values[at] = None
        if loses_flags:
            registers.flags = None

    return forget


def _may_move_memory(instruction: Instruction, name: str) -> bool:
    """Whether a scalar instruction with a memory operand may store, or changes a base register."""
    moves = [operand for operand in instruction.operands if "[" in operand or "!" in operand]
    return not name.startswith("v") and any("!" in operand or not name.startswith("ld") for operand in moves)


def _base(operand: str) -> tuple[str, ...]:
    word = memory_operand(operand)[0]
    return (word,) if word in NUMBERS else ()


def destinations(instruction: Instruction, name: str) -> frozenset[str]:
    """Returns the core registers that an instruction may write."""
    operands = instruction.operands
    first = next((operand for operand in operands if not operand.startswith(("[", "{"))), "")
    if vector_parts(first) and name not in _COUNTING_VECTORS:
        return frozenset()
    return written_registers(name, operands)
