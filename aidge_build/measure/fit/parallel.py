# SPDX-License-Identifier: MIT
"""Answers many questions at once: known answers are looked up, a process on each core answers the other questions."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager

from aidge_build.measure.fit.cache import Cache, is_lasting, key_of
from aidge_build.measure.fit.evaluate import evaluate_together, load_once
from aidge_build.measure.fit.evaluation import Evaluation
from aidge_build.measure.fit.question import Question, temporary_folder
from aidge_build.measure.fit.sharing import compilation_key

Show = Callable[[str, int, int], None]  # label, how many, of how many


def answers_of(
    questions: Sequence[Question], cache: Cache, counting: Callable[[], AbstractContextManager[Show]]
) -> list[Evaluation]:
    """The answers in the order of the questions. `counting` shows how far the work is; it begins once all processes have."""
    keys = [key_of(question) for question in questions]
    known = ((key, cache.find(key)) for key in dict.fromkeys(keys))
    found = {key: evaluation for key, evaluation in known if evaluation is not None}
    missing = {key: question for key, question in zip(keys, questions, strict=True) if key not in found}
    groups: dict[str, list[str]] = {}
    for key, question in missing.items():
        groups.setdefault(compilation_key(question), []).append(key)
    work = sorted(groups.values(), key=lambda group: (-len(group), group))
    with _answered([[missing[key] for key in group] for group in work]) as results, counting() as show:
        done = 0
        show("boards", done, len(missing))
        for index, evaluations in results:
            for key, evaluation in zip(work[index], evaluations, strict=True):
                found[key] = evaluation
                if is_lasting(missing[key], evaluation):
                    cache.keep(key, evaluation)
            done += len(evaluations)
            show(f"{evaluations[-1].model} on {evaluations[-1].board}", done, len(missing))
    return [found[key] for key in keys]


@contextmanager
def _answered(work: Sequence[Sequence[Question]]) -> Iterator[Iterator[tuple[int, tuple[Evaluation, ...]]]]:
    """The answers to each group with its number, as they come. Interrupted, no process and no file is left."""
    count = min(len(work), cores())
    if count < 2:
        yield ((index, evaluate_together(group)) for index, group in enumerate(work))
        return
    load_once(work[0][0])
    with temporary_folder() as folder:
        before = set(multiprocessing.active_children())
        executor = ProcessPoolExecutor(count, _context(), _begin, (str(folder),))
        try:
            futures = {executor.submit(evaluate_together, group): index for index, group in enumerate(work)}
            yield _as_they_come(futures)
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()
                process.join()
            raise
        executor.shutdown()


def _as_they_come(futures: dict[Future, int]) -> Iterator[tuple[int, tuple[Evaluation, ...]]]:
    for future in as_completed(futures):
        yield futures[future], future.result()


def cores() -> int:
    """Returns how many processes may run at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _context() -> multiprocessing.context.BaseContext:
    """Returns the way to start processes: on Linux as copies of this one, which have its modules and need not load them."""
    return multiprocessing.get_context("fork" if sys.platform == "linux" else None)


def _begin(folder: str) -> None:
    """Prepares a new process. It only ignores interrupts: the first process handles them, since its folder holds all files.
    SIG_IGN would make the compilers ignore them, too."""
    signal.signal(signal.SIGINT, lambda number, frame: None)
    tempfile.tempdir = folder
