# SPDX-License-Identifier: MIT
"""The points of a matrix: the questions about each, and its row made from the answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from aidge_build.base.errors import AidgeError
from aidge_build.measure.fit.question import Question
from aidge_build.measure.fit.sharing import equivalence_key
from aidge_build.measure.sweep.rows import Row
from aidge_build.measure.sweep.tasks import Task
from aidge_build.measure.sweep.variants import Variant
from aidge_build.measure.sweep.work import Accuracy, accuracy_in, answer_key, evaluation_in, fitting, judging


@dataclass(frozen=True)
class Point:
    """A variant on a board. `question` is None without a model: `refused` gives the reason, or the model is not known yet.
    `evaluation` and `accuracy` are the keys of the answers, "" without a question."""

    variant: Variant
    board: str
    question: Question | None = None
    evaluation: str = ""
    accuracy: str = ""
    refused: AidgeError | None = None

    @property
    def keys(self) -> set[str]:
        """The keys of the answers that belong to the point."""
        return {self.evaluation, self.accuracy} - {""}

    def row(self, answers: Mapping[str, bytes]) -> Row:
        """Returns the row with the answers; "waiting" until there is one about the board."""
        variant = self.variant
        row = Row(variant.model.name, self.board, variant.options.name, variant.model.task, variant.words, "waiting", "")
        if self.refused is not None:
            return replace(row, state="refused", reason=str(self.refused))
        if self.evaluation not in answers:
            return row
        one = evaluation_in(answers[self.evaluation])
        judged = accuracy_in(answers[self.accuracy]) if self.accuracy in answers else None
        if isinstance(judged, Accuracy):
            row = replace(row, accuracy=judged.share, measure=judged.measure)
        return replace(
            row,
            state=one.verdict,
            reason=one.reason,
            ram_bytes=one.ram_bytes,
            arena_bytes=one.arena_bytes,
            io_bytes=one.io_bytes,
            stack_bytes=one.stack_bytes,
            flash_bytes=one.image_bytes,
            constants_bytes=one.constants_bytes,
            instructions=one.instructions,
            instructions_error=one.instructions_error,
            milliseconds=one.milliseconds,
            milliseconds_error=one.milliseconds_error,
            milliseconds_uncached=one.milliseconds_uncached,
            evaluation=self.evaluation,
        )


def points_of(variant: Variant, refused: AidgeError | None = None) -> list[Point]:
    """Returns the variant on each board; without a question if the variant has no model."""
    if variant.awaits_model:
        return [Point(variant, question.board, refused=refused) for question in variant.questions]
    judge = judging_of(variant)
    accuracy = judge.key if judge else ""
    return [Point(variant, question.board, question, answer_key(question), accuracy) for question in variant.questions]


def judging_of(variant: Variant) -> Task | None:
    """Returns the task that counts how often the model is right; None without labels or model."""
    if variant.awaits_model or not variant.labels:
        return None
    return judging(f"accuracy of {variant.title}", variant.to_judge(), variant.labels, str(variant.model.labels))


def groups_of(points: Iterable[Point]) -> list[list[Point]]:
    """Returns the points that share a compilation, in the order of the first of each, so that the points of a model stay
    together."""
    groups: dict[str, list[Point]] = defaultdict(list)
    for point in points:
        if point.question is not None:
            groups[equivalence_key(point.question)].append(point)
    return list(groups.values())


def fitting_of(group: Sequence[Point]) -> Task:
    """Asks about points that share a compilation."""
    more = f" and {len(group) - 1} more" if len(group) > 1 else ""
    return fitting(
        f"{group[0].variant.title}, {group[0].board}{more}", [point.question for point in group if point.question is not None]
    )
