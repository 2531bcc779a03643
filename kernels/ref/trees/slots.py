# SPDX-License-Identifier: MIT
"""The numbers that the nodes of a forest compare: slots of one row, each with a type, and a limit for each question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aidge_build.graph.dtype import DType

from .diagram import Diagram, Node, Question
from .keys import Keys

MOST_LIMITS = 255  # of a slot of one byte: ranks from 0 to 255


@dataclass(frozen=True)
class Slots:
    """`places` has (slot, limit) for each (question, limit of keys): where the key is at most the one, the slot is at most the
    other. `questions` and `limits` are those of each slot, where slots are computed; ranks count limits below the key."""

    type: DType
    places: Mapping[tuple[Question, int], tuple[int, int]]
    questions: tuple[Question, ...] = ()
    limits: tuple[tuple[int, ...], ...] = ()

    def place(self, node: Node) -> tuple[int, int]:
        """(slot, limit) of a node."""
        return self.places[node.question, node.limit]

    @property
    def count(self) -> int:
        """How many slots are computed for each row."""
        return len(self.questions)

    @property
    def bytes(self) -> int:
        """The scratch bytes of computed slots: whole double-words, so that anything may follow."""
        return -(-self.count * self.type.size_bytes // 8) * 8


def _limits(nodes: Iterable[Node]) -> tuple[Counter[Question], dict[Question, list[int]]]:
    """How often each question is asked, the most frequent ones first among those with NaN at one end; and its limits."""
    uses: Counter[Question] = Counter()
    limits: dict[Question, set[int]] = {}
    for node in nodes:
        uses[node.question] += 1
        limits.setdefault(node.question, set()).add(node.limit)
    order = sorted(uses, key=lambda question: (not question.nan_high, -uses[question], question.feature))
    return Counter({question: uses[question] for question in order}), {one: sorted(limits[one]) for one in order}


def direct(keys: Keys, nodes: list[Node]) -> Slots:
    """The features themselves, which must be integers."""
    return Slots(keys.type, {(node.question, node.limit): (node.question.feature, node.limit) for node in nodes})


def of_keys(keys: Keys, nodes: list[Node]) -> Slots:
    """The keys of the features that are asked for."""
    uses, _ = _limits(nodes)
    numbers = {question: slot for slot, question in enumerate(uses)}
    places = {(node.question, node.limit): (numbers[node.question], node.limit) for node in nodes}
    return Slots(keys.type, places, tuple(uses), tuple(() for _ in uses))


def of_ranks(nodes: list[Node]) -> Slots:
    """For each feature how many limits lie below its key, one byte; features with many limits have several slots."""
    _, limits = _limits(nodes)
    places, questions, parts = {}, [], []
    for question, found in limits.items():
        for first in range(0, len(found), MOST_LIMITS):
            part = tuple(found[first : first + MOST_LIMITS])
            places.update({(question, limit): (len(questions), rank) for rank, limit in enumerate(part)})
            questions.append(question)
            parts.append(part)
    return Slots(DType.uint8, places, tuple(questions), tuple(parts))


def nodes_of(diagram: Diagram) -> list[Node]:
    """The nodes that trees reach, each as often as trees do."""
    return [diagram.nodes[at] for root in diagram.roots for at in diagram.tree(root)]
