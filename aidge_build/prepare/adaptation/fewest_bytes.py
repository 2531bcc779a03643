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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.graph.format import Format
from aidge_build.graph.view import GraphView, Node
from aidge_build.prepare.adaptation.formats import Option

MOST_ENTRIES = 1 << 14  # of one table
_Order = tuple[int, ...]
_Table = tuple[tuple[int, ...], numpy.ndarray]  # variables in rising order, and a cost for each combination of their values


def stored_axes(dims: tuple[int, ...], form: Format) -> _Order:
    """The axes longer than 1 in storage order: equal exactly for formats that store the same bytes."""
    return tuple([axis for axis in form.order if dims[axis] != 1])


def fewest_bytes(view: GraphView, options: Mapping[str, Sequence[Option]]) -> dict[str, Option] | None:
    """Returns an option per node so that no choice copies fewer bytes; early options win a tie. None beyond the limit."""
    return _Problem(view, options).solved()


def bytes_copied(view: GraphView, chosen: Mapping[str, Option]) -> int:
    """The bytes of all copies that these options need."""
    held = {name: {view.tensor(name).storage} for name in (*view.inputs, *view.outputs)}
    for node in view.nodes:
        option = chosen[node.name]
        for index, form in option.inputs:
            held.setdefault(node.inputs[index], set()).add(form)
        for name, form in zip(node.outputs, option.outputs, strict=True):
            held.setdefault(name, set()).add(form)
    several = {view.tensor(name): forms for name, forms in held.items() if len(forms) > 1}
    return sum(
        (len({stored_axes(tensor.dims, form) for form in forms}) - 1) * tensor.size_bytes for tensor, forms in several.items()
    )


def _given_orders(view: GraphView) -> dict[str, set[_Order]]:
    """The storage orders of the graph's inputs and outputs, which no choice changes."""
    tensors = map(view.tensor, (*view.inputs, *view.outputs))
    return {tensor.name: {stored_axes(tensor.dims, tensor.storage)} for tensor in tensors}


def _orders(view: GraphView, node: Node, option: Option) -> list[tuple[str, _Order]]:
    """Each tensor that the node reads or writes, and the order in which it does."""
    read = [(node.inputs[index], form) for index, form in option.inputs]
    used = [*read, *zip(node.outputs, option.outputs, strict=True)]
    return [(name, stored_axes(view.tensor(name).dims, form)) for name, form in used]


@dataclass(frozen=True)
class _Choices:
    """The different demands of a node: the orders of its tensors, and the first option with these orders."""

    options: tuple[Option, ...]
    ranks: tuple[int, ...]
    orders: tuple[dict[str, frozenset[_Order]], ...]


