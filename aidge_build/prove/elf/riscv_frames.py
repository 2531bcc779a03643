# SPDX-License-Identifier: MIT
"""The effect of one RISC-V instruction on the stack pointer, as far as static analysis can know it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aidge_build.contract.riscv.instruction import MEPC, REGISTERS, STORE, VECTOR_STORES, Instruction, Operation
from aidge_build.prove.elf.riscv_numbers import CONDITIONS, IMMEDIATES, OF_TWO
from aidge_build.prove.elf.state import RETURN, WORD, CallState, Refusal, Value, plus, rounded_down

# Registers that a function must preserve (RISC-V ABIs Specification 1.0, 1.1), tp, and t0: __divsi3 of libgcc keeps its own
# return address there, as it knows that __udivsi3 does not write it.
_KEPT: dict[str, Value] = {
    name: ("kept", at) for at, name in enumerate(REGISTERS) if name in ("t0", "tp") or name[0] == "s" and name != "sp"
}
# The address in mepc, to which a handler returns.
RESUMED: Value = ("return", 1)
_CLOBBERS = tuple(name for name in REGISTERS if name not in (*_KEPT, "zero", "sp", "gp"))
_STORES = ("sw", STORE, *VECTOR_STORES)
_SHIFTED = {"sh1add": 1, "sh2add": 2, "sh3add": 3}
_MOST_BYTES = 1 << 16  # of a table with a known end
ReadConstant = Callable[[int], int | None]


@dataclass(slots=True)
class RiscvState(CallState):
    """The known values at an instruction of RISC-V code."""

    KEPT = _KEPT
    CLOBBERS = _CLOBBERS

    def value(self, register: str) -> Value | None:
        """Returns the known value of a register, or None."""
        match register:
            case "sp":
                return "stack", self.stack
            case "zero":
                return "number", 0
        return self.registers.get(register)


def at_call() -> RiscvState:
    """Returns the values at the entry of a function."""
    return RiscvState(registers={"ra": RETURN, **_KEPT})


def at_interrupt() -> RiscvState:
    """Returns the values at the entry of a handler, which has to preserve each register."""
    return RiscvState(registers={name: ("kept", at) for at, name in enumerate(REGISTERS) if name not in ("zero", "sp")})


def apply(state: RiscvState, instruction: Instruction, read_constant: ReadConstant) -> None:
    """Changes `state` as an instruction does that leads to the next one."""
    one = instruction.operation
    if one.name in _STORES:
        _store(state, one)
        return
    if one.name == "amo":
        _write(state, state.value(one.first), one.width)
    result = result_of(state, instruction, read_constant)
    if one.target == "sp":
        _set_stack(state, one, result)
    elif one.target != "zero" and one.target:
        state.set_register(one.target, result)
        state.is_taken |= "sp" in (one.first, one.second) and one.name[0] != "l"  # the sum with an index is a place there


def result_of(state: RiscvState, instruction: Instruction, read_constant: ReadConstant) -> Value | None:
    """Returns the value that an instruction writes to its register, or None if it is unknown."""
    one = instruction.operation
    first, second, number = state.value(one.first), state.value(one.second), ("number", one.number & WORD)
    match one.name:
        case "lui" | "auipc":
            return "number", one.number + (instruction.address if one.name == "auipc" else 0) & WORD
        case "addi":
            return moved(state, one)
        case "csrrw" | "csrrs" | "csrrc" if one.number == MEPC:
            return RESUMED
        case "lw":
            return _loaded(state, moved(state, one), read_constant)
        case "add" | "sub":
            return _added(one, first, second)
        case "sh1add" | "sh2add" | "sh3add":
            return _added(one, _multiple(one, first), second)
        case "andi" if first and first[0] == "stack":
            return rounded_down(first[1], ~one.number & WORD)
    name = IMMEDIATES.get(one.name)
    return _number(name or one.name, first, number if name else second) or _range(one, first)


def _multiple(one: Operation, first: Value | None) -> Value | None:
    shift = Operation("slli", number=_SHIFTED[one.name])
    return _number("sll", first, ("number", shift.number)) or _range(shift, first)


def _range(one: Operation, first: Value | None) -> Value | None:
    """Returns a range that begins at 0: of some bits of a number, or of a multiple of a number with a range."""
    if one.name == "andi" and one.number >= 0:
        return "below", one.number + 1
    if one.name == "slli" and first and first[0] == "below" and first[1] << one.number <= _MOST_BYTES:
        return "below", (first[1] - 1 << one.number) + 1
    return None


def limit(state: RiscvState, branch: Operation, is_taken: bool) -> None:
    """Gives a register with an unknown number the range that a branch leaves it."""
    register, other, most = branch.second, state.value(branch.first), 1
    if branch.name not in ("bltu", "bgeu"):
        return
    if is_taken == (branch.name == "bltu"):  # the first number is below the second one
        register, other, most = branch.first, state.value(branch.second), 0
    known = state.value(register)
    if other and other[0] == "number" and 0 < other[1] + most < _MOST_BYTES and (known is None or known[0] == "below"):
        state.registers[register] = ("below", other[1] + most)


def moved(state: RiscvState, one: Operation) -> Value | None:
    """Returns the sum of the first register and the immediate number, None if it is unknown."""
    base = state.value(one.first)
    return plus(base, ("number", one.number & WORD)) if base and one.number else base


def _loaded(state: RiscvState, address: Value | None, read_constant: ReadConstant) -> Value | None:
    if address and address[0] == "begin of row":
        return "row", address[1]
    loaded = state.loaded(address, read_constant) if address else None
    return ("loaded", loaded[1]) if loaded and loaded[0] == "number" else loaded


def _added(one: Operation, first: Value | None, second: Value | None) -> Value | None:
    """Returns a sum or a difference; the sum of a table's address and an entry of the table is a distance in it."""
    if one.name == "sub":
        return plus(first, second, -1)
    if "zero" in (one.first, one.second):  # a copy
        return second if one.first == "zero" else first
    match first, second:
        case (("below", size), ("number", base)) | (("number", base), ("below", size)):
            return "begin of row", base + (size << 32)
        case (("row", row), ("number", base)) | (("number", base), ("row", row)):
            return ("far row", row) if row & WORD == base else None
        case (("entry", table), ("number", base)) | (("number", base), ("entry", table)):
            return ("distance", table) if table == base else None
        case (("loaded", entry), ("number", base)) | (("number", base), ("loaded", entry)):
            return "loaded", base + entry & WORD
    return plus(first, second)


