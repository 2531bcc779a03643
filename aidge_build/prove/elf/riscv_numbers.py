# SPDX-License-Identifier: MIT
"""The results of instructions for known numbers, by the RISC-V Instruction Set Manual, volume I, version 20240411."""

from __future__ import annotations

import operator
from collections.abc import Callable

from aidge_build.prove.elf.state import WORD, signed

_BITS = 32


def _rotated(number: int, amount: int) -> int:
    """Returns a word with its bits moved to the right, and the lowest ones to the top."""
    amount %= _BITS
    return number >> amount | number << _BITS - amount


def _quotient(one: int, two: int) -> int:
    """Returns the quotient of signed words, rounded towards zero; -1 for a division by zero."""
    if two == 0:
        return WORD
    quotient = abs(signed(one)) // abs(signed(two))
    return -quotient if signed(one ^ two) < 0 else quotient


def _remainder(one: int, two: int) -> int:
    return one if two == 0 else signed(one) - signed(two) * _quotient(one, two)


# Operations on two words; the caller cuts results to 32 bits. The names of immediate operations have an i at their end.
OF_TWO: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "andn": lambda one, two: one & ~two,
    "orn": lambda one, two: one | ~two,
    "xnor": lambda one, two: ~(one ^ two),
    "sll": lambda one, two: one << (two & 31),
    "srl": lambda one, two: one >> (two & 31),
    "sra": lambda one, two: signed(one) >> (two & 31),
    "rol": lambda one, two: _rotated(one, -two),
    "ror": _rotated,
    "mul": operator.mul,
    "mulh": lambda one, two: signed(one) * signed(two) >> _BITS,
    "mulhsu": lambda one, two: signed(one) * two >> _BITS,
    "mulhu": lambda one, two: one * two >> _BITS,
    "div": _quotient,
    "divu": lambda one, two: one // two if two else WORD,
    "rem": _remainder,
    "remu": lambda one, two: one % two if two else one,
    "sh1add": lambda one, two: (one << 1) + two,
    "sh2add": lambda one, two: (one << 2) + two,
    "sh3add": lambda one, two: (one << 3) + two,
    "min": lambda one, two: min(one, two, key=signed),
    "minu": min,
    "max": lambda one, two: max(one, two, key=signed),
    "maxu": max,
    "pack": lambda one, two: two << 16 | one & 0xFFFF,
    "slt": lambda one, two: signed(one) < signed(two),
    "sltu": operator.lt,
    "bset": lambda one, two: one | 1 << (two & 31),
    "bclr": lambda one, two: one & ~(1 << (two & 31)),
    "binv": lambda one, two: one ^ 1 << (two & 31),
    "bext": lambda one, two: one >> (two & 31) & 1,
}
IMMEDIATES = {f"{name}i": name for name in OF_TWO} | {"sltiu": "sltu"}
OF_ONE: dict[str, Callable[[int], int]] = {
    "clz": lambda one: _BITS - one.bit_length(),
    "ctz": lambda one: (one & -one).bit_length() - 1 if one else _BITS,
    "cpop": int.bit_count,
    "sext.b": lambda one: signed(one << 24) >> 24,
    "sext.h": lambda one: signed(one << 16) >> 16,
    "orc.b": lambda one: sum(0xFF << shift for shift in range(0, _BITS, 8) if one >> shift & 0xFF),
    "rev8": lambda one: int.from_bytes(one.to_bytes(4, "little"), "big"),
}
# Whether branches are taken.
CONDITIONS: dict[str, Callable[[int, int], bool]] = {
    "beq": operator.eq,
    "bne": operator.ne,
    "bltu": operator.lt,
    "bgeu": operator.ge,
    "blt": lambda one, two: signed(one) < signed(two),
    "bge": lambda one, two: signed(one) >= signed(two),
}
