# SPDX-License-Identifier: MIT
"""The order of straight instructions that takes the fewest cycles by a core's timing table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from aidge_build.build.ordering.dependences import dependences
from aidge_build.build.ordering.lines import Moved
from aidge_build.contract.thumb.instruction import Instruction
from aidge_build.prove.timing.pipeline import Operation, block_cycles, is_shadowed, joins, operation_of
from aidge_build.prove.timing.table import ANY, FIRST, LAST, TimingTable


def best_order(table: TimingTable, moved: Sequence[Moved], jump: Instruction | None) -> tuple[int, list[int]]:
    """Returns the cycles and the numbers of the instructions in their new order: the old one unless another takes fewer cycles.

    moved: straight code. jump: the branch that follows it and leads to its first instruction, if it is the body of a loop.
    """
    operations = [operation_of(table, one.instruction) for one in moved]
    followers = dependences(moved, operations)
    old, unit = list(range(len(moved))), _busiest(operations)
    heights, work = _heights(operations, followers), _work_below(operations, followers, unit)
    both = [height + below for height, below in zip(heights, work, strict=True)]
    more = [height + below for height, below in zip(heights, both, strict=True)]
    tries = [("", heights), (unit, heights), *([("", both), (unit, both), (unit, more)] if both != heights else [])]
    orders = [old, *(_listed(table, operations, followers, *each) for each in tries)]
    found = [(_cycles(table, [moved[number].instruction for number in order], jump), order) for order in orders]
    return min(found, key=lambda one: one[0])


def _cycles(table: TimingTable, instructions: list[Instruction], jump: Instruction | None) -> int:
    block = [*instructions, jump] if jump else instructions
    return block_cycles(table, block if jump else (), block, jump is not None)


def _heights(operations: Sequence[Operation], followers: Sequence[dict[int, int]]) -> list[int]:
    """Returns the cycles from the issue of each instruction to the end of the longest chain that begins with it."""
    heights = [0] * len(operations)
    for number in reversed(range(len(operations))):
        heights[number] = max(
            (heights[other] + max(wait, 0) for other, wait in followers[number].items()), default=_latency(operations[number])
        )
    return heights


def _work_below(operations: Sequence[Operation], followers: Sequence[dict[int, int]], unit: str) -> list[int]:
    """Returns for how many cycles the instructions that must come after each one hold the unit; 0 where one cycle is enough."""
    below, after = [0] * len(operations), [0] * len(operations)  # as bits of a number
    held = {number: each.hold for number, each in enumerate(operations) if (unit,) in each.units and each.hold > 1}
    for number in reversed(range(len(operations))):
        for other in followers[number]:
            after[number] |= after[other] | 1 << other
        below[number] = sum(hold for other, hold in held.items() if after[number] >> other & 1)
    return below


def _busiest(operations: Sequence[Operation]) -> str:
    """Returns the unit that the operations occupy for the most cycles, apart from operations with a choice; "" if none does."""
    held = Counter[str]()
    for operation in operations:
        for units in operation.units:
            held[units[0]] += operation.hold if len(units) == 1 else 0
    return max(held, key=lambda unit: held[unit], default="")


def _listed(
    table: TimingTable, operations: Sequence[Operation], followers: Sequence[dict[int, int]], unit: str, heights: Sequence[int]
) -> list[int]:
    """Returns the order in which always the instruction comes next that the core can issue first. Among several it is one for
    `unit`, then one that must be the first of its cycle, then the one with the greatest height."""
    waiting = [0] * len(operations)
    for others in followers:
        for other in others:
            waiting[other] += 1
    earliest = [0] * len(operations)
    ready = [number for number, count in enumerate(waiting) if not count]
    urgent = [((unit,) not in each.units, each.slot != FIRST, -height) for each, height in zip(operations, heights, strict=True)]
    slots, order, cycles = _Slots(table), list[int](), list[int]()
    while ready:
        number = min(ready, key=lambda each: (slots.cycle_of(operations[each], earliest[each]), urgent[each], each))
        at = slots.issue(operations[number], earliest[number])
        order.append(number)
        cycles.append(at)
        ready.remove(number)
        for other, wait in followers[number].items():
            earliest[other] = max(earliest[other], at + wait)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return _longest_first(operations, followers, order, cycles)


def _longest_first(
    operations: Sequence[Operation], followers: Sequence[dict[int, int]], order: list[int], cycles: Sequence[int]
) -> list[int]:
    """Returns the order with the slower of two instructions of a cycle first, where neither needs the other: cores that write
    results in order let a short one wait for a long one of the cycle before, not of its own."""
    for place in range(1, len(order)):
        first, second = order[place - 1 : place + 1]
        is_free = cycles[place - 1] == cycles[place] and second not in followers[first]
        if is_free and operations[first].slot == operations[second].slot == ANY:
            order[place - 1 : place + 1] = sorted((first, second), key=lambda number: -_latency(operations[number]))
    return order


def _latency(operation: Operation) -> int:
    return max((cycles for _, cycles, _ in operation.writes), default=1)


class _Slots:
    """The cycles and units that issued instructions take."""

    def __init__(self, table: TimingTable):
        self._table = table
        self._cycle = 0  # the next one that is empty
        self._open = 0  # instructions that the last cycle has room for
        self._last: Operation | None = None
        self._free: dict[str, int] = {}

    def cycle_of(self, operation: Operation, earliest: int) -> int:
        """Returns the first cycle in which the core can issue the operation."""
        at = earliest
        for units in operation.units:
            at = max(at, min([self._free.get(unit, 0) for unit in units]))
        if self._open and at < self._cycle and joins(self._table, self._last, operation):
            return self._cycle - 1
        last = self._last
        shadow = last.shadow if last is not None and last.shadow and is_shadowed(last, operation) else 0
        return max(at, self._cycle + shadow)

    def issue(self, operation: Operation, earliest: int) -> int:
        """Issues the operation; returns its cycle."""
        at = self.cycle_of(operation, earliest)
        if at < self._cycle:
            self._open = 0 if operation.slot == LAST else self._open - 1
        else:
            self._open = self._table.issue - 1 if operation.slot in (ANY, FIRST) else 0
        for units in operation.units:
            self._free[min(units, key=lambda unit: self._free.get(unit, 0))] = at + operation.hold
        if operation.cycles:
            self._cycle = max(self._cycle, at + operation.cycles)
            self._last = operation
        return at
