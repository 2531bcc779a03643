# SPDX-License-Identifier: MIT
"""A forest as decision diagrams: every node asks whether the key of a feature is at most a limit. Equal parts are there once.

Modes, missing values and sets become such questions, exactly. No question is asked again that the questions above it decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from aidge_build.operators.forest import Forest, Mode

from .keys import Keys

DEEPEST = 400  # of a tree whose decided questions are left out
_SPARE_VISITS = 1000


@dataclass(frozen=True, order=True)
class Question:
    """A feature that nodes ask for; `nan_high` says at which end of the keys its NaN lies."""

    nan_high: bool
    feature: int


@dataclass(frozen=True)
class Node:
    """To `low` where the key is at most the limit, else to `high`: numbers of nodes, or ~leaf."""

    question: Question
    limit: int
    low: int
    high: int


class Diagram:
    """The nodes of all trees by number, and the root of each tree; leaf numbers are those of the forest's `leaf_kinds`."""

    def __init__(self, forest: Forest, keys: Keys, leaf_kinds: list[int]):
        self.nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}
        self._keys = keys
        self._made: dict[int, int] = {}
        self._leaf_kinds = leaf_kinds
        self._orders: dict[int, list[int]] = {}
        for node in reversed(forest.order):
            self._made[node] = self._node(forest, node)
        self.roots = [self._pruned(self._child(root)) for root in forest.roots.tolist()]

    @cached_property
    def reached(self) -> frozenset[int]:
        """The nodes that trees reach."""
        return frozenset(at for root in self.roots for at in self.tree(root))

    def tree(self, root: int) -> list[int]:
        """The nodes below and with a root, each before its children; of two subtrees the smaller one comes first."""
        if root not in self._orders:
            self._orders[root] = self._ordered(root)
        return self._orders[root]

    def _ordered(self, root: int) -> list[int]:
        sizes: dict[int, int] = {}
        for at in self._bottom_up(root, lambda children: children):
            sizes[at] = 1 + sum(sizes[child] for child in self._children(at))
        return self._bottom_up(root, lambda children: sorted(children, key=lambda child: (sizes[child], child)))[::-1]

    def _children(self, at: int) -> list[int]:
        return [child for child in (self.nodes[at].low, self.nodes[at].high) if child >= 0]

    def _bottom_up(self, root: int, sort: Callable[[list[int]], list[int]]) -> list[int]:
        """The nodes below and with a root, each after its children; of these the last one in the order of `sort` comes first."""
        order: list[int] = []
        seen: set[int] = set()
        waiting = [(root, False)] if root >= 0 else []
        while waiting:
            at, is_left = waiting.pop()
            if is_left:
                order.append(at)
            elif at not in seen:
                seen.add(at)
                waiting += [(at, True), *((child, False) for child in sort(self._children(at)))]
        return order

    def leaves(self, root: int) -> list[int]:
        """The leaves that a tree reaches, sorted."""
        below = {child for at in self.tree(root) for child in (self.nodes[at].low, self.nodes[at].high)} | {root}
        return sorted(~child for child in below if child < 0)

    def depth(self, root: int) -> int:
        """How many questions the longest way asks."""
        depths: dict[int, int] = {}
        for at in reversed(self.tree(root)):
            depths[at] = 1 + max(depths.get(self.nodes[at].low, 0), depths.get(self.nodes[at].high, 0))
        return depths.get(root, 0)

    def expected_questions(self, root: int) -> float:
        """How many questions a row is asked where each answer is as likely as the other."""
        expected: dict[int, float] = {}
        for at in reversed(self.tree(root)):
            expected[at] = 1 + (expected.get(self.nodes[at].low, 0.0) + expected.get(self.nodes[at].high, 0.0)) / 2
        return expected.get(root, 0.0)

    def _child(self, child: int) -> int:
        return self._made[child] if child >= 0 else ~self._leaf_kinds[~child]

    def _ask(self, question: Question, limit: int, low: int, high: int) -> int:
        """The number of such a node; of a child where the answer is known or does not matter."""
        smallest = self._keys.smallest - (self._keys.is_float and not question.nan_high)
        largest = self._keys.largest + (self._keys.is_float and question.nan_high)
        if low == high or limit >= largest:
            return low
        if limit < smallest:
            return high
        return self._numbered(Node(question, limit, low, high))

    def _numbered(self, node: Node) -> int:
        if node not in self._numbers:
            self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return self._numbers[node]

    def _node(self, forest: Forest, node: int) -> int:
        keys = self._keys
        mode, feature, limit = Mode(int(forest.modes[node])), int(forest.features[node]), float(forest.thresholds[node])
        true, false = self._child(int(forest.true[node])), self._child(int(forest.false[node]))
        missing = bool(forest.missing[node]) and keys.is_float
        if mode in (Mode.LEQ, Mode.LT):
            last = keys.up_to(limit) if mode is Mode.LEQ else keys.below(limit)
            return self._ask(self._question(feature, not missing), last, true, false)
        if mode in (Mode.GT, Mode.GTE):
            last = keys.largest if limit != limit else keys.up_to(limit) if mode is Mode.GT else keys.below(limit)
            return self._ask(self._question(feature, missing), last, false, true)
        members = forest.members[node].tolist() if mode is Mode.MEMBER else [limit]
        if mode is Mode.NEQ:
            return self._among(feature, members, false, true)  # NaN differs from everything: it goes where the others go
        inside = self._among(feature, members, true, false)
        return self._ask(self._question(feature, True), keys.largest, inside, true) if missing else inside

    def _question(self, feature: int, nan_high: bool) -> Question:
        return Question(nan_high if self._keys.is_float else True, feature)

    def _among(self, feature: int, members: list[float], inside: int, outside: int) -> int:
        """To `inside` for the values of a set, else to `outside`; NaN goes outside. The limits between both are halved."""
        limits: list[int] = []  # outside up to the first, inside up to the second, and so on
        spans = sorted((self._keys.below(member), self._keys.up_to(member)) for member in members if member == member)
        for first, last in spans:
            if first >= last:
                continue
            if limits and limits[-1] >= first:
                limits[-1] = max(limits[-1], last)
            else:
                limits += [first, last]
        question = self._question(feature, True)

        def halved(low: int, high: int) -> int:
            if low == high:
                return inside if low % 2 else outside
            middle = (low + high) // 2
            return self._ask(question, limits[middle], halved(low, middle), halved(middle + 1, high))

        return halved(0, len(limits))

    def _pruned(self, root: int) -> int:
        """The root without questions that those above them decide; as it is where that would take too long."""
        if self.depth(root) > DEEPEST:
            return root
        left = [_SPARE_VISITS + 4 * len(self.tree(root))]

        def pruned(at: int, known: dict[Question, tuple[int, int]]) -> int:
            if at < 0:
                return at
            left[0] -= 1
            if left[0] < 0:
                return at
            node = self.nodes[at]
            low, high = known.get(node.question, (self._keys.smallest - 1, self._keys.largest + 1))
            if high <= node.limit:
                return pruned(node.low, known)
            if low > node.limit:
                return pruned(node.high, known)
            at_most = pruned(node.low, {**known, node.question: (low, node.limit)})
            above = pruned(node.high, {**known, node.question: (node.limit + 1, high)})
            return self._ask(node.question, node.limit, at_most, above)

        return pruned(root, {})
