# SPDX-License-Identifier: MIT
"""The formats that copy the fewest bytes in a whole graph, exactly: variables are eliminated one after the other.

Each node has a variable, its option. Each tensor has one, the set of storage orders in which its elements exist; each order but
the first costs a copy. A node's option reads each input, and writes each output, in one order, and so ties the node to its
tensors only. The tables of an elimination therefore stay as small as the graph is narrow: residual blocks, branches and joins
need tables of some dozen entries. A graph that needs more than `MOST_ENTRIES` in one table is not solved here.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.graph.format import Format
from aidge_build.graph.view import GraphView, Node
from aidge_build.prepare.adaptation.formats import Option

MOST_ENTRIES = 1 << 14  # of one table
NEVER = 1 << 60
_Table = tuple[tuple[int, ...], numpy.ndarray]  # variables in rising order, and a cost for each combination of their values


def stored_axes(dims: tuple[int, ...], form: Format) -> tuple[int, ...]:
    """The axes longer than 1 in storage order: equal exactly for formats that store the same bytes."""
    return tuple(axis for axis in form.order if dims[axis] != 1)


def fewest_bytes(view: GraphView, options: Mapping[str, Sequence[Option]]) -> dict[str, Option] | None:
    """Returns an option per node so that no choice copies fewer bytes; early options win a tie. None beyond the limit."""
    return _Problem(view, options).solved()


def bytes_copied(view: GraphView, chosen: Mapping[str, Option]) -> int:
    """The bytes of all copies that these options need."""
    held = {name: {view.tensor(name).storage} for name in (*view.inputs, *view.outputs)}
    for node in view.nodes:
        for name, form in _orders(node, chosen[node.name]):
            held.setdefault(name, set()).add(form)
    several = {view.tensor(name): forms for name, forms in held.items() if len(forms) > 1}
    return sum(
        (len({stored_axes(tensor.dims, form) for form in forms}) - 1) * tensor.size_bytes for tensor, forms in several.items()
    )


def _orders(node: Node, option: Option) -> list[tuple[str, Format]]:
    return [(node.inputs[index], form) for index, form in option.inputs] + list(zip(node.outputs, option.outputs, strict=True))


@dataclass(frozen=True)
class _Choices:
    """The different demands of a node: the orders of its tensors, and the first option with these orders."""

    options: tuple[Option, ...]
    ranks: tuple[int, ...]
    orders: tuple[dict[str, frozenset[tuple[int, ...]]], ...]


class _Problem:
    """Variables are numbered: nodes with several choices, then tensors. A table ties each node to each of its tensors."""

    def __init__(self, view: GraphView, options: Mapping[str, Sequence[Option]]):
        self.view = view
        self.choices = {node.name: _choices(view, node, options[node.name]) for node in view.nodes}
        self.tables: dict[int, list[_Table]] = {}
        self.sizes: list[int] = []
        self.node_of: dict[int, str] = {}
        held = self._fixed()
        total = sum(max(one.ranks) for one in self.choices.values()) + 1
        most = sum(view.tensor(name).size_bytes * len(wanted) for name, (_, wanted) in held.items())
        unit = total if most * total < NEVER >> 2 else 1  # how many ranks outweigh one byte
        self.too_large = most * unit >= NEVER >> 2 or any(
            2 << len(wanted - always) > MOST_ENTRIES for always, wanted in held.values()
        )
        if not self.too_large:
            self._fill({name: _supersets(always, wanted) for name, (always, wanted) in held.items()}, unit)

    def _fixed(self) -> dict[str, tuple[set, set]]:
        """Returns for each tensor the orders that exist whatever is chosen, and all orders that some node may want."""
        held: dict[str, tuple[set, set]] = {}
        for name in (*self.view.inputs, *self.view.outputs):
            tensor = self.view.tensor(name)
            held.setdefault(name, (set(), set()))[0].add(stored_axes(tensor.dims, tensor.storage))
        for node in self.view.nodes:
            found = self.choices[node.name].orders
            for name in found[0]:
                always, wanted = held.setdefault(name, (set(), set()))
                wanted.update(*(each[name] for each in found))
                always.update(frozenset.intersection(*(each[name] for each in found)))
        for always, wanted in held.values():
            wanted |= always
        return held

    def _fill(self, sets: Mapping[str, list[frozenset]], unit: int) -> None:
        variable = {}
        for node in self.view.nodes:
            ranks = self.choices[node.name].ranks
            if len(ranks) > 1:
                variable[node.name] = self._new(numpy.array(ranks if unit > 1 else [0] * len(ranks), numpy.int64))
                self.node_of[variable[node.name]] = node.name
        readers: dict[str, list[str]] = {}
        for name in variable:
            for tensor in self.choices[name].orders[0]:
                readers.setdefault(tensor, []).append(name)
        for tensor, nodes in readers.items():
            if len(sets[tensor]) == 1:
                continue  # only one set of orders is possible
            size = self.view.tensor(tensor).size_bytes
            number = self._new(numpy.array([(len(each) - 1) * size * unit for each in sets[tensor]], numpy.int64))
            for name in nodes:
                allowed = [[0 if one[tensor] <= each else NEVER for each in sets[tensor]] for one in self.choices[name].orders]
                self._add(((variable[name], number), numpy.array(allowed, numpy.int64)))

    def _new(self, costs: numpy.ndarray) -> int:
        number = len(self.sizes)
        self.sizes.append(len(costs))
        self.tables[number] = [((number,), costs)]
        return number

    def _add(self, table: _Table) -> None:
        for number in table[0]:
            self.tables[number].append(table)

    def solved(self) -> dict[str, Option] | None:
        """Eliminates the variable with the smallest table first, then reads the best values backwards."""
        if self.too_large:
            return None
        waiting = [(self._entries(number), number) for number in self.tables]
        heapq.heapify(waiting)
        eliminated: list[tuple[int, tuple[int, ...], numpy.ndarray]] = []
        while waiting:
            entries, number = heapq.heappop(waiting)
            if number not in self.tables:
                continue
            if entries != self._entries(number):
                heapq.heappush(waiting, (self._entries(number), number))
                continue
            if entries > MOST_ENTRIES:
                return None
            others, best = self._eliminate(number)
            eliminated.append((number, others, best))
            for other in others:
                heapq.heappush(waiting, (self._entries(other), other))
        values: dict[int, int] = {}
        for number, others, best in reversed(eliminated):
            values[number] = int(best[tuple(values[other] for other in others)])
        picked = {name: values[number] for number, name in self.node_of.items()}
        return {name: one.options[picked.get(name, 0)] for name, one in self.choices.items()}

    def _eliminate(self, number: int) -> tuple[tuple[int, ...], numpy.ndarray]:
        """Replaces a variable's tables by one over its neighbours. Returns them, and the best value for each of their values."""
        scope, costs = self._joined(number)
        others, axis = tuple(one for one in scope if one != number), scope.index(number)
        for table in self.tables.pop(number):
            for other in table[0]:
                if other != number:
                    self.tables[other] = [one for one in self.tables[other] if one is not table]
        if others:
            self._add((others, costs.min(axis=axis)))
        return others, costs.argmin(axis=axis)

    def _scope(self, number: int) -> tuple[int, ...]:
        return tuple(sorted({other for table in self.tables[number] for other in table[0]}))

    def _entries(self, number: int) -> int:
        return math.prod(self.sizes[other] for other in self._scope(number))

    def _joined(self, number: int) -> _Table:
        """Returns the sum of all tables of the variable."""
        scope = self._scope(number)
        total = numpy.zeros([self.sizes[other] for other in scope], numpy.int64)
        for variables, costs in self.tables[number]:
            total = total + costs.reshape([self.sizes[other] if other in variables else 1 for other in scope])
            numpy.minimum(total, NEVER, out=total)
        return scope, total


def _choices(view: GraphView, node: Node, options: Sequence[Option]) -> _Choices:
    known: dict[tuple, tuple[int, dict[str, frozenset]]] = {}
    for rank, option in enumerate(options):
        orders: dict[str, set] = {}
        for name, form in _orders(node, option):
            orders.setdefault(name, set()).add(stored_axes(view.tensor(name).dims, form))
        frozen = {name: frozenset(each) for name, each in orders.items()}
        known.setdefault(tuple(frozen.items()), (rank, frozen))
    ranks, orders_of = zip(*known.values(), strict=True)
    return _Choices(tuple(options[rank] for rank in ranks), ranks, orders_of)


def _supersets(always: set, wanted: set) -> list[frozenset]:
    """Returns the sets of orders that a tensor can have: the orders that it always needs, with any part of the rest."""
    rest = sorted(wanted - always)
    parts = itertools.chain.from_iterable(itertools.combinations(rest, count) for count in range(len(rest) + 1))
    return [frozenset(always) | frozenset(part) for part in parts if always or part]
