# SPDX-License-Identifier: MIT
"""The arithmetic of words, compared with other ways to compute the same: lists of bits, bytes, fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

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
    signed,
)
from aidge_build.prove.longest.values import WORD

EDGES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8001, 0xFFFE, 0x12345678, 0x7FFFFFFF, 0x80000000, 0x9ABCDEF0, 0xFFFFFFFE, WORD)
PAIRS = [(one, two) for one in EDGES for two in EDGES]


def bits(number: int) -> list[int]:
    return [number >> place & 1 for place in range(32)]


def number_of(found: list[int]) -> int:
    return sum(bit << place for place, bit in enumerate(found))


def integer(number: int, first: int = 0, end: int = 4, is_signed: bool = True) -> int:
    """The number in some bytes of a word."""
    return int.from_bytes(number.to_bytes(4, "little")[first:end], "little", signed=is_signed)


def quotient(one: int, two: int) -> int:
    return math.trunc(Fraction(one, two)) if two else 0


SHIFTED = {
    "lsl": lambda one, by: ([0] * by + one)[:32],
    "lsr": lambda one, by: (one + [0] * by)[by:],
    "asr": lambda one, by: (one + one[-1:] * by)[by:],
    "ror": lambda one, by: [one[(place + by) % 32] for place in range(32)],
}
OF_TWO = {
    "add": lambda one, two: one + two,
    "sub": lambda one, two: one - two,
    "rsb": lambda one, two: two - one,
    "mul": lambda one, two: one * two,
    "udiv": quotient,
    "sdiv": lambda one, two: quotient(integer(one), integer(two)),
    "movt": lambda one, two: integer(one, 0, 2, False) + 65536 * two,
    "smmul": lambda one, two: math.floor(Fraction(integer(one) * integer(two), 1 << 32)),
    "smulbb": lambda one, two: integer(one, 0, 2) * integer(two, 0, 2),
    "smulbt": lambda one, two: integer(one, 0, 2) * integer(two, 2, 4),
    "smultb": lambda one, two: integer(one, 2, 4) * integer(two, 0, 2),
    "smultt": lambda one, two: integer(one, 2, 4) * integer(two, 2, 4),
}
OF_ONE = {
    "mov": lambda one: one,
    "movw": lambda one: one,
    "mvn": lambda one: -1 - one,
    "neg": lambda one: 0 - one,
    "uxtb": lambda one: integer(one, 0, 1, False),
    "uxth": lambda one: integer(one, 0, 2, False),
    "sxtb": lambda one: integer(one, 0, 1),
    "sxth": lambda one: integer(one, 0, 2),
    "clz": lambda one: (bits(one)[::-1] + [1]).index(1),
    "rbit": lambda one: number_of(bits(one)[::-1]),
    "rev16": lambda one: number_of([bits(one)[place ^ 8] for place in range(32)]),
    "revsh": lambda one: int.from_bytes(one.to_bytes(4, "little")[:2], "big", signed=True),
    "rev": lambda one: number_of([bits(one)[place ^ 24] for place in range(32)]),
}
OF_BITS = {
    "and": lambda one, two: one == two == 1,
    "orr": lambda one, two: one + two > 0,
    "eor": lambda one, two: one != two,
    "bic": lambda one, two: one > two,
    "orn": lambda one, two: one >= two,
}


def test_these_are_all_operations() -> None:
    assert {*SHIFTS} == {*SHIFTED} and {*SUMS, *OTHERS} == {*OF_TWO} and {*ONE_OPERAND} == {*OF_ONE} and {*BITWISE} == {*OF_BITS}


@pytest.mark.parametrize("name", SHIFTED)
def test_a_shift_moves_bits_and_a_long_one_all_of_them(name: str) -> None:
    for one in EDGES:
        for by in (*range(34), 63, 64, 65, 255):
            assert SHIFTS[name](one, by) & WORD == number_of(SHIFTED[name](bits(one), by)), (one, by)


@pytest.mark.parametrize("name", OF_TWO)
def test_an_operation_on_two_words_computes_what_the_manual_says(name: str) -> None:
    for one, two in PAIRS:
        assert ({**SUMS, **OTHERS}[name](one, two) - OF_TWO[name](one, two)) % (1 << 32) == 0, (one, two)


@pytest.mark.parametrize("name", OF_BITS)
def test_a_bitwise_operation_takes_each_pair_of_bits(name: str) -> None:
    for one, two in PAIRS:
        expected = number_of([OF_BITS[name](*pair) for pair in zip(bits(one), bits(two), strict=True)])
        assert BITWISE[name](one, two) & WORD == expected


@pytest.mark.parametrize("name", OF_ONE)
def test_an_operation_on_a_word_computes_what_the_manual_says(name: str) -> None:
    assert [ONE_OPERAND[name](one) & WORD for one in EDGES] == [OF_ONE[name](one) & WORD for one in EDGES]


def test_a_product_of_two_words_is_signed_or_not_and_a_sum_extends_bytes_or_halfwords() -> None:
    for one, two in PAIRS:
        signs = {name: LONG_PRODUCTS[name](one, two) for name in LONG_PRODUCTS}
        product, unsigned = integer(one) * integer(two), one * two
        assert signs == {"umull": unsigned, "umlal": unsigned, "smull": product, "smlal": product}
    assert all(signed(one) == integer(one) for one in EDGES)
    assert EXTENDED_SUMS == {f"{kind}a{width}": f"{kind}{width}" for kind in ("uxt", "sxt") for width in "bh"}


@pytest.mark.parametrize("first, count", [(0, 1), (0, 32), (3, 5), (8, 8), (31, 1), (30, 2)])
def test_a_bit_field_is_cut_out_with_or_without_its_sign(first: int, count: int) -> None:
    for one in EDGES:
        field = number_of(bits(one)[first : first + count])
        assert FIELDS["ubfx"](one, first, count) == field
        assert FIELDS["sbfx"](one, first, count) == field - (bits(one)[first + count - 1] << count)


def test_a_selection_gives_the_second_source_as_it_is_or_changed_by_one_operation() -> None:
    assert {name: SELECTIONS[name](5) for name in SELECTIONS} == {"csel": 5, "csinc": 6, "csinv": -6, "csneg": -5}
