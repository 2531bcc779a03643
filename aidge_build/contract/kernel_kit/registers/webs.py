# SPDX-License-Identifier: MIT
"""Webs: the definitions of a value and their uses that must share a register. One name may be several webs.

Sets of definitions and of webs that flow through a function are numbers with a bit for each member.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import or_

from aidge_build.contract.kernel_kit.registers.named import Step, Value

_NOWHERE = -1  # the step of a value that no step writes

_Definition = tuple[int, Value]  # the step that writes a value
_Here = dict[Value, int]  # the web of each value at a step


@dataclass(frozen=True)
class Webs:
    """The web of each value that a step reads or writes, the webs that are alive after each step, the value of each web, and the
    webs of values that are kept."""

    read: Sequence[_Here]
    written: Sequence[_Here]
    alive: Sequence[frozenset[int]]
    values: Sequence[Value]
    kept: frozenset[int]


def webs_of(steps: Sequence[Step], kept: AbstractSet[Value] = frozenset()) -> Webs:
    """Returns the webs of a function; each of the values that are `kept` is one web."""
    reaching = _reaching(steps)
    joined = _Joined()
    for number, step in enumerate(steps):
        for value in step.reads:
            first, *others = reaching[number][value]
            for other in (*others, *((number,) if value in step.writes else ())):
                joined.join((first, value), (other, value))
    for value in sorted(kept):
        joined.join_all(value, [number for number, step in enumerate(steps) if value in step.writes])
    numbers: dict[_Definition, int] = {}

    def web(step: int, value: Value) -> int:
        return numbers.setdefault(joined.root((step, value)), len(numbers))

    read = [
        {value: web(known[value][0], value) for value in sorted(step.reads)} for step, known in zip(steps, reaching, strict=True)
    ]
    written = [{value: web(number, value) for value in sorted(step.writes)} for number, step in enumerate(steps)]
    values = [value for _, value in numbers]
    own = frozenset(number for number, value in enumerate(values) if value in kept)
    return Webs(read, written, _alive(steps, read, written), values, own)


class _Joined:
    """Sets of definitions, each known by one of them."""

    def __init__(self) -> None:
        self._parents: dict[_Definition, _Definition] = {}

    def root(self, one: _Definition) -> _Definition:
        while self._parents.setdefault(one, one) != one:
            one = self._parents[one]
        return one

    def join(self, one: _Definition, other: _Definition) -> None:
        self._parents[self.root(other)] = self.root(one)

    def join_all(self, value: Value, steps: Sequence[int]) -> None:
        for one, other in pairwise(steps):
            self.join((one, value), (other, value))


def _reaching(steps: Sequence[Step]) -> list[dict[Value, list[int]]]:
    """Returns for each step the steps in which the values that it reads may have been written, in their order."""
    definitions = [(number, value) for number, step in enumerate(steps) for value in step.writes]
    of_value, own = dict[Value, int](), [0] * len(steps)
    for place, (number, value) in enumerate(definitions):
        of_value[value] = of_value.get(value, 0) | 1 << place
        own[number] |= 1 << place
    stays = [~reduce(or_, map(of_value.__getitem__, step.writes), 0) for step in steps]
    before = [0] * len(steps)
    seen, todo = {0}, [0]
    while todo:
        number = todo.pop()
        behind = before[number] & stays[number] | own[number]
        for other in steps[number].following:
            if other not in seen or behind | before[other] != before[other]:
                before[other] |= behind
                seen.add(other)
                todo.append(other)
    return [
        {value: [definitions[place][0] for place in _bits(known & of_value.get(value, 0))] or [_NOWHERE] for value in step.reads}
        for step, known in zip(steps, before, strict=True)
    ]


def _alive(steps: Sequence[Step], read: Sequence[_Here], written: Sequence[_Here]) -> list[frozenset[int]]:
    """Returns the webs that later steps read, after each step."""
    reads, writes = ([sum(1 << web for web in {*here.values()}) for here in each] for each in (read, written))
    behind, before = [0] * len(steps), [0] * len(steps)
    is_new = True
    while is_new:
        is_new = False
        for number in reversed(range(len(steps))):
            behind[number] = reduce(or_, map(before.__getitem__, steps[number].following), 0)
            ahead = behind[number] & ~writes[number] | reads[number]
            is_new |= ahead != before[number]
            before[number] = ahead
    members = {webs: frozenset(_bits(webs)) for webs in {*behind}}
    return [members[webs] for webs in behind]


def _bits(members: int) -> Iterator[int]:
    """Yields the members of a set, in their order."""
    while members:
        lowest = members & -members
        yield lowest.bit_length() - 1
        members ^= lowest
