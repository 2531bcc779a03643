# SPDX-License-Identifier: MIT
"""Values that wait outside the registers while others need these: the ones with the fewest instructions for their ways.

A value that waits comes back before an instruction that reads it, stays while the instructions nearby use it, and goes away after
its last change there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from aidge_build.contract.kernel_kit.registers.choice import DEEPEST, LOOP_WEIGHT
from aidge_build.contract.kernel_kit.registers.named import GET, PUT, Function, Step, Value
from aidge_build.contract.kernel_kit.registers.webs import Webs

_NEARBY = 6  # instructions
_PAIR = re.compile(rf"(?:{PUT}|{GET})(%\w+), (%\w+)")
_BLOCK = re.compile(r"(?:it|vps?t)([te]*)(?:\.\w+)?")

Line = tuple[str, str]


class _Stay(NamedTuple):
    """A stay in a register from the step `first` to the step `last`: the lines before which the value comes and after which it
    goes (None: it need not), and its loops."""

    comes: int | None
    goes: int | None
    depth: int
    first: int
    last: int

    @property
    def price(self) -> int:
        """The instructions that move the value, more in loops."""
        return ((self.comes is not None) + (self.goes is not None)) * LOOP_WEIGHT ** min(self.depth, DEEPEST)


def with_waiting(lines: Sequence[Line], function: Function, webs: Webs) -> list[Line]:
    """Returns the lines with one more value that waits; the same lines if none is left that could."""
    name = _cheapest(function.steps, webs)
    stays = list(_stays(function.steps, Value("r", name))) if name else []
    comes, goes = {stay.comes for stay in stays}, {stay.goes for stay in stays}
    found: list[Line] = []
    for place, line in enumerate(lines):
        found += [(f"    {GET}%{name}", "")] if place in comes else []
        found.append(line)
        found += [(f"    {PUT}%{name}", "")] if place in goes else []
    return found


def in_pairs(lines: Sequence[Line]) -> list[Line]:
    """Returns the lines with neighbours that move one value each as one line, where their places can be neighbours, too."""
    next_to = {pair[1]: pair[2] for line, _ in lines if (pair := _PAIR.fullmatch(line.strip()))}
    found: list[Line] = []
    for line, why in lines:
        last, text = found[-1][0].strip() if found else "", line.strip()
        way, _, name = text.partition(" ")
        if f"{way} " in (PUT, GET) and last.startswith(f"{way} ") and "," not in last + name:
            other = last.partition(" ")[2]
            for one, two in ((other, name), (name, other)):
                if (
                    one != two
                    and next_to.get(one, two) == two
                    and next_to.get(two) != one
                    and all(next_to.get(each) != two for each in next_to.keys() - {one})
                ):
                    next_to[one] = two
                    found[-1] = (f"    {way} {one}, {two}", found[-1][1])
                    break
            else:
                found.append((line, why))
        else:
            found.append((line, why))
    return found


def _cheapest(steps: Sequence[Step], webs: Webs) -> str:
    """Returns the name of the value with the fewest instructions, of all that only wait where most are alive; "" if none."""
    crowds = [sum(webs.values[web].kind == "r" for web in alive) for alive in webs.alive]
    crowd = max(range(len(steps)), key=crowds.__getitem__)
    prices: list[tuple[int, int, str]] = []
    for name in sorted({webs.values[web].name for web in webs.alive[crowd] if webs.values[web].kind == "r"} - _settled(steps)):
        stays = list(_stays(steps, Value("r", name)))
        if not any(stay.first <= crowd <= stay.last for stay in stays):
            length = sum(stay.last - stay.first for stay in stays)
            prices.append((sum(stay.price for stay in stays), length, name))
    return min(prices, default=(0, 0, ""))[2]


def _settled(steps: Sequence[Step]) -> set[str]:
    """Returns the names of values that wait already, or that a jump counts."""
    waiting = {value.name for step in steps for value in (*step.reads, *step.writes) if value.kind == "w"}
    return waiting | {value.name for step in steps if len(step.following) > 1 for value in step.writes}


def _stays(steps: Sequence[Step], value: Value) -> Iterator[_Stay]:
    """Yields the stays of a value, each within a stretch of straight code."""
    for first, last in _runs(steps):
        blocks = _conditional(steps[first:last])
        touching = [number for number in range(first, last) if value in steps[number].reads or value in steps[number].writes]
        starts = [number for before, number in pairwise([-_NEARBY - 1, *touching]) if number - before > _NEARBY]
        for start, end in pairwise([*starts, last]):
            near = [number for number in touching if start <= number < end]
            written = [number for number in near if value in steps[number].writes]
            comes = steps[first + blocks[start - first][0]].place if value in steps[start].reads else None
            goes = steps[first + blocks[written[-1] - first][1]].place if written else None
            yield _Stay(comes, goes, steps[start].depth, start, near[-1])


def _conditional(run: Sequence[Step]) -> list[tuple[int, int]]:
    """Returns for each instruction the first and the last one of its block of conditional instructions, with the IT or VPT."""
    found = [(number, number) for number in range(len(run))]
    for number, step in enumerate(run):
        match = _BLOCK.fullmatch(step.text.split()[0])
        if match:
            last = min(number + 1 + len(match[1]), len(run) - 1)
            found[number : last + 1] = [(number, last)] * (last + 1 - number)
    return found


def _runs(steps: Sequence[Step]) -> Iterator[tuple[int, int]]:
    """Yields (first step, end) of the stretches of straight code."""
    starts = {0, len(steps)}
    for number, step in enumerate(steps):
        if step.following != (number + 1,):
            starts |= {number + 1, *(other for other in step.following if other != number + 1)}
    yield from pairwise(sorted(starts))
