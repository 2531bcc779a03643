# SPDX-License-Identifier: MIT
"""Patterns of nodes as text: `Pad->Conv2D->Quantizer?->ReLU`.

    A->B          B reads an output of A                 A-1>B   B reads it as its input 1
    A<-B          A reads an output of B                 A<1-B   A reads it as its input 1
    A?  A*  A+    at most one, any number, at least one: as many as possible
    (A|B->C)      alternatives, tried in this order; a group may be repeated, too
    .             a node of any type
    A#name        an anchor: the same node for each use of the name, also in another path
    A[word]       the predicate of this name holds
    first; second another path, which begins at an anchor of an earlier one: Conv#c->ReLU; Conv#c->Add

A type is the operator's type (Conv2D) or its family (Conv: any number of axes, also depthwise).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from aidge_build.base.errors import AidgeError
from aidge_build.graph.view import GraphView, Node

_TOKEN = re.compile(r"\s*(?:(?P<edge>->|-\d+>|<-|<\d+-)|(?P<name>[A-Za-z_]\w*|\.)|(?P<sign>[()|?*+#;\[\]]))")
_MOST = {"": (1, 1), "?": (0, 1), "*": (0, -1), "+": (1, -1)}


@dataclass(frozen=True)
class _Edge:
    """An edge from one node of the path to the next; `forward`: along the data; `index` of the reader's input, None for any."""

    forward: bool = True
    index: int | None = None


@dataclass(frozen=True)
class _Item:
    """A node, or alternatives in parentheses, with its edge from the item before it and its number of repetitions. The first item
    of each alternative has the edge of the whole."""

    edge: _Edge
    type: str = ""
    anchor: str = ""
    predicate: str = ""
    alternatives: tuple[tuple[_Item, ...], ...] = ()
    least: int = 1
    most: int = 1  # -1: any number


@dataclass(frozen=True)
class Found:
    """One place where a pattern fits: `nodes` in the order of the graph, `anchors` by name, and the node `last`, which gives its
    outputs to other nodes."""

    nodes: tuple[Node, ...]
    last: Node
    anchors: Mapping[str, Node] = field(default_factory=dict)

    @property
    def origin(self) -> tuple[str, ...]:
        """The names of the covered nodes of the model's file."""
        return tuple(dict.fromkeys(name for node in self.nodes for name in node.origin or (node.name,)))

    def only(self, type_name: str) -> Node | None:
        """Returns the node of this type or family if there is exactly one, else None."""
        nodes = [node for node in self.nodes if _has_type(node, type_name)]
        return nodes[0] if len(nodes) == 1 else None


Predicates = Mapping[str, Callable[[Node], bool]]


def find(view: GraphView, pattern: str, predicates: Predicates | None = None, *, closed: bool = True) -> list[Found]:
    """Returns the places where the pattern fits, without shared nodes; earlier nodes and longer fits first.

    `closed`: all data between the nodes stays inside; only the last node of the first path is read from outside.
    """
    search = _Search(view, _parse(pattern), predicates or {}, closed)
    if view.types.isdisjoint(search.beginnings) and "." not in search.beginnings:
        return []
    taken: set[str] = set()
    results = []
    for node in filter(search.may_begin, view.nodes):
        found = next((found for found in search.from_node(node) if not taken & {one.name for one in found.nodes}), None)
        if found is not None:
            taken.update(one.name for one in found.nodes)
            results.append(found)
    return results


def is_pattern(text: str) -> bool:
    """Whether the text is a pattern of two nodes or more."""
    try:
        return len(_parse(text)[0]) > 1
    except AidgeError:
        return False


@dataclass(frozen=True)
class _State:
    nodes: tuple[Node, ...] = ()
    anchors: tuple[tuple[str, Node], ...] = ()

    def anchored(self, name: str) -> Node | None:
        return dict(self.anchors).get(name) if name else None

    def with_node(self, node: Node, anchor: str) -> _State:
        nodes = self.nodes if node in self.nodes else (*self.nodes, node)
        anchors = self.anchors if not anchor or self.anchored(anchor) else (*self.anchors, (anchor, node))
        return _State(nodes, anchors)


