# SPDX-License-Identifier: MIT
"""The course of a sweep: unanswered questions become tasks, and each answer goes to the file as it comes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing

from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.base.terminal import counting
from aidge_build.measure.sweep.points import Point, fitting_of, groups_of, judging_of, points_of
from aidge_build.measure.sweep.store import Store
from aidge_build.measure.sweep.tasks import Crew, Task, WorkerDied
from aidge_build.measure.sweep.variants import Variant
from aidge_build.measure.sweep.work import accuracy_in, answers_of, is_lasting, model_in, quantizing

Share = tuple[int, int]  # (2, 4): the second of four
WHOLE: Share = (1, 1)


class Course:
    """`asked` tasks were given to the crew, `reused` answers were in the file before, `failed` are tasks without an answer;
    `used` are the keys of all answers that the matrix needs.

    If several machines share the work, each takes every n-th task; every machine needs all quantized models.
    """

    def __init__(self, store: Store, crew: Crew, share: Share = WHOLE):
        self._store, self._crew, self._share = store, crew, share
        self.asked, self.reused = 0, 0
        self.failed: list[AidgeError] = []
        self.used: set[str] = set()

    def run(self, variants: Sequence[Variant]) -> None:
        """Asks for everything that the file does not hold. MissingTool if workers lack something: earlier answers are kept."""
        made = list(self._with_models(variants))
        points = [point for variant, refused in made for point in points_of(variant, refused)]
        concerned = _by_key(points)
        known = self._known(concerned)
        self._store.begin(point.row(known) for point in points)
        judges = {task.key: task for task in (judging_of(variant) for variant, _ in made) if task}
        for asked, value in self._answers("SWEEP", self._tasks(judges, points, known)):
            found = {asked: value} if asked in judges else answers_of(value)
            known |= found
            rows = [point.row(known) for key in found for point in concerned[key]]
            self._store.add({key: one for key, one in found.items() if key in judges or is_lasting(one)}, rows)
        self._note_unjudged(judges, known)

    def _note_unjudged(self, judges: Mapping[str, Task], known: Mapping[str, bytes]) -> None:
        """Records each model with a refused accuracy as a task without an answer."""
        for key, task in judges.items():
            judged = accuracy_in(known[key]) if key in known else None
            if isinstance(judged, AidgeError):
                self.failed.append(judged.within(task.title))

    def _tasks(self, judges: Mapping[str, Task], points: Sequence[Point], known: Collection[str]) -> list[Task]:
        """Returns the unanswered tasks of this machine's share; the share depends on the matrix alone."""
        work: list[Task | list[Point]] = [*judges.values(), *groups_of(points)]
        found = []
        for one in work[self._share[0] - 1 :: self._share[1]]:
            if isinstance(one, Task):
                found += [one] if one.key not in known else []
            else:
                missing = [point for point in one if point.evaluation not in known]
                found += [fitting_of(missing)] if missing else []
        return found

    def _with_models(self, variants: Sequence[Variant]) -> Iterator[tuple[Variant, AidgeError | None]]:
        """Yields each variant with its model, quantized if the options ask for it; or with the error that prevents it."""
        tasks = {
            variant: quantizing(f"quantizing {variant.title}", variant.to_quantize())
            for variant in variants
            if variant.options.quantizes
        }
        known = self._known(task.key for task in tasks.values())
        missing = {task.key: task for task in tasks.values() if task.key not in known}
        for key, value in self._answers("QUANT", list(missing.values())):
            known[key] = value
            self._store.add({key: value})
        for variant in variants:
            made = known.get(tasks[variant].key) if variant in tasks else None
            model = model_in(made) if made is not None else None
            if isinstance(model, AidgeError):
                yield variant, model
            else:
                yield (variant if model is None else variant.quantized(model)), None

    def _known(self, keys: Iterable[str]) -> dict[str, bytes]:
        wanted = set(keys)
        found = self._store.answers(sorted(wanted))
        self.used |= wanted
        self.reused += len(found)
        return found

    def _answers(self, what: str, tasks: Sequence[Task]) -> Iterator[tuple[str, bytes]]:
        """Yields keys and answers as they come. A task that fails costs only its own answer; a tool that a machine lacks ends the
        sweep."""
        titles = {task.key: task.title for task in tasks}
        self.asked += len(tasks)
        if not tasks:
            return
        with closing(self._crew.answers(tasks)) as answers, counting(what) as progress:
            progress("tasks", 0, len(tasks))
            for number, answer in enumerate(answers, 1):
                if answer.value is not None:
                    yield answer.key, answer.value
                elif answer.error is not None:
                    failed = answer.error.within(titles[answer.key])
                    if isinstance(failed, MissingTool) and not isinstance(failed, WorkerDied):
                        raise failed
                    self.failed.append(failed)
                progress(titles[answer.key], number, len(tasks))


def _by_key(points: Iterable[Point]) -> dict[str, list[Point]]:
    """The points that the answer of each task is part of."""
    found: dict[str, list[Point]] = defaultdict(list)
    for point in points:
        for key in point.keys:
            found[key].append(point)
    return found
