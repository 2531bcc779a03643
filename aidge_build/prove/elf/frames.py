# SPDX-License-Identifier: MIT
"""What one instruction does to the stack pointer, as far as it can be known without running the program.

A state maps registers and stack slots to values. What is not understood is forgotten, except for the stack pointer itself:
an instruction that might change it in an unknown way is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from aidge_build.prove.elf.destinations import written_registers
from aidge_build.prove.elf.disassembly import Instruction, immediate, memory_operand, register_bytes, register_list

# A value: ("stack", bytes above the stack pointer at entry), ("number", n), ("return", 0), ("kept", n) = what register n held
# at entry, or, for jump tables in memory, ("offset", table) = table + something, and ("entry", table) = a word of the table.
Value = tuple[str, int]
RETURN: Value = ("return", 0)
WORD = 0xFFFFFFFF

_CORE = {f"r{number}" for number in range(13)} | {"lr"}
_REGISTERS = _CORE | {"sp", "pc"}
# What a function hands back as it found it (Procedure Call Standard for the Arm Architecture, IHI 0042, 6.1.1).
_KEPT: dict[str, Value] = {f"r{number}": ("kept", number) for number in range(4, 12)}
CALL_CLOBBERS = ("r0", "r1", "r2", "r3", "r12", "lr")
_PUSHES = frozenset(("push", "stmdb", "stmfd", "vpush", "vstmdb", "fstmdbx"))
_POPS = frozenset(("pop", "ldmia", "ldmfd", "ldm", "vpop", "vldmia", "fldmiax"))

# What makes a number of two numbers, by the name without its "s"; of a register that says how far, the lowest byte counts.
_FOLDED: dict[str, Callable[[int, int], int]] = {
    "and": operator.and_,
    "orr": operator.or_,
    "eor": operator.xor,
    "bic": lambda one, two: one & ~two,
    "mul": operator.mul,
    "rsb": lambda one, two: two - one,
    "lsl": lambda one, two: one << (two & 0xFF),
    "lsr": lambda one, two: one >> (two & 0xFF),
    "asr": lambda one, two: signed(one) >> (two & 0xFF),
    "movt": lambda one, two: two << 16 | one & 0xFFFF,
}

_STORES = ("str", "vst", "stm", "vstm", "stl")
_VALUED = frozenset(("ldr", "mov", "movw", "mvn", "neg", "add", "addw", "sub", "subw", *_FOLDED))
_SHIFTS = ("lsl #", "lsr #", "asr #")  # of an operand
_STACK_POINTERS = frozenset(("sp", "MSP", "PSP"))
_MOST_ALIGNMENT = 31
_BOUND = frozenset((*_PUSHES, *_POPS, "msr", "bkpt"))  # change more than the registers that they name
_MOVES = frozenset(("mov", "movs", "movw", "movws", "mvn", "mvns"))
_UPWARDS = ("ldm", "ldmia", "stm", "stmia")  # a word for each register
_OLD_FORMAT = {"fstmdbx": 4, "fldmiax": 4}  # a word more than the registers


class Refusal(Exception):
    """The stack use cannot be bounded; the text says why, at which address, and `chain` on which way of calls."""

    chain: tuple[int, ...] = ()


@dataclass(slots=True)
class State:
    """`stack` is the stack pointer in bytes relative to the entry of the function (0 or negative).

    `pushed` are the slots that hold saved registers.
    `lowest` is the lowest address that was written so far by a store, as -fstack-clash-protection does below the stack pointer.
    `is_taken` says whether the address of a place in the stack was put anywhere: pointers lead then to each place, as compilers
    count from any of them, upwards or downwards. What is spilled where none was taken, the address of a function under
    -mlong-calls say, is changed by no other function.
    `has_numbers` says whether numbers are followed, too: most functions keep to their frames whatever numbers they compute with.
    """

    stack: int = 0
    lowest: int = 0
    registers: dict[str, Value] = field(default_factory=lambda: {"lr": RETURN, **_KEPT})
    slots: dict[int, Value] = field(default_factory=dict)
    pushed: set[int] = field(default_factory=set)
    is_taken: bool = False
    has_numbers: bool = True

    def copy(self) -> State:
        """A state that changes by itself."""
        return State(
            self.stack,
            self.lowest,
            self.registers.copy(),
            self.slots.copy(),
            self.pushed.copy(),
            self.is_taken,
            self.has_numbers,
        )

    def value(self, register: str) -> Value | None:
        """What is known about a register."""
        return ("stack", self.stack) if register == "sp" else self.registers.get(register)

    def meet(self, other: State) -> bool:
        """Forgets what `other` does not confirm; whether anything was forgotten."""
        is_confirmed = self.registers.items() <= other.registers.items() and self.slots == other.slots
        if is_confirmed and self.pushed == other.pushed and self.is_taken >= other.is_taken:
            return False
        before = len(self.registers) + len(self.slots) + len(self.pushed), self.is_taken
        self.is_taken |= other.is_taken
        self.pushed &= other.pushed
        self.registers = {name: value for name, value in self.registers.items() if other.registers.get(name) == value}
        self.slots = {at: value for at, value in self.slots.items() if other.slots.get(at) == value}
        return (len(self.registers) + len(self.slots) + len(self.pushed), self.is_taken) != before

    @property
    def lost(self) -> frozenset[str]:
        """The registers that do not hold what they held at entry, though a function hands them back so."""
        return frozenset(name for name, _ in _KEPT.items() - self.registers.items())

    def after_call(self, lost: frozenset[str] = frozenset()) -> None:
        """A called function may change some registers, those that it has `lost`, and variables whose address it got; never what
        was saved."""
        for register in (*CALL_CLOBBERS, *lost):
            self.registers.pop(register, None)
        self.forget_variables()

    def forget_variables(self) -> None:
        """A store through an unknown pointer: compilers let none reach what they saved themselves. A number that was pushed
        may be a variable, which has its place so."""
        self.slots = {
            at: value
            for at, value in self.slots.items()
            if value[0] in ("return", "kept")
            or (value[0] == "number" and not self.is_taken)
            or (value[0] == "stack" and at in self.pushed)
        }


class Shape(NamedTuple):
    """What the text of an instruction says: the registers that it writes; whether what it writes may be known; whether it
    writes registers alone, and neither the stack pointer nor pc; the `base` from which it loads, "" for none; and the registers
    of which one must be known for that ("sp" and pc always are). `takes` says that it puts a place in the stack into something
    else than the stack pointer, or stores to one by an index. `bracket` is the memory operand, "" for none, and `writes_back`
    says whether a base register changes. `sets` are a register and the number that it writes there whatever is known, and
    `literal` the distance from pc of the word that it loads. `is_apart` says that it neither reads nor changes the frame: what it
    writes is a number or unknown, or what the register `copied` ("" for none) holds."""

    written: frozenset[str]
    has_value: bool
    is_quiet: bool
    base: str
    sources: frozenset[str]
    takes: bool
    bracket: str
    writes_back: bool
    sets: tuple[str, Value] | None
    literal: int | None
    is_apart: bool
    copied: str


@lru_cache(1 << 16)
def shape_of(name: str, operands: tuple[str, ...]) -> Shape:
    """What is known of an instruction by its name, without the condition of an IT block, and its operands."""
    written = written_registers(name, operands) & _REGISTERS
    has_value = len(written) == 1 and (name in _VALUED or name.removesuffix("s") in _VALUED)
    bracket = next((word for word in operands if word[0] == "["), "")
    base, words, _ = memory_operand(bracket) if bracket else ("", (), False)
    writes_back = any("!" in word for word in operands) or bracket != "" and operands[-1][0] != "["
    is_indexed = base == "sp" and bool(words) and immediate(words[0]) is None
    read_or_stored = operands if name.startswith("str") else operands[1:]
    takes = is_indexed or "sp" not in written and not _STACK_POINTERS.isdisjoint(read_or_stored)
    is_bound = takes or writes_back or name in _BOUND or not written <= _CORE
    stores = name.startswith(_STORES)
    moves_one = has_value and name in _MOVES
    number = immediate(operands[-1]) if moves_one and len(operands) == 2 and not is_bound and name[:3] == "mov" else None
    return Shape(
        written,
        has_value,
        is_quiet=not is_bound and not stores and (not has_value or not bracket or base in _CORE),
        base=base if has_value else "",  # what is loaded otherwise is not known, wherever it comes from
        sources=_sources(operands[moves_one or len(operands) > 2 :], moves_one) if has_value else frozenset(),
        takes=takes,
        bracket=bracket,
        writes_back=writes_back,
        sets=None if number is None else (operands[0], ("number", number & WORD)),
        literal=_distance(words) if name == "ldr" and base == "pc" and not is_bound else None,
        is_apart=not is_bound and (not stores or name.startswith("str")) and (base != "sp" or not has_value and not stores),
        copied=operands[-1] if moves_one and operands[-1] in _CORE else "",
    )


def _sources(read: tuple[str, ...], moves_one: bool) -> frozenset[str]:
    """The registers of which one must be known for a value; none where a value is known anyway."""
    if moves_one and read[-1][0] == "#":
        return frozenset()
    words = {word for operand in read for word in operand.split()}
    return frozenset(words & _CORE) if words.isdisjoint(("sp", "pc")) else frozenset()


def settles(state: State, shape: Shape) -> bool:
    """Whether the instruction writes registers alone, and its text says what is known of them then, a number or nothing: it is
    done then."""
    registers = state.registers
    if not state.has_numbers:
        if not shape.is_apart or shape.copied in registers:
            return False
    elif shape.sets is not None:
        register, number = shape.sets
        registers[register] = number
        return True
    elif not shape.is_quiet or shape.base in registers:
        return False
    elif shape.has_value and not shape.base and (not shape.sources or not shape.sources.isdisjoint(registers)):
        return False
    for register in shape.written:
        if register in registers:
            del registers[register]
    return True


def apply(state: State, instruction: Instruction, name: str, read_constant: Callable[[int], int | None]) -> Value | None:
    """Changes `state` as the instruction `name` (without condition) does; what it puts into pc, where it does that.

    `read_constant` gives the word at an address that nobody can write, or None.
    """
    operands = instruction.operands
    shape = shape_of(name, operands)
    if shape.literal is not None:
        word = read_constant((instruction.address + 4 & ~3) + shape.literal)
        _set(state, operands[0], None if word is None else ("number", word))
        return None
    if shape.is_quiet and not shape.base:
        _assign(state, instruction, name, shape, None, read_constant)
        return None
    if name in _PUSHES and (operands[0] == "sp!" or name.endswith("push")):
        state.stack -= _OLD_FORMAT.get(name, 0)
        _push(state, operands[-1])
        return None
    if name in _POPS and (operands[0] == "sp!" or name.endswith("pop")):
        loaded = _pop(state, operands[-1])
        state.stack += _OLD_FORMAT.get(name, 0)
        return loaded
    state.is_taken |= shape.takes
    if name == "bkpt":  # a debugger answers a semihosting call in variables, too
        state.forget_variables()
    if name == "msr" and operands[0].upper() in ("MSP", "PSP", "CONTROL", "MSP_NS", "PSP_NS"):
        raise Refusal(f"{operands[0]} is set")
    bracket = shape.bracket
    address = address_of(state, instruction, bracket) if bracket else _block_address(state, name, operands)
    before = _before_write_back(state, operands) if shape.writes_back else {}
    if name.startswith(_STORES):
        _store(state, name, operands, address)
        result = None
    else:
        result = _assign(state, instruction, name, shape, address, read_constant)
    if shape.writes_back:
        _write_back(state, name, operands, before)
    return result


def given_to_stack(state: State, instruction: Instruction, name: str, read_constant: Callable[[int], int | None]) -> int | None:
    """The number that start-up code puts into the stack pointer by this instruction; None where it does not, or not a number."""
    operands = instruction.operands
    if not (operands[:1] == ("sp",) and name in ("mov", "ldr")) and not (name == "msr" and operands[0].upper() == "MSP"):
        return None
    probe = Instruction(instruction.address, instruction.size_bytes, "mov" if name == "msr" else name, ("r0", *operands[1:]))
    seen = state.copy()
    apply(seen, probe, probe.mnemonic, read_constant)
    kind, number = seen.value("r0") or ("unknown", 0)
    return number if kind == "number" else None


def _push(state: State, operand: str) -> None:
    for register in reversed(register_list(operand)):
        state.stack -= register_bytes(register)
        _set_slot(state, state.stack, state.registers.get(register))
        state.pushed.add(state.stack)


def _pop(state: State, operand: str) -> Value | None:
    loaded = None
    for register in register_list(operand):
        value = state.slots.pop(state.stack, None)
        state.pushed.discard(state.stack)
        state.stack += register_bytes(register)
        if register == "pc":
            loaded = value or ("unknown", 0)
        elif register in _CORE:
            _set(state, register, value)
    return loaded


def _set(state: State, register: str, value: Value | None) -> None:
    if value is None:
        state.registers.pop(register, None)
    else:
        state.registers[register] = value
        state.is_taken |= value[0] == "stack"


def _set_slot(state: State, at: int, value: Value | None) -> None:
    if value is None:
        state.slots.pop(at, None)
    else:
        state.slots[at] = value


def address_of(state: State, instruction: Instruction, operand: str) -> Value | None:
    """The address of a memory operand: a place in the stack, a number, or the inside of a table."""
    base, words, _ = memory_operand(operand)
    start = ("number", (instruction.address + 4) & ~3) if base == "pc" else state.value(base)
    if not words:
        return start
    number = immediate(words[0])
    if start is None:
        return None
    if number is None and start[0] in ("number", "offset"):  # a table: on another way the index may be another one
        return "offset", start[1]
    number = _index(state, words) if number is None else number
    return None if number is None else _plus(start, ("number", number))


def _index(state: State, words: tuple[str, ...]) -> int | None:
    """What is added to the base by a register that holds a known number, shifted to the left or not."""
    value, shift = state.value(words[0]), words[1] if len(words) > 1 else "lsl #0"
    amount = immediate(shift.removeprefix("lsl ")) if shift.startswith("lsl ") else None
    if value is None or value[0] != "number" or amount is None:
        return None
    return signed(value[1] << amount)


def _plus(one: Value | None, two: Value | None, sign: int = 1) -> Value | None:
    if one and two and two[0] == "number" and one[0] in ("stack", "number"):
        total = one[1] + sign * signed(two[1])
        return one[0], total if one[0] == "stack" else total & WORD
    if one and two and one[0] == "number" and sign == 1 and two[0] == "stack":
        return _plus(two, one)
    if one and two and one[0] == "offset" and two[0] == "number":
        return one
    known = [value for value in (one, two) if value and value[0] in ("number", "offset")]
    return ("offset", known[0][1]) if sign == 1 and len(known) == 1 and None in (one, two) else None


def signed(number: int) -> int:
    """The number that 32 bits mean with a sign."""
    number &= WORD
    return number - (1 << 32) if number & 0x80000000 else number


def _store(state: State, name: str, operands: tuple[str, ...], address: Value | None) -> None:
    if name.startswith(("strex", "stlex")):
        state.registers.pop(operands[0], None)
    if address is None or address[0] == "offset":
        state.forget_variables()
    elif address[0] == "stack":
        state.lowest = min(state.lowest, address[1])
        written = range(address[1] - 3, address[1] + _stored_bytes(name, operands))
        state.pushed = {at for at in state.pushed if at not in written}
        for at in [at for at in state.slots if at in written]:
            del state.slots[at]
        for index, register in enumerate(operands[: {"str": 1, "strd": 2}.get(name, 0)]):
            _set_slot(state, address[1] + 4 * index, state.value(register))


def _distance(words: tuple[str, ...]) -> int | None:
    """What is added to the base of a memory operand, where that is a number."""
    return immediate(words[0]) if len(words) == 1 else None if words else 0


def _block_address(state: State, name: str, operands: tuple[str, ...]) -> Value | None:
    """Where `stmia sp, {r0, r1}` begins to store: at its base; `stmdb` below it, by all its registers."""
    if not name.startswith(("stm", "vstm")):
        return None
    base = state.value(operands[0].removesuffix("!"))
    if base is None or base[0] != "stack" or not name.endswith(("db", "fd")):
        return base
    return "stack", base[1] - _stored_bytes(name, operands[1:])


def _stored_bytes(name: str, operands: tuple[str, ...]) -> int:
    """At most how many bytes a store to one address writes; interleaving stores of vectors (vst4) write all their registers."""
    if name.startswith(("v", "stm")):
        lists = [operand for operand in operands if not operand.startswith(("[", "#"))]
        return sum(register_bytes(register) for operand in lists for register in register_list(operand))
    return 8 if name in ("strd", "strexd", "stlexd") else 4


def _assign(
    state: State,
    instruction: Instruction,
    name: str,
    shape: Shape,
    address: Value | None,
    read_constant: Callable[[int], int | None],
) -> Value | None:
    written = shape.written
    value = _result(state, instruction, name, address, read_constant) if shape.has_value else None
    for register in written & _CORE:
        _set(state, register, value)
    if "sp" in written:
        if value is None or value[0] != "stack":
            raise Refusal("the frame's size depends on data" if value is None else "the stack pointer is set to a fixed address")
        state.stack = value[1]
    return (value or ("unknown", 0)) if "pc" in written else None


def _result(
    state: State, instruction: Instruction, name: str, address: Value | None, read_constant: Callable[[int], int | None]
) -> Value | None:
    """The value of the destination where it can be known."""
    if name == "ldr" and address:
        return _loaded(state, address, read_constant)
    words = instruction.operands[1:] if len(instruction.operands) > 2 else instruction.operands
    values = [_operand(state, instruction, word) for word in words]
    if words[-1].startswith(_SHIFTS):
        shifted = _number(words[-1][:3], [values[-2], _operand(state, instruction, words[-1][4:])])
        if shifted is None:
            return None
        values[-2:] = [shifted]
    if name in ("mov", "movs", "movw"):
        return values[-1]
    if name == "orr" and instruction.operands[-1] == "#1" and values[0] and values[0][0] == "entry":
        return values[0]  # Thumb, as computed gotos say before they jump
    if name == "bic" and len(values) == 2 and values[0] and values[0][0] == "stack":
        return _rounded_down(values[0], words[1])
    if name.removesuffix("s") in ("mvn", "neg", *_FOLDED):
        return _number(name.removesuffix("s"), values)
    if name in ("add", "adds", "addw", "sub", "subs", "subw") and len(values) == 2:
        if None in values and any(map(immediate, words)):
            return None  # no place in a table
        return _plus(values[0], values[1], 1 if name.startswith("add") else -1)
    return None


def _rounded_down(place: Value, bits: str) -> Value | None:
    """A place in the stack that is aligned, as at the begin of handlers: at most so many bytes lower."""
    mask = immediate(bits)
    return None if mask is None or mask & (mask + 1) or mask > _MOST_ALIGNMENT else ("stack", place[1] - mask)


def _operand(state: State, instruction: Instruction, word: str) -> Value | None:
    if word == "pc":  # aligned where a distance is added (adr), as it is in a move and in `add r3, pc`
        return "number", instruction.address + 4 & (~3 if len(instruction.operands) > 2 else WORD)
    number = immediate(word)
    return state.value(word) if number is None else ("number", number & WORD)


def _number(name: str, values: list[Value | None]) -> Value | None:
    """What an operation makes of numbers; those with one operand may have their destination in front of it."""
    numbers = [value[1] for value in values if value and value[0] == "number"]
    if name in ("mvn", "neg") and values[-1] and values[-1][0] == "number":
        return "number", (~numbers[-1] if name == "mvn" else -numbers[-1]) & WORD
    if len(numbers) != len(values) or len(values) != 2 or name not in _FOLDED:
        return None
    return "number", _FOLDED[name](*numbers) & WORD


def _loaded(state: State, address: Value, read_constant: Callable[[int], int | None]) -> Value | None:
    kind, place = address
    if kind == "stack":
        return state.slots.get(place)
    if kind == "offset":
        return "entry", place
    word = read_constant(place) if kind == "number" else None
    return None if word is None else ("number", word)


def _before_write_back(state: State, operands: tuple[str, ...]) -> dict[str, Value | None]:
    bases = [memory_operand(operand)[0] for operand in operands if operand.startswith("[") or operand.endswith("!")]
    return {base: state.value(base) for base in bases}


def _write_back(state: State, name: str, operands: tuple[str, ...], before: dict[str, Value | None]) -> None:
    """`[sp, #-8]!`, `[sp], #4`, `ldm r3!, {...}`: the base register changes, too."""
    for position, operand in enumerate(operands):
        if operand.startswith("["):
            base, words, writes = memory_operand(operand)
            step = words[0] if writes and words else operands[position + 1] if position + 1 < len(operands) else None
            if not writes and step is None:
                continue
        elif operand.endswith("!"):
            base, step = memory_operand(operand)[0], f"#{4 * len(register_list(operands[-1]))}" if name in _UPWARDS else None
        else:
            continue
        number = immediate(step) if step else None
        value = _plus(before[base], ("number", number)) if number is not None else None
        if base != "sp":
            _set(state, base, value)
        elif value is None:
            raise Refusal("the stack pointer changes by an unknown amount")
        else:
            state.stack = value[1]
