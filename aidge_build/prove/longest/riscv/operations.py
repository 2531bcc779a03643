# SPDX-License-Identifier: MIT
"""RISC-V instructions as functions that change the known registers and memory.

Registers of the FPU and of vectors are not followed: what they store is unknown. Nothing is counted here: each instruction counts
as 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from aidge_build.contract.riscv.instruction import REGISTERS, STORE, VECTOR_STORES, Instruction
from aidge_build.contract.riscv.instruction import Operation as Encoded
from aidge_build.prove.elf.frames import Refusal
from aidge_build.prove.elf.riscv_numbers import CONDITIONS, IMMEDIATES, OF_ONE, OF_TWO
from aidge_build.prove.elf.state import signed
from aidge_build.prove.longest.memory import Memory
from aidge_build.prove.longest.registers import Operation, Registers, require_known
from aidge_build.prove.longest.values import (
    SIGN,
    WORD,
    Few,
    Near,
    Objects,
    OneLess,
    Partly,
    Value,
    combined,
    known_of,
    partly,
    shifted,
)

NUMBERS = {name: number for number, name in enumerate((*REGISTERS, "vl"))}  # vl: how many elements of a vector are used
_VL = NUMBERS["vl"]
_LOADS = {"lw": (4, 0), "lbu": (1, 0), "lhu": (2, 0), "lb": (1, 24), "lh": (2, 16)}  # bytes, and bits that a sign fills
_STORES = ("sw", STORE, *VECTOR_STORES)
_BITWISE = {"and": "and", "or": "orr", "xor": "eor", "andn": "bic", "orn": "orn"}
_SHIFTS = {"sll": "lsl", "srl": "lsr"}
_COMPARISONS = {"slt": "blt", "sltu": "bltu"}
_Computation = Callable[[list[Value]], Value]


def operation(instruction: Instruction, objects: Objects, is_save: bool, vector_bits: int) -> Operation | None:
    """Returns the effect of an instruction that leads to the next one, None for no effect.

    `is_save`: it stores a register for the caller, so that no pointer leads there. `vector_bits` is the length of a vector
    register, 0 if it is unknown."""
    one = instruction.operation
    if one.name in _STORES:
        return _saved(one) if is_save else _store(one, objects)
    if one.name in ("vsetvli", "vsetvl"):
        return _length(instruction, vector_bits)
    if one.name == "amo":
        return _changed_word(one)
    if one.target in ("", "zero"):
        return None
    if one.name in _LOADS:
        return _load(one)
    at, compute = NUMBERS[one.target], _computation(instruction, objects)

    def assign(registers: Registers, memory: Memory) -> None:
        registers.values[at] = compute(registers.values)

    return assign


def changes_memory(one: Encoded) -> bool:
    """Whether an instruction may write to memory."""
    return one.name in _STORES or one.name == "amo"


def _place(one: Encoded) -> _Computation:
    """Returns the address of a load or store as a function of the registers."""
    base, distance = NUMBERS[one.first], one.number

    def place(values: list[Value]) -> Value:
        value = values[base]
        if type(value) is int:
            return value + distance & WORD
        return value if type(value) is Near else None

    return place


def _load(one: Encoded) -> Operation:
    at, place, (width, bits) = NUMBERS[one.target], _place(one), _LOADS[one.name]

    def load(registers: Registers, memory: Memory) -> None:
        loaded = memory.load(place(registers.values), width)
        if bits and type(loaded) is int:
            loaded = signed(loaded << bits) >> bits & WORD
        registers.values[at] = loaded

    return load


def _saved(one: Encoded) -> Operation:
    place, at = _place(one), NUMBERS[one.second]

    def save(registers: Registers, memory: Memory) -> None:
        memory.save(require_known(place(registers.values), "the stack pointer"), registers.values[at])

    return save


def _store(one: Encoded, objects: Objects) -> Operation:
    place, at, width, element_bytes = _place(one), NUMBERS.get(one.second), one.width, VECTOR_STORES.get(one.name)

    def store(registers: Registers, memory: Memory) -> None:
        to, length = place(registers.values), registers.values[_VL]
        if at is not None:
            memory.store(to, width, registers.values[at])
        elif element_bytes is not None and isinstance(length, int):
            memory.kill(to, length * element_bytes)
        else:
            memory.kill(to, objects.bytes_from(to, width))

    return store


def _changed_word(one: Encoded) -> Operation:
    """Returns the effect of an atomic operation: it may change its word."""
    place, at = _place(one), NUMBERS[one.target]

    def change(registers: Registers, memory: Memory) -> None:
        memory.kill(place(registers.values), one.width)
        registers.values[at] = None if at else 0

    return change


def _length(instruction: Instruction, vector_bits: int) -> Operation | None:
    """Returns the effect of `vsetvli`: as many elements as are asked for, if a group of registers has as many (Instruction Set
    Manual, 31.6). The length after `vsetvl` and `vsetivli` is not known."""
    one, at, asked = instruction.operation, NUMBERS[instruction.operation.target], NUMBERS[instruction.operation.first]
    if one.name == "vsetvli" and not at and not asked:
        return None  # the type alone changes
    group, element_bits = one.number & 7, 8 << (one.number >> 3 & 7)
    registers_eighths = 8 << group if group < 4 else 8 >> 8 - group
    most = vector_bits * registers_eighths // 8 // element_bits

    def set_length(registers: Registers, memory: Memory) -> None:
        values = registers.values
        if one.name == "vsetvl":
            values[_VL], values[at] = None, None if at else 0
            return
        if not most:
            raise Refusal(f"how long vectors are for 'vsetvli' at 0x{instruction.address:x}, the program does not say")
        wanted = values[asked] if asked else most
        values[_VL] = min(wanted, most) if isinstance(wanted, int) else None
        values[at] = values[_VL] if at else 0

    return set_length


def _computation(instruction: Instruction, objects: Objects) -> _Computation:
    """Returns the result of an instruction as a function of the registers; None for an instruction that is not known."""
    one = instruction.operation
    if one.name in ("lui", "auipc"):
        number = one.number + (instruction.address if one.name == "auipc" else 0) & WORD
        return lambda values: number
    if one.name in OF_ONE:
        return _of_one(one)
    if one.name == "addi":
        return _moved(one, objects)
    if one.name in IMMEDIATES:
        return _of_number(IMMEDIATES[one.name], one)
    if one.name == "add" and "zero" in (one.first, one.second):
        return _copy(NUMBERS[one.first] or NUMBERS[one.second])
    return _of_two(one, objects) if one.name in OF_TWO else lambda values: None


def _copy(at: int) -> _Computation:
    return lambda values: values[at]


def _moved(one: Encoded, objects: Objects) -> _Computation:
    """Returns the sum of a register and a number."""
    at, number, far = NUMBERS[one.first], one.number & WORD, objects.near(None, one.number & WORD)
    if not number:
        return _copy(at)

    def plus(values: list[Value]) -> Value:
        value = values[at]
        if type(value) is int:
            return value + number & WORD
        if type(value) is Few and number == WORD:
            return OneLess(value)
        return value if type(value) is Near else far

    return plus


def _of_one(one: Encoded) -> _Computation:
    at, compute = NUMBERS[one.first], OF_ONE[one.name]

    def result(values: list[Value]) -> Value:
        value = values[at]
        return compute(value) & WORD if type(value) is int else None

    return result


def _of_number(name: str, one: Encoded) -> _Computation:
    """Returns the result of a register and a number."""
    at, number, compute, otherwise = NUMBERS[one.first], one.number & WORD, OF_TWO[name], _PARTLY_KNOWN.get(name, _unknown)

    def result(values: list[Value]) -> Value:
        value = values[at]
        return compute(value, number) & WORD if type(value) is int else otherwise(value, number)

    return result


def _of_two(one: Encoded, objects: Objects) -> _Computation:
    """Returns the result of two registers."""
    first, second, compute = NUMBERS[one.first], NUMBERS[one.second], OF_TWO[one.name]
    if one.name == "add" and first == second:
        return _of_number("sll", Encoded("slli", first=one.first, number=1))
    sums = {"add": _total, "sub": _difference, **dict.fromkeys(("sh1add", "sh2add", "sh3add"), _indexed)}
    otherwise = partial(sums[one.name], objects) if one.name in sums else _PARTLY_KNOWN.get(one.name, _unknown)

    def result(values: list[Value]) -> Value:
        left, right = values[first], values[second]
        if type(left) is int and type(right) is int:
            return compute(left, right) & WORD
        return otherwise(left, right)

    return result


def _unknown(one: Value, two: Value) -> Value:
    return None


def _total(objects: Objects, one: Value, two: Value) -> Value:
    if one is two is None:
        return None
    return OneLess(one) if isinstance(one, Few) and two == WORD else objects.near(one, two)


def _indexed(objects: Objects, one: Value, two: Value) -> Value:
    return objects.near(None, two)


def _difference(objects: Objects, one: Value, two: Value) -> Value:
    return one if two == 0 else objects.near(one, None)


def _shifted(name: str, one: Value, two: Value) -> Value:
    return shifted(name, one, two & 31) if type(two) is int else None


def _compared(branch: str, one: Value, two: Value) -> Value:
    """Returns 1 if a branch is taken and 0 if not, both if that is not known."""
    met = decided(branch, one, two)
    return Partly(WORD - 1, 0) if met is None else int(met)


# The known part of a result if one of the numbers is not known, for operations other than sums.
_PARTLY_KNOWN: dict[str, Callable[[Value, Value], Value]] = {
    **{name: partial(combined, known) for name, known in _BITWISE.items()},
    **{name: partial(_shifted, known) for name, known in _SHIFTS.items()},
    **{name: partial(_compared, branch) for name, branch in _COMPARISONS.items()},
}


def decided(name: str, one: Value, two: Value) -> bool | None:
    """Whether a branch is taken; None if the known bits of its numbers do not decide it."""
    if type(one) is int and type(two) is int:
        return CONDITIONS[name](one, two)
    if name in ("beq", "bne"):
        first, second = known_of(one), known_of(two)
        return name == "bne" if first.mask & second.mask & (first.bits ^ second.bits) else None
    is_signed = name in ("blt", "bge")
    (least, most), (other_least, other_most) = _ends(one, is_signed), _ends(two, is_signed)
    if most < other_least or least >= other_most:
        return (most < other_least) == name.startswith("blt")
    return None


def _ends(value: Value, is_signed: bool) -> tuple[int, int]:
    """Returns the least and the largest number that a value may be."""
    known = known_of(value)
    least, most = known.bits, known.bits | WORD ^ known.mask
    if not is_signed:
        return least, most
    return signed(least | SIGN & ~known.mask), signed(most & ~(SIGN & ~known.mask))


def learned(name: str, is_taken: bool, one: Value, two: Value) -> tuple[Value, Value]:
    """Returns what is known of the two numbers of a branch on the path where it is taken or not."""
    if name in ("beq", "bne"):
        is_equal = is_taken == (name == "beq")
        known = next((value for value in (one, two) if type(value) is int), None)
        return (known, known) if is_equal and known is not None else (one, two)
    is_less = is_taken == name.startswith("blt")
    if name in ("blt", "bge"):
        return (_with(one, SIGN, SIGN if is_less else 0), two) if two == 0 else (one, two)
    if is_less and type(two) is int:
        return _with(one, ~_below(two - 1), 0), two
    if not is_less and type(one) is int:
        return one, _with(two, ~_below(one), 0)
    return one, two


def _below(most: int) -> int:
    """Returns the bits of the numbers up to `most`."""
    return (1 << max(most, 0).bit_length()) - 1


def _with(value: Value, mask: int, bits: int) -> Value:
    """Returns a number with these bits, too."""
    known = known_of(value)
    return value if type(value) is int else partly(known.mask | mask, known.bits | bits)
