# SPDX-License-Identifier: MIT
"""Partly known numbers and flags: a bit is known exactly if all numbers and flags that are possible agree in it."""

from __future__ import annotations

from itertools import product

import pytest

from aidge_build.prove.longest.thumb.arithmetic import BITWISE
from aidge_build.prove.longest.values import (
    WORD,
    Few,
    Objects,
    Partly,
    assumed,
    combined,
    doubled,
    few,
    flag_bits,
    flags_of,
    flags_of_comparison,
    holds,
    joined_flags,
    known_of,
    opposite,
    partly,
    shifted,
)

BIT = (False, True, None)  # None: unknown
CONDITIONS = ("eq", "ne", "cs", "hs", "cc", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al")


def possible(bit: bool | None) -> tuple[bool, ...]:
    return (False, True) if bit is None else (bit,)


def agreed(values) -> bool | None:
    """The value that all of these are; None if they differ."""
    found = {*values}
    return found.pop() if len(found) == 1 else None


def number(bits) -> object:
    """The number with these bits, the lowest one first, and zeros above."""
    places = [*bits, *[False] * (32 - len(bits))]
    mask = sum((bit is not None) << place for place, bit in enumerate(places))
    return partly(mask, sum(bool(bit) << place for place, bit in enumerate(places)))


def bits(value) -> list[bool | None]:
    known = known_of(value)
    return [bool(known.bits >> place & 1) if known.mask >> place & 1 else None for place in range(32)]


# All pairs of bits, in the low half of words; unknown bits, ones and zeros above.
ONE, TWO = ([*column, None, True, False, None] * 2 for column in zip(*product(BIT, repeat=2), strict=True))


def test_a_number_with_all_bits_known_is_a_number_and_one_with_none_is_not_known() -> None:
    assert partly(WORD, 5) == 5 and partly(-1, -1) == WORD and partly(0, 5) is None and partly(1 << 32, 1) is None
    assert partly(6, 5) == Partly(6, 4) and bits(None) == [None] * 32 and bits(5) == [True, False, True] + [False] * 29
    assert bits(Few(1, 6)) == [False, None, None] + [False] * 29
    assert (
        few(0) == 0 and few(32) is None and few(1).most == 1 and (few(31, 7).most, few(31, 7).mask) == (3, 7) and few(3, 0) == 0
    )


@pytest.mark.parametrize("name", BITWISE)
def test_a_bit_of_a_bitwise_operation_is_known_if_the_known_bits_decide_it(name: str) -> None:
    found = bits(combined(name, number(ONE), number(TWO)))
    pairs = [*zip(bits(number(ONE)), bits(number(TWO)), strict=True)]
    assert found == [
        agreed(bool(BITWISE[name](*two) & 1) for two in product(possible(first), possible(second))) for first, second in pairs
    ]


@pytest.mark.parametrize("by", [0, 1, 5, 31, 32, 33, 255])
def test_shifted_bits_are_known_where_they_come_from_known_ones_or_from_outside(by: int) -> None:
    for value in (number(ONE), number(ONE[:3])):
        assert bits(shifted("lsl", value, by)) == ([False] * by + bits(value))[:32]
        assert bits(shifted("lsr", value, by)) == (bits(value) + [False] * by)[by:]
        assert shifted("asr", value, by) is None
    top = Partly(1 << 31, 1 << 31)
    assert bits(shifted("lsr", top, 1)) == [None] * 30 + [True, False]


@pytest.mark.parametrize("carry", BIT)
def test_twice_a_number_takes_the_carry_in_and_gives_the_top_bit_out(carry: bool | None) -> None:
    for top in BIT:
        value = number([*ONE, *[None] * (31 - len(ONE)), top])
        twice, out = doubled(value, carry)
        assert bits(twice) == [carry, *bits(value)[:-1]] and out is top


@pytest.mark.parametrize("keeps_bits", [False, True])
def test_a_number_that_is_one_of_two_keeps_the_bits_in_which_they_agree(keeps_bits: bool) -> None:
    objects = Objects((), keeps_bits)
    pairs = [*zip(bits(number(ONE)), bits(number(TWO)), strict=True)]
    for one, two in ((number(ONE), number(TWO)), (number(TWO), number(ONE))):
        assert bits(objects.joined(one, two)) == [agreed((*possible(first), *possible(second))) for first, second in pairs]
    assert objects.joined(12, 10) == (Partly(WORD ^ 6, 8) if keeps_bits else None)
    assert objects.joined(12, None) is None
    mixed = objects.joined(Few(3, 7), 12)
    assert (mixed.most, mixed.mask) == (3, 15) and objects.joined(Few(3, 7), None) is None
    assert objects.joined(Few(1, 1), 0xFF).most == 8


def test_the_flags_of_a_result_are_known_as_far_as_its_bits_are() -> None:
    for carry in BIT:
        assert flags_of(None, carry) is None
        assert flag_bits(flags_of(0, carry)) == (False, True, carry, None)
        assert flag_bits(flags_of(1 << 31, carry)) == (True, False, carry, None)
        assert flag_bits(flags_of(Partly(1, 0), carry)) == (None, None, carry, None)
        assert flag_bits(flags_of(Partly(1, 1), carry)) == (None, False, carry, None)
        assert flag_bits(flags_of(Partly(1 << 31, 0), carry)) == (False, None, carry, None)
        assert flag_bits(flags_of(Partly(1 << 31, 1 << 31), carry)) == (True, False, carry, None)


def test_numbers_with_a_different_known_bit_are_not_equal_and_nothing_else_is_known_of_a_comparison() -> None:
    for one, two in product((5, Partly(6, 4), Partly(6, 2), Partly(1, 1), Few(1, 2), None), repeat=2):
        differ = any(False in pair and True in pair for pair in zip(bits(one), bits(two), strict=True))
        assert flag_bits(flags_of_comparison(one, two)) == (None, False if differ else None, None, None), (one, two)


def met(condition: str, n: bool, z: bool, c: bool, v: bool) -> bool:
    """The table of the manual (DDI 0403, A7.3)."""
    table = {"eq": z, "cs": c, "hs": c, "mi": n, "vs": v, "hi": c and not z, "ge": n == v, "gt": n == v and not z, "al": True}
    inverse = {"ne": "eq", "cc": "cs", "lo": "cs", "pl": "mi", "vc": "vs", "ls": "hi", "lt": "ge", "le": "gt"}
    return not table[inverse[condition]] if condition in inverse else table[condition]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_is_known_if_all_possible_flags_decide_it(condition: str) -> None:
    for known in product(BIT, repeat=4):
        every = [*product(*map(possible, known))]
        assert holds(condition, ("bits", *known)) is agreed(met(condition, *flags) for flags in every)
        if condition != "al":
            assert holds(condition, ("bits", *known)) is not holds(opposite(condition), ("bits", *known)) or None in known
            kept = flag_bits(assumed(condition, ("bits", *known)))
            allowed = [flags for flags in every if met(condition, *flags)]
            assert not allowed or all(bit in (None, agreed(column)) for bit, column in zip(kept, zip(*allowed), strict=True))
            assert all(bit is not None or before is None for bit, before in zip(kept, known, strict=True))


def test_flags_of_two_paths_are_known_where_they_agree() -> None:
    for one, two in zip(product(BIT, repeat=4), reversed([*product(BIT, repeat=4)]), strict=True):
        for first, second in ((one, two), (two, (True, False, None, None))):
            expected = tuple(a if a == b else None for a, b in zip(first, second, strict=True))
            assert flag_bits(joined_flags(("bits", *first), ("bits", *second))) == expected
