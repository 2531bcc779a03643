# SPDX-License-Identifier: MIT
"""The course of tuning: unanswered questions become tasks, and each answer goes to the file as it comes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from aidge_build.base.errors import AidgeError
from aidge_build.base.terminal import counting
from aidge_build.measure.fit.question import Question
from aidge_build.measure.sweep.store import Store
from aidge_build.measure.sweep.tasks import Crew, Task
from aidge_build.measure.tune.measured import Measured
from aidge_build.measure.tune.work import Refused, counting_turns, layers_in, measuring, turns_in


class Course:
    """`asked` tasks were given to the crew, `reused` answers were in the file before; `refused` names builds that failed."""

    def __init__(self, store: Store, crew: Crew):
        self._store, self._crew = store, crew
        self.asked, self.reused = 0, 0
        self.refused: list[str] = []

    def run(self, questions: Sequence[Question]) -> list[tuple[Measured, ...]]:
        """Returns the measured layers of each model, the build with the preferred kernels first; () if that build is refused.
        AidgeError if a task fails: earlier answers are kept."""
        counted = self._answers("KERNELS", [counting_turns(question) for question in questions])
        builds: list[list[Task]] = []
        for question, answer in zip(questions, counted, strict=True):
            turns = turns_in(answer)
            builds.append([] if isinstance(turns, Refused) else [measuring(question, turn) for turn in range(turns)])
            if isinstance(turns, Refused):
                self.refused.append(f"{question.model}: {turns.reason}")
        tasks = [task for own in builds for task in own]
        answers = dict(zip((task.key for task in tasks), self._answers("TUNE", tasks), strict=True))
        return [tuple(self._layers(own, answers)) for own in builds]

    def _layers(self, tasks: Sequence[Task], answers: dict[str, bytes]) -> list[Measured]:
        layers: list[Measured] = []
        for task in tasks:
            found = layers_in(answers[task.key])
            if isinstance(found, Refused):
                self.refused.append(f"{task.title}: {found.reason}")
                if task is tasks[0]:
                    break
            else:
                layers += found
        return layers

    def _answers(self, what: str, tasks: Sequence[Task]) -> list[bytes]:
        """Returns the answers in the order of the tasks."""
        known = self._store.answers(sorted({task.key for task in tasks}))
        titles = {task.key: task.title for task in tasks if task.key not in known}
        missing = [task for task in {task.key: task for task in tasks}.values() if task.key not in known]
        self.reused += len(known)
        self.asked += len(missing)
        if missing:
            failed: list[AidgeError] = []
            with closing(self._crew.answers(missing)) as answers, counting(what) as progress:
                progress("builds", 0, len(missing))
                for number, answer in enumerate(answers, 1):
                    if answer.value is not None:
                        known[answer.key] = answer.value
                        self._store.add({answer.key: answer.value})
                    elif answer.error is not None:
                        failed.append(answer.error.within(titles[answer.key]))
                    progress(titles[answer.key], number, len(missing))
            if failed:
                raise failed[0]
        return [known[task.key] for task in tasks]
