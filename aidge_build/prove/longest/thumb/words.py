# SPDX-License-Identifier: MIT
"""Arithmetic and comparisons of words as functions that change registers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from aidge_build.contract.thumb.instruction import Instruction, immediate
from aidge_build.prove.longest.memory import Memory
from aidge_build.prove.longest.registers import Operation, Registers
from aidge_build.prove.longest.thumb.arithmetic import (
    BITWISE,
    EXTENDED_SUMS,
    FIELDS,
    LONG_PRODUCTS,
    ONE_OPERAND,
    OTHERS,
    SELECTIONS,
    SHIFTS,
    SUMS,
)
from aidge_build.prove.longest.thumb.operands import Reader, reader, register
from aidge_build.prove.longest.values import (
    SIGN,
    WORD,
    Few,
    Objects,
    OneLess,
    Partly,
    Value,
    combined,
    doubled,
    flag_bits,
    flags_of,
    flags_of_comparison,
    holds,
    opposite,
    shifted,
)

Computation = Callable[[Registers], Value]
_COMPARISONS = {"cmp": "difference", "cmn": "sum"}
_TESTS = {"tst": "and", "teq": "eor"}
_CHANGES = {"cset": "csinc", "csetm": "csinv", "cinc": "csinc", "cinv": "csinv", "cneg": "csneg"}
_WITH_CARRY = ("adc", "sbc")
_KNOWN = {*_WITH_CARRY, *SUMS, *BITWISE, *SHIFTS, "mov", "mvn", "neg", "mul"}


def plain(instruction: Instruction, name: str, objects: Objects, raw: int) -> Operation | None:
    """Returns arithmetic of words; None for other instructions."""
    if not instruction.operands or (at := register(instruction.operands[0])) is None:
        return None
    if name in LONG_PRODUCTS:
        return _long_product(instruction, name)
    if name in _INSERTIONS:
        return _insertion(instruction, at)
    bare, sets_flags = _without_flags(name)
    if bare == "neg" and sets_flags:
        instruction, bare = instruction._replace(operands=(*instruction.operands, "#0")), "rsb"
    if bare in _WITH_CARRY:
        return _carrying(instruction, bare, at, sets_flags)
    if bare in SUMS:
        return _sum(instruction, bare, at, sets_flags, objects)
    compute = _computation(instruction, bare)
    if compute is None:
        return None
    if bare in SHIFTS and sets_flags:
        return _shift(instruction, bare, at)
    if sets_flags:
        return _with_logical_flags(compute, at, _shifted_carry(instruction))

    def assign(registers: Registers, memory: Memory) -> None:
        registers.values[at] = compute(registers)

    return assign


def _without_flags(name: str) -> tuple[str, bool]:
    """Returns the name of the operation, and whether the instruction's name ends in the s that sets flags."""
    bare = name.removesuffix("s")
    if bare != name and bare in _KNOWN:
        return bare, True
    return {"addw": "add", "subw": "sub"}.get(name, name), False


def _computation(instruction: Instruction, name: str) -> Computation | None:
    """Returns the result as a function of the registers; None for other instructions."""
    operands = instruction.operands
    if name in SELECTIONS or name in _CHANGES:
        return _selection(operands, name)
    if name in FIELDS:
        return _field(operands, name)
    if name in ("mla", "mls"):
        return _multiplied(operands, name)
    if name in ONE_OPERAND:
        read = reader(instruction, operands[1:])
        return None if read is None else _of_one(read, ONE_OPERAND[name])
    if name in EXTENDED_SUMS:
        extend = ONE_OPERAND[EXTENDED_SUMS[name]]
        return _of_two(instruction, lambda one, two: one + extend(two))
    if name in BITWISE:
        return _of_two(instruction, BITWISE[name], partial(combined, name))
    both = OTHERS.get(name)
    if both is None and name in SHIFTS:
        shift = SHIFTS[name]

        def both(one: int, two: int) -> int:
            return shift(one, two & 255)

        return _of_two(instruction, both, partial(_shifted_bits, name))

    return None if both is None else _of_two(instruction, both)


def _shifted_bits(name: str, one: Value, two: Value) -> Value:
    return shifted(name, one, two & 255) if type(one) in (Partly, Few) and type(two) is int else None


def _of_one(read: Reader, compute: Callable[[int], int]) -> Computation:
    def result(registers: Registers) -> Value:
        one = read(registers.values)
        return compute(one) & WORD if type(one) is int else None

    def moved(registers: Registers) -> Value:
        return read(registers.values)

    return moved if compute in (ONE_OPERAND["mov"], ONE_OPERAND["movw"]) else result


def _sides(instruction: Instruction) -> tuple[Reader | None, Reader | None]:
    """Returns the readers of the two sources; the first one may also be the destination."""
    operands = instruction.operands
    is_first = sum(" " not in operand for operand in operands) == 2  # `add r1, r2, lsl #3`
    first, *second = operands if is_first else operands[1:]
    return reader(instruction, (first,)), reader(instruction, tuple(second))


