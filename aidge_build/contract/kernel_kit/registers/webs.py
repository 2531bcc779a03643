# SPDX-License-Identifier: MIT
"""Webs: the definitions of a value and their uses that must share a register. One name may be several webs."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from aidge_build.contract.kernel_kit.registers.named import Step, Value

_NOWHERE = frozenset((-1,))  # the definition of a value that no step writes

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
            first, *others = sorted(reaching[number].get(value, _NOWHERE))
            for other in (*others, *((number,) if value in step.writes else ())):
                joined.join((first, value), (other, value))
    for value in sorted(kept):
        joined.join_all(value, [number for number, step in enumerate(steps) if value in step.writes])
    numbers: dict[_Definition, int] = {}

    def web(step: int, value: Value) -> int:
        return numbers.setdefault(joined.root((step, value)), len(numbers))

    read = [
        {value: web(min(known.get(value, _NOWHERE)), value) for value in sorted(step.reads)}
        for step, known in zip(steps, reaching, strict=True)
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


def _reaching(steps: Sequence[Step]) -> list[dict[Value, frozenset[int]]]:
    """Returns for each step the definitions of each value that may reach it."""
    before: list[dict[Value, frozenset[int]]] = [{} for _ in steps]
    seen, todo = {0}, [0]
    while todo:
        number = todo.pop()
        behind = {**before[number], **dict.fromkeys(steps[number].writes, frozenset((number,)))}
        for other in steps[number].following:
            known = before[other]
            joined = {**behind, **{value: sources | behind.get(value, sources) for value, sources in known.items()}}
            if other not in seen or joined != known:
                before[other] = joined
                seen.add(other)
                todo.append(other)
    return before


def _alive(steps: Sequence[Step], read: Sequence[_Here], written: Sequence[_Here]) -> list[frozenset[int]]:
    """Returns the webs that later steps read, after each step."""
    behind: list[frozenset[int]] = [frozenset()] * len(steps)
    before: list[frozenset[int]] = [frozenset()] * len(steps)
    is_new = True
    while is_new:
        is_new = False
        for number in reversed(range(len(steps))):
            behind[number] = frozenset[int]().union(*(before[other] for other in steps[number].following))
            ahead = behind[number] - frozenset(written[number].values()) | frozenset(read[number].values())
            is_new |= ahead != before[number]
            before[number] = ahead
    return behind
