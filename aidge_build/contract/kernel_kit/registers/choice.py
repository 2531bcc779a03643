# SPDX-License-Identifier: MIT
"""The register of each web: no two webs that are alive at one time share one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set

from aidge_build.contract.kernel_kit.registers.exchange import shorter
from aidge_build.contract.kernel_kit.registers.named import APART, VALUE, Step, Value
from aidge_build.contract.kernel_kit.registers.rules import POOLS, Rules, fixed_registers, number_of, rules_of
from aidge_build.contract.kernel_kit.registers.webs import Webs

MOST_TRIES = 16  # for each web: registers that a search tries before it gives up
_FEW_TRIES = 2  # the same of a search for a better choice
LOOP_WEIGHT, DEEPEST = 8, 4  # times that an instruction of a loop counts for one outside, and loops within loops that count

_GATHER = re.compile(r"vldr.*, \[[^,]+, %q")  # its result must not replace the offsets


def choose(steps: Sequence[Step], webs: Webs, is_low: bool, parameters: Sequence[str]) -> dict[int, str] | None:
    """Returns the register of each web; None if the search found none. is_low: all instructions are of Armv6-M."""
    if most_alive(webs) > len(POOLS["r"]) - len(fixed_registers(steps) & {*POOLS["r"]}):
        return None
    rules, apart = rules_of(steps, webs, is_low, parameters), apart_of(steps, webs)
    moved, weights = _moved(steps, webs), _weights(steps, webs)
    chosen: dict[int, str] = {}
    for kind in POOLS:
        mine = [web for web in rules.domains if webs.values[web].kind == kind]
        found: list[dict[int, str]] = []
        listed = rules.lists.keys() & mine
        ways = [(listed, dict.fromkeys(mine, 0)), (listed & rules.short.keys(), weights), (set[int](), weights)]
        if ways[1] == ways[2]:
            ways.pop()
        for first, by in ways[::-1] if kind == "r" else ways:
            if found and kind != "r":
                break
            search = _Search(mine, rules, apart, moved, by, first)
            gives_up_early = found or kind == "q" and not any(by.values())  # the others end faster
            if search.run(_FEW_TRIES if gives_up_early else MOST_TRIES):
                found.append(shorter(search.chosen, rules, _joined(search.chosen, apart, moved)))
        if not found:
            return None
        best = min(found, key=lambda choice: (_moves(choice, moved), rules.bytes_of(choice)))
        chosen |= best
    return chosen


def most_alive(webs: Webs) -> int:
    """Returns how many values in registers of the core are alive at one time."""
    return max(sum(webs.values[web].kind == "r" for web in alive) for alive in webs.alive)


class _Search:
    """A search by depth: the web with the fewest registers left comes next, or without weights the next one of the text. Webs in
    `first` come before others, and a place next to one that is taken comes before all. A decision is taken back where a web has
    none."""

    def __init__(
        self,
        mine: Sequence[int],
        rules: Rules,
        apart: Mapping[int, set[int]],
        moved: Mapping[int, set[int]],
        weights: Mapping[int, int],
        first: Set[int],
    ):
        self._rules, self._apart, self._moved = rules, apart, moved
        self._left = {web: len(rules.domains[web]) for web in mine}
        self._taken = {web: dict.fromkeys(rules.domains[web], 0) for web in mine}
        self._weight = {web: weights[web] * (1 + len(apart[web])) for web in mine}
        self._first = first
        self._dense = {
            web: {other for webs, is_dense in lists if is_dense for other in webs} for web, lists in rules.lists.items()
        }
        self.chosen: dict[int, str] = {}
        self._used: Counter[str] = Counter()  # how many webs have each register

    def run(self, tries: int) -> bool:
        """Whether each web got a register, after so many tries for each at most."""
        unplaced = set(self._left)
        stack: list[tuple[int, Iterator[str]]] = []
        for _ in range(1 + tries * len(unplaced)):
            if len(self.chosen) == len(stack):
                if not unplaced:
                    return True
                web = min(unplaced, key=self._urgency)
                unplaced.discard(web)
                stack.append((web, iter(self._candidates(web))))
            web, candidates = stack[-1]
            register = next(candidates, None)
            if register is not None:
                self._take(web, register)
                continue
            stack.pop()
            unplaced.add(web)
            if not stack:
                return False
            self._take_back(stack[-1][0])
        return False

    def _urgency(self, web: int) -> tuple[bool, bool, int, int, int]:
        left, weight = self._left[web], self._weight[web]
        is_next = web in self._dense and not self.chosen.keys().isdisjoint(self._dense[web])
        return left > 1 and not is_next, web not in self._first, left if weight else 0, -weight, web

    def _take(self, web: int, register: str) -> None:
        self.chosen[web] = register
        self._used[register] += 1
        for other in self._apart[web]:
            taken = self._taken[other]
            if register in taken:
                self._left[other] -= not taken[register]
                taken[register] += 1

    def _take_back(self, web: int) -> None:
        register = self.chosen.pop(web)
        self._used[register] -= 1
        for other in self._apart[web]:
            taken = self._taken[other]
            if register in taken:
                taken[register] -= 1
                self._left[other] += not taken[register]

    def _candidates(self, web: int) -> list[str]:
        """Returns the registers that a web may have now, the best one first."""
        rules, taken = self._rules, self._taken[web]
        free = [name for name in rules.domains[web] if not taken[name]]
        if web in rules.lists:
            free = [name for name in free if self._fits_lists(web, name)]
        partners = {self.chosen[other] for other in self._moved[web] if other in self.chosen}
        kept = {self.chosen[other] for other in rules.kept if other in self.chosen} if web in rules.kept else set[str]()
        # Spread out: a register that is written again soon binds the order of instructions. Places are not: they take stack.
        used = {register: count for register, count in self._used.items() if count and register[0] != "w"}
        cost = {name: rules.cost(web, name, used.keys()) for name in free}
        return sorted(free, key=lambda name: (name not in partners, name in kept, cost[name], used.get(name, 0), number_of(name)))

    def _fits_lists(self, web: int, register: str) -> bool:
        """Whether the lists of a web still have registers for all others if it takes this one."""
        return all(self._fits(webs, is_dense, web, register) for webs, is_dense in self._rules.lists[web])

    def _fits(self, webs: Sequence[int], is_dense: bool, web: int, register: str) -> bool:
        last = number_of(register) - webs.index(web) - 1 if is_dense else -1
        for other in webs:
            own = register if other == web else self.chosen.get(other)
            free = [own] if own else [name for name in self._rules.domains[other] if not self._taken[other][name]]
            numbers = [number for number in map(number_of, free) if (number == last + 1 if is_dense else number > last)]
            if not numbers:
                return False
            last = min(numbers)
        return True


def apart_of(steps: Sequence[Step], webs: Webs) -> dict[int, set[int]]:
    """Returns the webs that each web must not share a register with: they are alive where it is written, or tell where a vector
    is gathered."""
    apart: dict[int, set[int]] = {web: set() for web in range(len(webs.values))}
    alike: dict[str, set[int]] = {}
    for web, value in enumerate(webs.values):
        alike.setdefault(value.kind, set()).add(web)
    for number, step in enumerate(steps):
        written = set(webs.written[number].values())
        read = set(webs.read[number].values())
        source = read if step.is_move else set()
        alive = webs.alive[number] | written | (read if _GATHER.match(step.text) else set())
        for web in written:
            apart[web] |= (alive & alike[webs.values[web].kind]) - {web} - (source - written)
    for web in apart:
        for other in apart[web]:
            apart[other].add(web)
    for step in steps:
        if step.text.startswith(APART):
            _add_named(apart, set(VALUE.findall(step.text)), webs.values)
    return apart


def _add_named(apart: dict[int, set[int]], names: set[tuple[str, str]], values: Sequence[Value]) -> None:
    """Adds the webs of values that a text wants apart."""
    named = [web for web, value in enumerate(values) if (value.kind.strip("r"), value.name) in names]
    for web in named:
        apart[web].update(other for other in named if values[other] != values[web])


def _moved(steps: Sequence[Step], webs: Webs) -> dict[int, set[int]]:
    """Returns the webs that moves connect: in one register, the move is superfluous."""
    moved: dict[int, set[int]] = {web: set() for web in range(len(webs.values))}
    for number, step in enumerate(steps):
        if step.is_move:
            ends = [web for here in (webs.written, webs.read) for value, web in here[number].items() if value.kind]
            moved[ends[0]].add(ends[1])
            moved[ends[1]].add(ends[0])
    return moved


def _joined(chosen: Mapping[int, str], apart: Mapping[int, set[int]], moved: Mapping[int, set[int]]) -> dict[int, set[int]]:
    """Returns the webs that a change of each web's register would meet, and the ones that share it to save a move."""
    return {web: apart[web] | {other for other in moved[web] if chosen.get(other) == mine} for web, mine in chosen.items()}


def _moves(chosen: Mapping[int, str], moved: Mapping[int, set[int]]) -> int:
    """Returns how many moves between registers are left, each counted twice."""
    return sum(chosen.get(other) != mine for web, mine in chosen.items() for other in moved[web])


def _weights(steps: Sequence[Step], webs: Webs) -> dict[int, int]:
    """Returns how often each web is named, more in loops."""
    weights: Counter[int] = Counter()
    for number, step in enumerate(steps):
        for web in (*webs.read[number].values(), *webs.written[number].values()):
            weights[web] += LOOP_WEIGHT ** min(step.depth, DEEPEST)
    return weights