def _of_two(
    instruction: Instruction,
    compute: Callable[[int, int], int],
    otherwise: Callable[[Value, Value], Value] = lambda one, two: None,
) -> Computation | None:
    """Returns the result of two sources as a function of the registers; `otherwise` computes it for sources that are not both
    known."""
    first, second = _sides(instruction)
    if first is None or second is None:
        return None

    def result(registers: Registers) -> Value:
        one, two = first(registers.values), second(registers.values)
        return compute(one, two) & WORD if type(one) is int and type(two) is int else otherwise(one, two)

    return result


def _field(operands: tuple[str, ...], name: str) -> Computation | None:
    _, source, *numbers = operands
    at, (first, bits) = register(source), map(immediate, numbers)
    if at is None or first is None or bits is None:
        return None
    compute = FIELDS[name]

    def result(registers: Registers) -> Value:
        one = registers.values[at]
        return compute(one, first, bits) & WORD if type(one) is int else None

    return result


def _selection(operands: tuple[str, ...], name: str) -> Computation | None:
    if name in _CHANGES:  # `cinc r0, r1, eq` is `csinc r0, r1, r1, ne`, and `cset r0, eq` has zero as its source
        target, *sources, changed = operands
        (source,) = sources or ("zr",)
        return _selection((target, source, source, opposite(changed)), _CHANGES[name])
    _, one_word, two_word, condition = operands
    first, second = _source(one_word), _source(two_word)
    if first is None or second is None:
        return None
    otherwise = SELECTIONS[name]

    def result(registers: Registers) -> Value:
        met = holds(condition, registers.flags)
        one, two = first(registers.values), second(registers.values)
        other = otherwise(two) & WORD if type(two) is int else two if name == "csel" else None
        return one if met else other if met is False else one if one == other else None

    return result


def _source(word: str) -> Reader | None:
    """Returns a reader of a register or of the zero register; None for another operand."""
    if word in ("zr", "pc"):
        return lambda values: 0
    at = register(word)
    return None if at is None else (lambda values: values[at])


def _multiplied(operands: tuple[str, ...], name: str) -> Computation | None:
    """Returns the result of `mla` and `mls`."""
    places = [register(operand) for operand in operands[1:]]
    if None in places:
        return None
    sign = 1 if name == "mla" else -1

    def product(registers: Registers) -> Value:
        one, two, three = (registers.values[place] for place in places if place is not None)
        return three + sign * one * two & WORD if type(one) is type(two) is type(three) is int else None

    return product


def _shift(instruction: Instruction, name: str, at: int) -> Operation:
    """Returns the effect of `lsrs r2, r2, #1`: C is the last bit that is shifted out, or unchanged without a shift."""
    first, second = _sides(instruction)
    assert first is not None and second is not None
    compute = SHIFTS[name]

    def assign(registers: Registers, memory: Memory) -> None:
        one, two = first(registers.values), second(registers.values)
        if type(one) is not int or type(two) is not int:
            result = _shifted_bits(name, one, two)
            registers.values[at], registers.flags = result, flags_of(result, None)
            return
        amount = two & 255
        carry = _pushed_out(name, one, amount) if amount else flag_bits(registers.flags)[_CARRY]
        result = compute(one, amount) & WORD
        registers.values[at], registers.flags = result, flags_of(result, carry)

    return assign


def _pushed_out(name: str, one: int, amount: int) -> bool:
    """Returns the last bit that a shift by at least 1 shifts out."""
    return bool(SHIFTS[name](one, amount - 1) & (SIGN if name == "lsl" else 1))


Carry = Callable[[Registers], bool | None]
_CARRY = 2  # among the bits of the flags
_ALWAYS_SAME = 256  # a constant below that is not rotated


def _shifted_carry(instruction: Instruction) -> Carry:
    """Returns the C flag after a logical instruction: the bit that a shifted operand shifts out, or the previous flag."""
    *_, source, last = ("", "", *instruction.operands)
    name, _, by = last.partition(" ")
    number, place = immediate(by) if by else immediate(last), register(source)
    if name in SHIFTS and number and place is not None:

        def pushed(registers: Registers) -> bool | None:
            one = registers.values[place]
            return _pushed_out(name, one, number) if type(one) is int else None

        return pushed
    if by or last == "rrx" or (number is not None and number & WORD >= _ALWAYS_SAME):
        return lambda registers: None
    return lambda registers: flag_bits(registers.flags)[_CARRY]


def _with_logical_flags(compute: Computation, at: int, carried: Carry) -> Operation:
    """Returns an operation that sets N and Z by the result and C by `carried`."""

    def assign(registers: Registers, memory: Memory) -> None:
        result, carry = compute(registers), carried(registers)
        registers.values[at] = result
        registers.flags = flags_of(result, carry)

    return assign