def number_of(value: Value | None) -> int | None:
    """Returns a known number, or None."""
    return value[1] if value and value[0] in ("number", "loaded") else None


def decided(state: RiscvState, branch: Operation) -> bool | None:
    """Whether a branch is taken; None unless numbers in the code decide it. A debugger or a flash tool may change numbers in
    memory."""
    first, second = state.value(branch.first), state.value(branch.second)
    if not first or not second or (first[0], second[0]) != ("number", "number"):
        return None
    return CONDITIONS[branch.name](first[1], second[1])


def _number(name: str, first: Value | None, second: Value | None) -> Value | None:
    if name not in OF_TWO or not first or not second or (first[0], second[0]) != ("number", "number"):
        return None
    return "number", OF_TWO[name](first[1], second[1]) & WORD


def _set_stack(state: RiscvState, one: Operation, value: Value | None) -> None:
    if value is None and one.name in ("lw", "csrrw", "csrrs", "csrrc"):
        raise Refusal(f"the stack pointer is set by '{one.name}'")
    if value is None or value[0] != "stack":
        raise Refusal("the frame's size depends on data" if value is None else "the stack pointer is set to a fixed address")
    state.stack = value[1]


def _store(state: RiscvState, one: Operation) -> None:
    address = moved(state, one)
    _write(state, address, one.width)
    stored = state.value(one.second) if one.name == "sw" else None
    if address and address[0] == "stack":
        state.set_slot(address[1], stored)
    state.is_taken |= bool(stored) and stored[0] == "stack"


def _write(state: RiscvState, address: Value | None, size_bytes: int) -> None:
    """Forgets what a store may change."""
    if address and address[0] == "stack":
        state.overwrite(address[1], size_bytes)
    elif address is None or address[0] != "number":
        state.forget_variables()