class _Problem:
    """Variables are numbered: nodes with several choices, then tensors. A table ties each node to each of its tensors.

    Costs are floats, as infinity stays what it is in a sum; they are exact where the bytes of a graph fit into any memory.
    """

    def __init__(self, view: GraphView, options: Mapping[str, Sequence[Option]]):
        self.choices = {node.name: _choices(view, node, options[node.name]) for node in view.nodes}
        self.open = {name: one for name, one in self.choices.items() if len(one.ranks) > 1}
        self.tables: dict[int, list[_Table]] = {}
        self.sizes: list[int] = []
        for one in self.open.values():
            self._new(one.ranks)
        outweighed = sum(max(one.ranks) for one in self.open.values())  # by one byte: all ranks together
        users: dict[str, list[int]] = {}
        for node, one in enumerate(self.open.values()):
            for name in one.orders[0]:
                users.setdefault(name, []).append(node)
        choices = list(self.open.values())
        for name, sets in self._sets(view).items():
            tensor = self._new([(len(each) - 1) * view.tensor(name).size_bytes * outweighed for each in sets])
            for node in users[name]:
                fits = numpy.array([[orders[name] <= each for each in sets] for orders in choices[node].orders])
                self._add(((node, tensor), numpy.where(fits, 0.0, math.inf)))

    def _sets(self, view: GraphView) -> dict[str, list[frozenset[_Order]]]:
        """Returns for each tensor the sets of orders that it can have: the orders that exist whatever is chosen, with any part of
        those that some node may want; no more sets than fit into a table. A tensor that has one set leaves nothing to choose."""
        always, wanted = _given_orders(view), _given_orders(view)
        for one in self.choices.values():
            for name in one.orders[0]:
                asked = [orders[name] for orders in one.orders]
                wanted.setdefault(name, set()).update(*asked)
                always.setdefault(name, set()).update(frozenset.intersection(*asked))
        open_ones = [name for name in wanted if wanted[name] != always[name]]
        return {name: list(itertools.islice(_supersets(always[name], wanted[name]), MOST_ENTRIES)) for name in open_ones}

    def _new(self, costs: Sequence[int]) -> int:
        number = len(self.sizes)
        self.sizes.append(len(costs))
        self.tables[number] = [((number,), numpy.array(costs, float))]
        return number

    def _add(self, table: _Table) -> None:
        for number in table[0]:
            self.tables[number].append(table)

    def solved(self) -> dict[str, Option] | None:
        """Eliminates the variable with the smallest table first, then reads the best values backwards."""
        left, waiting = set(self.tables), [(self._entries(number), number) for number in self.tables]
        heapq.heapify(waiting)
        eliminated: list[tuple[int, tuple[int, ...], numpy.ndarray]] = []
        while left:
            entries, number = heapq.heappop(waiting)
            if number not in left or entries != self._entries(number):
                continue  # it has grown or shrunk since: its entry of today is further on
            if entries > MOST_ENTRIES:
                return None
            left.remove(number)
            others, best = self._eliminate(number)
            eliminated.append((number, others, best))
            for other in others:
                heapq.heappush(waiting, (self._entries(other), other))
        values: dict[int, int] = {}
        for number, others, best in reversed(eliminated):
            values[number] = int(best[tuple(values[other] for other in others)])
        picked = {name: values[number] for number, name in enumerate(self.open)}
        return {name: one.options[picked.get(name, 0)] for name, one in self.choices.items()}

    def _eliminate(self, number: int) -> tuple[tuple[int, ...], numpy.ndarray]:
        """Replaces a variable's tables by one over its neighbours. Returns them, and the best value for each of their values."""
        scope, costs = self._joined(number)
        others, axis = tuple(one for one in scope if one != number), scope.index(number)
        for table in self.tables.pop(number):
            for other in table[0]:
                if other != number:
                    self.tables[other] = [one for one in self.tables[other] if one is not table]
        self._add((others, costs.min(axis=axis)))
        return others, costs.argmin(axis=axis)

    def _scope(self, number: int) -> tuple[int, ...]:
        return tuple(sorted({other for table in self.tables[number] for other in table[0]}))

    def _entries(self, number: int) -> int:
        return math.prod(self.sizes[other] for other in self._scope(number))

    def _joined(self, number: int) -> _Table:
        """Returns the sum of all tables of the variable."""
        scope = self._scope(number)
        spread = [
            costs.reshape([self.sizes[other] if other in variables else 1 for other in scope])
            for variables, costs in self.tables[number]
        ]
        return scope, sum(spread, numpy.zeros(()))


def _choices(view: GraphView, node: Node, options: Sequence[Option]) -> _Choices:
    known: dict[tuple, tuple[int, dict[str, frozenset]]] = {}
    for rank, option in enumerate(options):
        orders: dict[str, set[_Order]] = {}
        for name, order in _orders(view, node, option):
            orders.setdefault(name, set()).add(order)
        frozen = {name: frozenset(each) for name, each in orders.items()}
        known.setdefault(tuple(frozen.items()), (rank, frozen))
    ranks, orders_of = zip(*known.values(), strict=True)
    return _Choices(tuple(options[rank] for rank in ranks), ranks, orders_of)


def _supersets(always: set[_Order], wanted: set[_Order]) -> Iterator[frozenset[_Order]]:
    """Yields the orders that a tensor always needs with any part of the others that are wanted; at least one order."""
    rest = sorted(wanted - always)
    for count in range(0 if always else 1, len(rest) + 1):
        yield from (frozenset(always).union(part) for part in itertools.combinations(rest, count))