def _long_product(instruction: Instruction, name: str) -> Operation | None:
    """Returns the effect of `umull r0, r1, r2, r3` and the like, with a result of two words."""
    places = [register(operand) for operand in instruction.operands]
    if None in places:
        return None
    low, high, first, second = (place for place in places if place is not None)
    compute, adds = LONG_PRODUCTS[name], name.endswith("lal")

    def assign(registers: Registers, memory: Memory) -> None:
        values = registers.values
        one, two, before, above = values[first], values[second], values[low], values[high]
        values[low] = values[high] = None
        if type(one) is not int or type(two) is not int:
            return
        total = compute(one, two)
        if adds:
            if type(before) is not int or type(above) is not int:
                return
            total += above << 32 | before
        values[low], values[high] = total & WORD, total >> 32 & WORD

    return assign


_INSERTIONS = ("bfi", "bfc")


def _insertion(instruction: Instruction, at: int) -> Operation | None:
    """Returns the effect of `bfi r0, r1, #first, #bits`; `bfc` inserts zeros."""
    _, *sources, first_word, bits_word = instruction.operands
    first, bits, read = immediate(first_word), immediate(bits_word), _source(*sources or ("zr",))
    if first is None or bits is None or read is None:
        return None
    field = (1 << bits) - 1 << first

    def assign(registers: Registers, memory: Memory) -> None:
        one, two = registers.values[at], read(registers.values)
        registers.values[at] = one & ~field | two << first & field if type(one) is int and type(two) is int else None

    return assign


def _sum(instruction: Instruction, name: str, at: int, sets_flags: bool, objects: Objects) -> Operation | None:
    first, second = _sides(instruction)
    if first is None or second is None:
        return None
    compute, kind = SUMS[name], "sum" if name == "add" else "difference"

    def assign(registers: Registers, memory: Memory) -> None:
        one, two = first(registers.values), second(registers.values)
        if type(one) is int and type(two) is int:
            registers.values[at] = compute(one, two) & WORD
            if sets_flags:
                registers.flags = _flags(kind, one, two) if name != "rsb" else _flags(kind, two, one)
        else:
            registers.values[at] = _unknown_sum(name, one, two, objects)
            if sets_flags:
                registers.flags = None

    return assign


def _carrying(instruction: Instruction, name: str, at: int, sets_flags: bool) -> Operation | None:
    """Returns the effect of `adc` and `sbc`, which add C."""
    first, second = _sides(instruction)
    if first is None or second is None:
        return None

    doubles = name == "adc" and len({*instruction.operands[-2:]}) == 1

    def assign(registers: Registers, memory: Memory) -> None:
        one, two = first(registers.values), second(registers.values)
        carry = flag_bits(registers.flags)[_CARRY]
        if doubles and (carry is None or type(one) is not int):
            registers.values[at], out = doubled(one, carry)
            registers.flags = ("bits", None, None, out, None) if sets_flags else registers.flags
            return
        if type(one) is not int or type(two) is not int or carry is None:
            registers.values[at] = None
            registers.flags = None if sets_flags else registers.flags
            return
        registers.values[at] = one + (two if name == "adc" else two ^ WORD) + carry & WORD
        if sets_flags:
            registers.flags = ("sum" if name == "adc" else "difference", one, two, int(carry))

    return assign


def _unknown_sum(name: str, one: Value, two: Value, objects: Objects) -> Value:
    if isinstance(one, Few) and two == (1 if name == "sub" else WORD) and name != "rsb":
        return OneLess(one)
    return None if name == "rsb" else objects.near(one, two if name == "add" else None)


def _flags(kind: str, one: int, two: int) -> tuple:
    return kind, one, two, 0 if kind == "sum" else 1


def comparison(instruction: Instruction, name: str, objects: Objects, raw: int) -> Operation | None:
    """Returns the effect of `cmp`, `cmn`, `tst` and `teq`; None for other instructions."""
    if name not in _COMPARISONS and name not in _TESTS:
        return None
    first, second = reader(instruction, instruction.operands[:1]), reader(instruction, instruction.operands[1:])
    if first is None or second is None:
        return None
    kind, test, carried = _COMPARISONS.get(name, ""), BITWISE.get(_TESTS.get(name, "")), _shifted_carry(instruction)

    def compare(registers: Registers, memory: Memory) -> None:
        one, two = first(registers.values), second(registers.values)
        if type(one) is not int or type(two) is not int:
            registers.flags = flags_of(combined(_TESTS[name], one, two), None) if test else flags_of_comparison(one, two)
        elif test:
            registers.flags = ("logical", test(one, two) & WORD, carried(registers))
        else:
            registers.flags = _flags(kind, one, two)

    return compare
