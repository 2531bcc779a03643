# SPDX-License-Identifier: MIT
"""Loads of two registers as two loads, for a core that issues a load of two registers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from aidge_build.build.ordering.lines import Moved, moved_instruction
from aidge_build.build.ordering.order import best_order
from aidge_build.contract.thumb.instruction import Instruction, immediate, memory_operand
from aidge_build.prove.timing.table import ALONE, TimingTable

_SHARE = 18  # instructions for each one more: whole models execute at most 5 % more
_FARTHEST = 255  # bytes by which LDR can move its address, or load below it

Line = tuple[int, str]  # the number of an instruction; its new text, "" if it stays


class _Pair(NamedTuple):
    """A load of the words at `base` + `offset` to two registers, after which the address moves."""

    low: str
    high: str
    base: str
    offset: int
    move: int


def best_lines(table: TimingTable, moved: Sequence[Moved], jump: Instruction | None, may_grow: bool = True) -> list[Line]:
    """Returns straight instructions in the order, and with the loads divided, that take the fewest cycles.

    Loads next to each other are divided: a step of a loop gains most if it waits for no pair at all.
    """
    divides = may_grow and table.kinds["load_pair"].slot == ALONE
    pairs = {number: pair for number, one in enumerate(moved) if divides and (pair := _pair(one.instruction))}
    numbers, count = [*pairs], min(len(moved) // _SHARE, len(pairs))
    starts = (*range(0, len(pairs) - count, count), len(pairs) - count) if count else ()
    choices: list[list[int]] = [[], *(numbers[start : start + count] for start in starts)]
    found = [_ordered(table, moved, jump, {number: pairs[number] for number in divided}) for divided in choices]
    return min(found, key=lambda one: one[0])[1]


def _ordered(
    table: TimingTable, moved: Sequence[Moved], jump: Instruction | None, divided: Mapping[int, _Pair]
) -> tuple[int, list[Line]]:
    """Returns (cycles, lines) with these loads divided."""
    halves: dict[int, tuple[str, str]] = {}
    for group in _groups(moved, divided):
        halves |= _halves({number: divided[number] for number in group})
    lines = [(number, text) for number in range(len(moved)) for text in halves.get(number, ("",))]
    known = [moved_instruction(text) or moved[number] if text else moved[number] for number, text in lines]
    cycles, order = best_order(table, known, jump)
    return cycles + len(divided), [lines[number] for number in order]


def _pair(instruction: Instruction) -> _Pair | None:
    """Returns a load of two registers that two loads can replace; None for any other instruction."""
    if instruction.mnemonic != "ldrd" or not instruction.operands[2:]:
        return None
    low, high, address, *after = instruction.operands
    base, words, moves_before = memory_operand(address)
    offset, move = (immediate(word[0]) if word else 0 for word in (words, after))
    if moves_before or offset is None or move is None or abs(move) > _FARTHEST or offset < -_FARTHEST:
        return None
    return _Pair(low, high, base, offset, move)


def _groups(moved: Sequence[Moved], divided: Mapping[int, _Pair]) -> list[list[int]]:
    """Returns the numbers of divided loads, grouped: the first load of a group moves the address for all of them. Nothing between
    them reads or writes the address."""
    groups: list[list[int]] = []
    latest: dict[str, list[int]] = {}  # by the register with the address
    for number, one in enumerate(moved):
        pair, group = divided.get(number), None
        if pair is not None:
            group = latest.get(pair.base)
            if group is None or not _is_near([*(divided[each] for each in group), pair]):
                group = []
                groups.append(group)
            group.append(number)
        for register, _ in (*one.work.reads, *one.work.writes):
            latest.pop(register, None)
        if pair is not None and group is not None and divided[group[0]].move and pair.base not in (pair.low, pair.high):
            latest[pair.base] = group
    return groups


def _offsets(group: Sequence[_Pair]) -> list[int]:
    """Returns where each pair loads from, counted from the address after the last one."""
    places = accumulate((pair.move for pair in group), initial=-sum(pair.move for pair in group))
    return [place + pair.offset for place, pair in zip(places, group, strict=False)]


def _is_near(group: Sequence[_Pair]) -> bool:
    """Whether LDR can say all these offsets, and the bytes by which the address moves."""
    return abs(sum(pair.move for pair in group)) <= _FARTHEST and min(_offsets(group)) >= -_FARTHEST


def _halves(group: Mapping[int, _Pair]) -> dict[int, tuple[str, str]]:
    """Returns the two loads that replace each load of a group."""
    found: dict[int, tuple[str, str]] = {}
    total = sum(pair.move for pair in group.values())
    for (number, pair), offset in zip(group.items(), _offsets([*group.values()]), strict=True):
        is_moving = total and not found
        first = f"ldr {pair.low}, [{pair.base}" + (f"], #{total}" if is_moving else f", #{offset}]")
        second = f"ldr {pair.high}, [{pair.base}, #{offset + 4}]"
        found[number] = (second, first) if pair.low == pair.base else (first, second)
    return found
