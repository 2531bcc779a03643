# SPDX-License-Identifier: MIT
"""Loads of two registers as two loads, for a core that issues a load of two registers alone, or overlaps loads in a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from aidge_build.build.ordering.lines import Moved, moved_instruction
from aidge_build.build.ordering.order import best_order
from aidge_build.contract.thumb.instruction import Instruction, immediate, memory_operand
from aidge_build.prove.timing.table import ALONE, TimingTable

_MORE_ALONE = 0.106  # of the instructions of a run may be added: whole models then execute at most 5 % more
_MORE_IN_ROWS = 0.051
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
    """Returns straight instructions in the order, and with the loads divided, that take the fewest cycles."""
    pairs = {number: pair for number, one in enumerate(moved) if may_grow and (pair := _pair(one.instruction))}
    choices = [[], *_choices(table, moved, [*pairs])]
    found = [_ordered(table, moved, jump, {number: pairs[number] for number in divided}) for divided in choices]
    return min(found, key=lambda one: one[0])[1]


def _choices(table: TimingTable, moved: Sequence[Moved], numbers: Sequence[int]) -> list[Sequence[int]]:
    """Returns lists of the loads that may be divided, if two loads can take fewer cycles.

    If the core issues a pair alone, they are neighbours: a step of a loop gains most if it waits for no pair at all.
    If it needs more cycles for a pair than for two more loads in a row, they are loads that precede or follow another load.
    """
    if _is_alone(table):
        count = min(int(_MORE_ALONE * len(moved)), len(numbers))
        starts = (*range(0, len(numbers) - count, count), len(numbers) - count) if count else ()
        return [numbers[start : start + count] for start in starts]
    is_slow = table.kinds["load_pair"].cycles > 2 * table.kinds["load"].cycles
    return [_in_rows(moved, numbers)[: int(_MORE_IN_ROWS * len(moved))]] if is_slow else []


def _is_alone(table: TimingTable) -> bool:
    """Whether the core issues a load of two registers with nothing else."""
    return table.kinds["load_pair"].slot == ALONE


def _in_rows(moved: Sequence[Moved], numbers: Sequence[int]) -> list[int]:
    """Returns the loads of pairs that are next to a load of a word, then the other pairs that are next to each other."""

    def is_next_to(kind: str, number: int) -> bool:
        return kind in [moved[other].work.kind for other in (number - 1, number + 1) if 0 <= other < len(moved)]

    first = [number for number in numbers if is_next_to("load", number)]
    return first + [number for number in numbers if number not in first and is_next_to("load_pair", number)]


def _ordered(
    table: TimingTable, moved: Sequence[Moved], jump: Instruction | None, divided: Mapping[int, _Pair]
) -> tuple[int, list[Line]]:
    """Returns (price, lines) with these loads divided. The price is the cycles, and if the core issues a pair alone, where most
    divided loads save cycles, one more for each further instruction."""
    halves: dict[int, tuple[str, str]] = {}
    for group in _groups(moved, divided):
        halves |= _halves({number: divided[number] for number in group}, table.kinds["load"].address < 0)
    lines = [(number, text) for number in range(len(moved)) for text in halves.get(number, ("",))]
    known = [moved_instruction(text) or moved[number] if text else moved[number] for number, text in lines]
    cycles, order = best_order(table, known, jump)
    return cycles + len(divided) * _is_alone(table), [lines[number] for number in order]


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


def _halves(group: Mapping[int, _Pair], address_is_late: bool) -> dict[int, tuple[str, str]]:
    """Returns the two loads that replace each load of a group. `address_is_late`: the address waits for its move."""
    found: dict[int, tuple[str, str]] = {}
    total = sum(pair.move for pair in group.values())
    for (number, pair), offset in zip(group.items(), _offsets([*group.values()]), strict=True):
        is_moving = total and not found
        is_swapped = is_moving and address_is_late
        high_offset = 4 if is_swapped else offset + 4
        first = f"ldr {pair.low}, [{pair.base}" + (f"], #{total}" if is_moving else f", #{offset}]")
        second = f"ldr {pair.high}, [{pair.base}, #{high_offset}]"
        found[number] = (second, first) if is_swapped or pair.low == pair.base else (first, second)
    return found
