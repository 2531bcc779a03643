# SPDX-License-Identifier: MIT
"""Loads of two registers as two loads, for a core that issues a load of two registers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aidge_build.build.ordering.lines import Moved, moved_instruction
from aidge_build.build.ordering.order import best_order
from aidge_build.prove.elf.disassembly import Instruction, immediate, memory_operand
from aidge_build.prove.timing.table import ALONE, TimingTable

_SHARE = 18  # instructions for each one more
_FARTHEST = 255  # bytes by which LDR moves its address, or goes back

Line = tuple[int, str]  # the number of an instruction; the text that takes its place, "" if it stays


def best_lines(table: TimingTable, moved: Sequence[Moved], jump: Instruction | None) -> list[Line]:
    """Returns straight instructions in the order, and with the loads divided, that take the fewest cycles.

    At most one of 16 instructions is divided. Neighbours are: a step of a loop gains most if it waits for no pair at all.
    """
    halves = {number: parts for number, one in enumerate(moved) if (parts := _halves(table, one.instruction))}
    pairs, count = [*halves], min(len(moved) // _SHARE, len(halves))
    starts = (*range(0, len(pairs) - count, count), len(pairs) - count) if count else ()
    choices: list[list[int]] = [[], *(pairs[start : start + count] for start in starts)]
    found = [_ordered(table, moved, jump, {number: halves[number] for number in divided}) for divided in choices]
    return min(found, key=lambda one: one[0])[1]


def _ordered(
    table: TimingTable, moved: Sequence[Moved], jump: Instruction | None, halves: Mapping[int, tuple[str, str]]
) -> tuple[int, list[Line]]:
    """Returns (cycles, lines) with these instructions divided."""
    lines = [(number, text) for number in range(len(moved)) for text in halves.get(number, ("",))]
    known = [moved_instruction(text) or moved[number] if text else moved[number] for number, text in lines]
    cycles, order = best_order(table, known, jump)
    return cycles, [lines[number] for number in order]


def _halves(table: TimingTable, pair: Instruction) -> tuple[str, str] | None:
    """Returns two loads that together do what `pair` does; None if it is no load of two registers, or one that the core does not
    issue alone. The first one moves the address; the last one overwrites it."""
    if pair.mnemonic != "ldrd" or table.kinds["load_pair"].slot != ALONE or not pair.operands[2:]:
        return None
    low, high, address, *after = pair.operands
    base, words, moves_before = memory_operand(address)
    offset = immediate(words[0]) if words else 0
    move = immediate(after[0]) if after else offset if moves_before else 0
    if offset is None or move is None or abs(move) > _FARTHEST or offset < -_FARTHEST:
        return None
    first = f"ldr {low}, " + ", ".join((address, *after))
    second = f"ldr {high}, [{base}, #{offset + 4 - move}]"
    return (second, first) if low == base else (first, second)
