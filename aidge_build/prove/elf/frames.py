# SPDX-License-Identifier: MIT
"""The effect of one instruction on the stack pointer, as far as static analysis can know it.

A state maps registers and stack slots to values. After an unknown instruction, the registers that it may write count as unknown.
An instruction that may change the stack pointer in an unknown way is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from aidge_build.contract.thumb.instruction import Instruction, immediate, memory_operand, register_bytes, register_list
from aidge_build.prove.elf.effects import CORE, FOLDED, POPS, PUSHES, STORES, Effect, effect_of
from aidge_build.prove.elf.state import RETURN, WORD, CallState, Refusal, Value, plus, rounded_down, signed

# Registers that a function must preserve (Procedure Call Standard for the Arm Architecture, IHI 0042, 6.1.1).
_KEPT: dict[str, Value] = {f"r{number}": ("kept", number) for number in range(4, 12)}
CALL_CLOBBERS = ("r0", "r1", "r2", "r3", "r12", "lr")

_SHIFTS = ("lsl #", "lsr #", "asr #")  # of an operand
_OF_STACK_POINTERS = ("MSP", "PSP", "CONTROL", "MSP_NS", "PSP_NS")
_UPWARDS = ("ldm", "ldmia", "stm", "stmia")  # a word for each register
_OLD_FORMAT = {"fstmdbx": 4, "fldmiax": 4}  # a word more than the registers


@dataclass(slots=True)
class State(CallState):
    """The known values at an instruction of Thumb code."""

    KEPT = _KEPT
    CLOBBERS = CALL_CLOBBERS

    registers: dict[str, Value] = field(default_factory=lambda: {"lr": RETURN, **_KEPT})


def settles(state: State, effect: Effect) -> bool:
    """Whether the instruction only writes registers, with a number or with an unknown value. Changes the state if so."""
    registers = state.registers
    if not state.has_numbers:
        if not effect.is_apart or effect.copied in registers:
            return False
    elif effect.sets is not None:
        register, number = effect.sets
        registers[register] = number
        return True
    elif not effect.is_quiet or effect.base in registers:
        return False
    elif effect.has_value and not effect.base and (not effect.sources or not effect.sources.isdisjoint(registers)):
        return False
    for register in effect.written:
        if register in registers:
            del registers[register]
    return True


def apply(state: State, instruction: Instruction, name: str, read_constant: Callable[[int], int | None]) -> Value | None:
    """Changes `state` as the instruction `name` (without condition) does. Returns the value that it writes to pc, or None.

    `read_constant` returns the word at a read-only address, or None.
    """
    operands = instruction.operands
    effect = effect_of(name, operands)
    if effect.literal is not None:
        word = read_constant((instruction.address + 4 & ~3) + effect.literal)
        state.set_register(operands[0], None if word is None else ("number", word))
        return None
    if effect.is_quiet and not effect.base:
        _assign(state, instruction, name, effect, None, read_constant)
        return None
    if name in PUSHES and _is_on_stack(name, operands):
        state.stack -= _OLD_FORMAT.get(name, 0)
        _push(state, operands[-1])
        return None
    if name in POPS and _is_on_stack(name, operands):
        loaded = _pop(state, operands[-1])
        state.stack += _OLD_FORMAT.get(name, 0)
        return loaded
    state.is_taken |= effect.takes
    if name in ("bkpt", "msr"):
        _reach_system(state, name, operands)
    bracket = effect.bracket
    address = address_of(state, instruction, bracket) if bracket else _block_address(state, name, operands)
    before = _before_write_back(state, operands) if effect.writes_back else {}
    if name.startswith(STORES):
        _store(state, name, operands, address)
        result = None
    else:
        result = _assign(state, instruction, name, effect, address, read_constant)
    if effect.writes_back:
        _write_back(state, name, operands, before)
    return result


def given_to_stack(state: State, instruction: Instruction, name: str, read_constant: Callable[[int], int | None]) -> int | None:
    """Returns the number that start-up code writes to the stack pointer with this instruction; None for other instructions."""
    operands = instruction.operands
    if not (operands[:1] == ("sp",) and name in ("mov", "ldr")) and not (name == "msr" and operands[0].upper() == "MSP"):
        return None
    probe = Instruction(instruction.address, instruction.size_bytes, "mov" if name == "msr" else name, ("r0", *operands[1:]))
    seen = state.copy()
    apply(seen, probe, probe.mnemonic, read_constant)
    kind, number = seen.value("r0") or ("unknown", 0)
    return number if kind == "number" else None


def _reach_system(state: State, name: str, operands: tuple[str, ...]) -> None:
    if name == "bkpt":  # a debugger answers a semihosting call in variables, too
        state.forget_variables()
    elif operands[0].upper() in _OF_STACK_POINTERS:
        raise Refusal(f"{operands[0]} is set")


def _is_on_stack(name: str, operands: tuple[str, ...]) -> bool:
    """Whether `ldmia` or its like pushes or pops: the stack pointer is the base that changes."""
    return operands[0] == "sp!" or name.endswith(("push", "pop"))


def _push(state: State, operand: str) -> None:
    for register in reversed(register_list(operand)):
        state.stack -= register_bytes(register)
        state.set_slot(state.stack, state.registers.get(register))
        state.pushed.add(state.stack)


def _pop(state: State, operand: str) -> Value | None:
    loaded = None
    for register in register_list(operand):
        value = state.slots.pop(state.stack, None)
        state.pushed.discard(state.stack)
        state.stack += register_bytes(register)
        if register == "pc":
            loaded = value or ("unknown", 0)
        elif register in CORE:
            state.set_register(register, value)
    return loaded


def address_of(state: State, instruction: Instruction, operand: str) -> Value | None:
    """Returns the address of a memory operand: a stack slot, a number, or an address inside a table."""
    base, words, _ = memory_operand(operand)
    start = ("number", (instruction.address + 4) & ~3) if base == "pc" else state.value(base)
    if not words:
        return start
    number = immediate(words[0])
    if start is None:
        return None
    if number is None and start[0] in ("number", "offset"):  # a table: on another path the index may differ
        return "offset", start[1]
    number = _index(state, words) if number is None else number
    return None if number is None else plus(start, ("number", number))


def _index(state: State, words: tuple[str, ...]) -> int | None:
    """Returns the known number that an index register adds to the base, with its left shift; None if it is unknown."""
    value, shift = state.value(words[0]), words[1] if len(words) > 1 else "lsl #0"
    amount = immediate(shift.removeprefix("lsl ")) if shift.startswith("lsl ") else None
    if value is None or value[0] != "number" or amount is None:
        return None
    return signed(value[1] << amount)


def _store(state: State, name: str, operands: tuple[str, ...], address: Value | None) -> None:
    if name.startswith(("strex", "stlex")):
        state.registers.pop(operands[0], None)
    if address is None or address[0] == "offset":
        state.forget_variables()
    elif address[0] == "stack":
        state.overwrite(address[1], _stored_bytes(name, operands))
        for index, register in enumerate(operands[: {"str": 1, "strd": 2}.get(name, 0)]):
            state.set_slot(address[1] + 4 * index, state.value(register))


def _block_address(state: State, name: str, operands: tuple[str, ...]) -> Value | None:
    """Returns the lowest address that `stmia sp, {r0, r1}` (its base) or `stmdb` (below its base) writes."""
    if not name.startswith(("stm", "vstm")):
        return None
    base = state.value(operands[0].removesuffix("!"))
    if base is None or base[0] != "stack" or not name.endswith(("db", "fd")):
        return base
    return "stack", base[1] - _stored_bytes(name, operands[1:])


def _stored_bytes(name: str, operands: tuple[str, ...]) -> int:
    """Returns the most bytes that a store to one address writes; interleaving stores of vectors (vst4) write all their
    registers."""
    if name.startswith(("v", "stm")):
        lists = [operand for operand in operands if not operand.startswith(("[", "#"))]
        return sum(register_bytes(register) for operand in lists for register in register_list(operand))
    return 8 if name in ("strd", "strexd", "stlexd") else 4


def _assign(
    state: State,
    instruction: Instruction,
    name: str,
    effect: Effect,
    address: Value | None,
    read_constant: Callable[[int], int | None],
) -> Value | None:
    written = effect.written
    value = _result(state, instruction, name, address, read_constant) if effect.has_value else None
    for register in written & CORE:
        state.set_register(register, value)
    if "sp" in written:
        if value is None or value[0] != "stack":
            raise Refusal("the frame's size depends on data" if value is None else "the stack pointer is set to a fixed address")
        state.stack = value[1]
    return (value or ("unknown", 0)) if "pc" in written else None


def _result(
    state: State, instruction: Instruction, name: str, address: Value | None, read_constant: Callable[[int], int | None]
) -> Value | None:
    """Returns the value of the destination, or None if it is unknown."""
    if name == "ldr" and address:
        return state.loaded(address, read_constant)
    words = instruction.operands[1:] if len(instruction.operands) > 2 else instruction.operands
    values = [_operand(state, instruction, word) for word in words]
    if words[-1].startswith(_SHIFTS):
        shifted = _number(words[-1][:3], [values[-2], _operand(state, instruction, words[-1][4:])])
        if shifted is None:
            return None
        values[-2:] = [shifted]
    return _computed(name, words, values)


def _computed(name: str, words: tuple[str, ...], values: list[Value | None]) -> Value | None:
    """Returns the result of the operation `name` for the values of its operands `words`, or None."""
    match name, values:
        case "mov" | "movs" | "movw", _:
            return values[-1]
        case "orr", [("entry", _), *_] if words[-1] == "#1":
            return values[0]  # the Thumb bit, which computed gotos set before they jump
        case "bic", [("stack", place), _]:
            mask = immediate(words[1])
            return None if mask is None else rounded_down(place, mask)
        case "add" | "adds" | "addw" | "sub" | "subs" | "subw", [one, two]:
            if None in values and any(map(immediate, words)):
                return None  # no place in a table
            return plus(one, two, 1 if name.startswith("add") else -1)
    return _number(name.removesuffix("s"), values)


def _operand(state: State, instruction: Instruction, word: str) -> Value | None:
    if word == "pc":  # aligned if a distance is added (adr), not aligned in a move and in `add r3, pc`
        return "number", instruction.address + 4 & (~3 if len(instruction.operands) > 2 else WORD)
    number = immediate(word)
    return state.value(word) if number is None else ("number", number & WORD)


def _number(name: str, values: list[Value | None]) -> Value | None:
    """Returns the result of an operation on known numbers, or None. An operation with one operand may list its destination before
    it."""
    numbers = [value[1] for value in values if value and value[0] == "number"]
    if name in ("mvn", "neg") and values[-1] and values[-1][0] == "number":
        return "number", (~numbers[-1] if name == "mvn" else -numbers[-1]) & WORD
    if len(numbers) != len(values) or len(values) != 2 or name not in FOLDED:
        return None
    return "number", FOLDED[name](*numbers) & WORD


def _before_write_back(state: State, operands: tuple[str, ...]) -> dict[str, Value | None]:
    bases = [memory_operand(operand)[0] for operand in operands if operand.startswith("[") or operand.endswith("!")]
    return {base: state.value(base) for base in bases}


def _write_back(state: State, name: str, operands: tuple[str, ...], before: dict[str, Value | None]) -> None:
    """Changes the base register of `[sp, #-8]!`, `[sp], #4` and `ldm r3!, {...}`."""
    for position, operand in enumerate(operands):
        if operand.startswith("["):
            base, words, writes = memory_operand(operand)
            step = words[0] if writes and words else operands[position + 1] if position + 1 < len(operands) else None
        elif operand.endswith("!"):
            base, step = memory_operand(operand)[0], f"#{4 * len(register_list(operands[-1]))}" if name in _UPWARDS else None
        else:
            continue
        number = immediate(step) if step else None
        value = plus(before[base], ("number", number)) if number is not None else None
        if base != "sp":
            state.set_register(base, value)
        elif value is None:
            raise Refusal("the stack pointer changes by an unknown amount")
        else:
            state.stack = value[1]