class _Search:
    """Backtracking over one graph and one pattern."""

    def __init__(self, view: GraphView, paths: tuple[tuple[_Item, ...], ...], predicates: Predicates, closed: bool):
        self.view, self.paths, self.predicates, self.closed = view, paths, predicates, closed
        self.beginnings = _beginnings(paths[0][0])

    def may_begin(self, node: Node) -> bool:
        """Whether a fit may begin at the node: False, as for most nodes, if the first node of the pattern has another type."""
        return "." in self.beginnings or node.type in self.beginnings or type(node.operator).__name__ in self.beginnings

    def from_node(self, start: Node) -> Iterator[Found]:
        """Yields all fits with a first path that begins at this node, the longest of each alternative first."""
        for last, state in self._path(self.paths[0], 0, None, _State(), start):
            for whole in self._further(1, state):
                order = tuple(sorted(whole.nodes, key=self.view.position))
                if last is not None and (not self.closed or self._is_closed(order, last)):
                    yield Found(order, last, dict(whole.anchors))

    def _further(self, index: int, state: _State) -> Iterator[_State]:
        if index == len(self.paths):
            yield state
            return
        start = state.anchored(self.paths[index][0].anchor)
        if start is not None:
            for _, more in self._path(self.paths[index], 0, None, state, start):
                yield from self._further(index + 1, more)

    def _path(self, path: tuple[_Item, ...], position: int, before: Node | None, state: _State, start: Node | None):
        """Yields (last node, state) for the items from `position` on; `start` is the node that the very first item must be."""
        if position == len(path):
            yield before, state
            return
        for node, more in self._repeated(path[position], 0, before, state, start):
            yield from self._path(path, position + 1, node, more, start if node is None else None)

    def _repeated(self, item: _Item, count: int, before: Node | None, state: _State, start: Node | None):
        if item.most < 0 or count < item.most:
            for node, more in self._once(item, before, state, start):
                if more.nodes != state.nodes or count < item.least:
                    yield from self._repeated(item, count + 1, node, more, None)
        if count >= item.least:
            yield before, state

    def _once(self, item: _Item, before: Node | None, state: _State, start: Node | None):
        if item.alternatives:
            for alternative in item.alternatives:
                yield from self._path(alternative, 0, before, state, start)
            return
        for node in self._candidates(item.edge, before, start):
            fixed = state.anchored(item.anchor)
            if (fixed is None and node not in state.nodes or fixed is node) and self._fits(item, node):
                yield node, state.with_node(node, item.anchor)

    def _candidates(self, edge: _Edge, before: Node | None, start: Node | None) -> tuple[Node, ...]:
        if before is None:
            return (start,) if start is not None else ()
        if edge.forward:
            readers = dict.fromkeys(reader for output in before.outputs for reader in self.view.consumers(output))
            return tuple(reader for reader in readers if edge.index is None or _reads(reader, edge.index, before))
        names = before.inputs if edge.index is None else before.inputs[edge.index : edge.index + 1]
        return tuple(dict.fromkeys(producer for producer in map(self.view.producer, names) if producer is not None))

    def _fits(self, item: _Item, node: Node) -> bool:
        if item.predicate and item.predicate not in self.predicates:
            raise AidgeError(
                f"the pattern names the predicate [{item.predicate}], which is not given",
                code="PATTERN",
                tried=sorted(self.predicates),
            )
        return _has_type(node, item.type) and (not item.predicate or self.predicates[item.predicate](node))

    def _is_closed(self, nodes: tuple[Node, ...], last: Node) -> bool:
        inside = {node.name for node in nodes}
        for node in nodes:
            for output in node.outputs if node is not last else ():
                if self.view.is_output(output) or any(reader.name not in inside for reader in self.view.consumers(output)):
                    return False
        return True


def _beginnings(first: _Item) -> frozenset[str]:
    """Returns the types of nodes at which a fit may begin, "." for any."""
    if first.predicate or not first.least:
        return frozenset({"."})
    if first.alternatives:
        return frozenset().union(*(_beginnings(alternative[0]) for alternative in first.alternatives))
    return frozenset({first.type})


def _reads(reader: Node, index: int, before: Node) -> bool:
    return index < len(reader.inputs) and reader.inputs[index] in before.outputs


def _has_type(node: Node, name: str) -> bool:
    return name in (".", node.type, type(node.operator).__name__)


def _parse(pattern: str) -> tuple[tuple[_Item, ...], ...]:
    parser = _Parser(pattern)
    paths = [parser.path()]
    while parser.taken(";"):
        paths.append(parser.path())
    parser.end()
    for path in paths[1:]:
        if not path[0].anchor:
            raise parser.fault("a path after ';' begins at an anchor (Conv#c->Add)")
    return tuple(paths)


class _Parser:
    def __init__(self, pattern: str):
        self.pattern, self.tokens, position = pattern, [], 0
        while pattern[position:].strip():
            found = _TOKEN.match(pattern, position)
            if found is None:
                raise self.fault(f"{pattern[position:].strip()[:12]!r} is no part of a pattern")
            kind = found.lastgroup or ""
            self.tokens.append((kind, found[kind]))
            position = found.end()

    def fault(self, what: str) -> AidgeError:
        return AidgeError(what, where=f"pattern {self.pattern!r}", code="PATTERN", hint="for example Pad->Conv2D->ReLU?")

    def path(self, edge: _Edge = _Edge()) -> tuple[_Item, ...]:
        items = [self.item(edge)]
        while self.tokens and self.tokens[0][0] == "edge":
            text = self.tokens.pop(0)[1]
            number = text.strip("<->")
            items.append(self.item(_Edge(text.endswith(">"), int(number) if number else None)))
        return tuple(items)

    def item(self, edge: _Edge) -> _Item:
        if self.taken("("):
            alternatives = [self.path(edge)]
            while self.taken("|"):
                alternatives.append(self.path(edge))
            self.wanted(")")
            least, most = self.repetitions()
            return _Item(edge, alternatives=tuple(alternatives), least=least, most=most)
        name = self.name("a node's type")
        anchor = self.name("an anchor's name") if self.taken("#") else ""
        predicate = ""
        if self.taken("["):
            predicate = self.name("a predicate's name")
            self.wanted("]")
        least, most = self.repetitions()
        return _Item(edge, name, anchor, predicate, (), least, most)

    def repetitions(self) -> tuple[int, int]:
        sign = next((sign for sign in "?*+" if self.taken(sign)), "")
        return _MOST[sign]

    def taken(self, text: str) -> bool:
        if self.tokens and self.tokens[0][1] == text:
            self.tokens.pop(0)
            return True
        return False

    def wanted(self, text: str) -> None:
        if not self.taken(text):
            raise self.fault(f"wants {text!r}" + (f" before {self.tokens[0][1]!r}" if self.tokens else " at the end"))

    def name(self, what: str) -> str:
        if not self.tokens or self.tokens[0][0] != "name":
            raise self.fault(f"wants {what}" + (f" before {self.tokens[0][1]!r}" if self.tokens else " at the end"))
        return self.tokens.pop(0)[1]

    def end(self) -> None:
        if self.tokens:
            raise self.fault(f"wants nothing more before {self.tokens[0][1]!r}")
