# SPDX-License-Identifier: MIT
"""One mutant against the tests that come by it: killed by the first that fails, or a survivor.

Only a fault kills: if the same tests fail without it, or the run has no end that a fault explains, the mutant was not tried.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tools.mutants.guards import Guard
from tools.mutants.sites import Mutant, mutated
from tools.testmap.marks import install
from tools.testmap.session import IMPORT, Watcher, answer_of, in_child, run_pytest

# Processor time that a mutant's tests may take: so many times what they take without it, and time to start.
FACTOR, START = 5, 20


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: `killer` is a test's name or how the run ended; "" for a survivor, which passed `passed` tests.

    `error` says why the mutant was not tried: it is neither killed nor a survivor.
    """

    mutant: Mutant
    killer: str
    passed: int
    error: str = ""


Task = tuple[Mutant, list[Guard]]
Run = Callable[[Sequence[Guard], Path, Mutant | None], list]  # pytest's exit code and the test that failed, "" if all pass


def alone(guards: Sequence[Guard], root: Path, mutant: Mutant | None) -> list:
    """Runs the tests in a session of their own, which imports the fault."""
    watcher = Watcher({guard.name: place for place, guard in enumerate(guards)})
    if mutant:
        install({str(root / mutant.file): lambda text: mutated(text, mutant)})
    code = run_pytest(["-x", *(guard.name for guard in guards)], watcher)
    return [code, watcher.failed]


def verdicts(tasks: Sequence[Task], root: Path, jobs: int, run: Run = alone) -> Iterator[Verdict]:
    """Tries the mutants, `jobs` at a time, and yields what became of them in their order. `run` is called in a child."""
    start = partial(_start, run, root)
    running: dict[int, int] = {}
    ready: dict[int, Verdict] = {}
    waiting = list(enumerate(tasks))
    with tempfile.TemporaryDirectory() as folder:
        answers = [Path(folder) / f"{index}.json" for index in range(len(tasks))]
        for number in range(len(tasks)):
            while number not in ready:
                while waiting and len(running) < jobs:
                    index, (mutant, guards) = waiting.pop(0)
                    if not guards:
                        ready[index] = Verdict(mutant, "", 0)
                    else:
                        running[start(guards, answers[index], mutant)] = index
                if number in ready:
                    break
                child, status = os.waitpid(-1, 0)
                if child in running:
                    index = running.pop(child)
                    ready[index] = _verdict(child, status, *tasks[index], answers[index], start)
            yield ready.pop(number)


def _start(run: Run, root: Path, guards: Sequence[Guard], answer: Path, mutant: Mutant | None = None) -> int:
    return in_child(lambda: run(guards, root, mutant), answer, START + FACTOR * sum(guard.seconds for guard in guards))


def _verdict(
    child: int, status: int, mutant: Mutant, guards: Sequence[Guard], answer: Path, start: Callable[..., int]
) -> Verdict:
    ended = answer_of(child, answer, wait=False)
    if ended is None and (not os.WIFSIGNALED(status) or os.WTERMSIG(status) == signal.SIGKILL):
        return Verdict(mutant, "", 0, "its process ended without an answer")
    code, failed = ended or (None, "")
    if code == 0:
        return Verdict(mutant, "", len(guards))
    killer = failed or (f"no end (signal {os.WTERMSIG(status)})" if ended is None else f"pytest ended with {code}")
    suspects = [guard for guard in guards if f"{guard.name}::".startswith(f"{failed.removesuffix(IMPORT)}::")] or guards
    without = answer_of(start(suspects, answer), answer)
    if without != [0, ""]:
        return Verdict(mutant, "", 0, f"{killer}; without the fault: {without}")
    return Verdict(mutant, killer, 0)
