# SPDX-License-Identifier: MIT
"""The results of instructions for known numbers, by the Armv7-M and Armv8-M manuals (DDI 0403, DDI 0553)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from aidge_build.prove.elf.state import signed
from aidge_build.prove.longest.values import SIGN


def _rotated(number: int, amount: int) -> int:
    amount %= 32
    return number >> amount | number << 32 - amount


def _divided(one: int, two: int) -> int:
    if two == 0:
        return 0
    quotient = abs(signed(one)) // abs(signed(two))
    return -quotient if (one ^ two) & SIGN else quotient


def _extended(number: int, bits: int) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> bits - 1 else number


def _reversed(number: int) -> int:
    return int(f"{number:032b}"[::-1], 2)


# The caller cuts results to 32 bits.
SHIFTS: dict[str, Callable[[int, int], int]] = {
    "lsl": lambda one, two: one << two,
    "lsr": lambda one, two: one >> two,
    "asr": lambda one, two: signed(one) >> two,
    "ror": _rotated,
}
SUMS: dict[str, Callable[[int, int], int]] = {
    "add": lambda one, two: one + two,
    "sub": lambda one, two: one - two,
    "rsb": lambda one, two: two - one,
}
BITWISE: dict[str, Callable[[int, int], int]] = {
    "and": lambda one, two: one & two,
    "orr": lambda one, two: one | two,
    "eor": lambda one, two: one ^ two,
    "bic": lambda one, two: one & ~two,
    "orn": lambda one, two: one | ~two,
}


def _half(number: int, top: bool) -> int:
    return _extended(number >> 16 if top else number, 16)


def _half_product(first_top: bool, second_top: bool, one: int, two: int) -> int:
    return _half(one, first_top) * _half(two, second_top)


def _half_reversed(number: int) -> int:
    return (number & 0xFF00FF) << 8 | number >> 8 & 0xFF00FF


OTHERS: dict[str, Callable[[int, int], int]] = {
    "mul": lambda one, two: one * two,
    "udiv": lambda one, two: one // two if two else 0,
    "sdiv": _divided,
    "movt": lambda one, two: two << 16 | one & 0xFFFF,
    "smmul": lambda one, two: signed(one) * signed(two) >> 32,
    **{f"smul{'bt'[one]}{'bt'[two]}": partial(_half_product, one, two) for one in (False, True) for two in (False, True)},
}
# The product of two words, as low and high word. Instructions with an "a" in their name add it to these words.
LONG_PRODUCTS: dict[str, Callable[[int, int], int]] = {
    "umull": lambda one, two: one * two,
    "smull": lambda one, two: signed(one) * signed(two),
    "umlal": lambda one, two: one * two,
    "smlal": lambda one, two: signed(one) * signed(two),
}
ONE_OPERAND: dict[str, Callable[[int], int]] = {
    "mov": lambda one: one,
    "movw": lambda one: one,
    "mvn": lambda one: ~one,
    "neg": lambda one: -one,
    "uxtb": lambda one: one & 0xFF,
    "uxth": lambda one: one & 0xFFFF,
    "sxtb": lambda one: _extended(one, 8),
    "sxth": lambda one: _extended(one, 16),
    "clz": lambda one: 32 - one.bit_length(),
    "rbit": _reversed,
    "rev16": _half_reversed,
    "revsh": lambda one: _extended(_half_reversed(one), 16),
    "rev": lambda one: int.from_bytes(one.to_bytes(4, "little"), "big"),
}
# The extension of the last operand, which is then added to the operand before it.
EXTENDED_SUMS = {"uxtab": "uxtb", "uxtah": "uxth", "sxtab": "sxtb", "sxtah": "sxth"}
# Bit fields of (source, first bit, number of bits).
FIELDS: dict[str, Callable[[int, int, int], int]] = {
    "ubfx": lambda one, first, bits: one >> first & (1 << bits) - 1,
    "sbfx": lambda one, first, bits: _extended(one >> first, bits),
}
# The result of csel, csinc, csinv and csneg from the second source, if the condition is not met.
SELECTIONS: dict[str, Callable[[int], int]] = {
    "csel": lambda two: two,
    "csinc": lambda two: two + 1,
    "csinv": lambda two: ~two,
    "csneg": lambda two: -two,
}
