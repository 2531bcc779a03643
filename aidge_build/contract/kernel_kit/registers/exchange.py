# SPDX-License-Identifier: MIT
"""Low registers for the values that make most instructions short: a low register and a high one change places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import cycle

from aidge_build.contract.kernel_kit.registers.rules import LOW, POOLS, Rules, number_of

_Cost = Callable[[Iterable[int], Mapping[int, str]], int]  # of these webs, in a choice


def shorter(chosen: Mapping[int, str], rules: Rules, joined: Mapping[int, set[int]]) -> dict[int, str]:
    """Returns a choice as good as this one with fewer long instructions. `joined`: the webs that change together with each one,
    if they have one of the two registers."""
    chains = _Chains(joined)
    fewer_high = _changed(chosen, rules, chains, rules.high)
    starts = (chosen,) if fewer_high == chosen else (chosen, fewer_high)
    return min((_changed(start, rules, chains, rules.long) for start in starts), key=lambda found: rules.long(found, found))


def _changed(chosen: Mapping[int, str], rules: Rules, chains: _Chains, cost: _Cost) -> dict[int, str]:
    """Returns the choice after all changes that cost less."""
    found = dict(chosen)
    webs = {register: {web for web, mine in found.items() if mine == register} for register in {*found.values()}}
    pairs = [(low, high) for low in LOW for high in POOLS["r"][len(LOW) :] if {low, high} <= webs.keys()]
    in_vain = 0  # pairs since the last change
    for one, other in cycle(pairs):
        in_vain += 1
        for chain in chains[frozenset(webs[one] | webs[other])]:
            if chain.isdisjoint(rules.short):
                continue
            changed = {web: other if found[web] == one else one for web in chain}
            if _fits(changed, found, rules) and cost(changed, {**found, **changed}) < cost(changed, found):
                found |= changed
                webs[one] ^= chain
                webs[other] ^= chain
                in_vain = 0
        if in_vain == len(pairs):
            break
    return found


class _Chains(dict[frozenset[int], list[set[int]]]):
    """For the webs with one of two registers, the sets of them that can only change together."""

    def __init__(self, joined: Mapping[int, set[int]]) -> None:
        super().__init__()
        self._joined = joined

    def __missing__(self, webs: frozenset[int]) -> list[set[int]]:
        left, chains = set(webs), list[set[int]]()
        while left:
            todo, chain = [min(left)], set[int]()
            while todo:
                web = todo.pop()
                if web in left:
                    left.discard(web)
                    chain.add(web)
                    todo += self._joined[web] & left
            chains.append(chain)
        self[webs] = chains
        return chains


def _fits(changed: Mapping[int, str], chosen: Mapping[int, str], rules: Rules) -> bool:
    """Whether the webs may have these registers, and their lists still rise."""
    lists = {webs for web in changed for webs, _ in rules.lists.get(web, ())}
    numbers = [[number_of(changed.get(web, chosen[web])) for web in webs] for webs in lists]
    return all(register in rules.domains[web] for web, register in changed.items()) and all(
        each == sorted(set(each)) for each in numbers
    )
