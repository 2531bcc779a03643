# SPDX-License-Identifier: MIT
"""One mutant against the tests that come by it: killed by the first that fails, or a survivor."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.guards import Guard
from tools.mutants.sites import Mutant, mutated
from tools.testmap.marks import install
from tools.testmap.session import Watcher, answer_of, in_child, run_pytest

# Processor time that a mutant's tests may take: so many times what they take without it, and time to start.
FACTOR, START = 5, 20


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: `killer` is a test's name or how the run ended; "" for a survivor, which passed `passed` tests."""

    mutant: Mutant
    killer: str
    passed: int


def verdicts(tasks: Sequence[tuple[Mutant, list[Guard]]], root: Path, store: Path, jobs: int) -> Iterator[Verdict]:
    """Tries the mutants, `jobs` at a time, and yields what became of them in their order."""
    running: dict[int, int] = {}
    ready: dict[int, Verdict] = {}
    waiting = list(enumerate(tasks))
    for number in range(len(tasks)):
        while number not in ready:
            while waiting and len(running) < jobs:
                index, (mutant, guards) = waiting.pop(0)
                if not guards:
                    ready[index] = Verdict(mutant, "", 0)
                else:
                    running[_start(mutant, guards, root, _answer(store, index))] = index
            if number in ready:
                break
            child, status = os.waitpid(-1, 0)
            if child in running:
                index = running.pop(child)
                ready[index] = _verdict(child, status, *tasks[index], _answer(store, index))
        yield ready.pop(number)


def _answer(store: Path, index: int) -> Path:
    return store / f"verdict-{index}.json"


def _start(mutant: Mutant, guards: Sequence[Guard], root: Path, answer: Path) -> int:
    def work() -> list:
        watcher = Watcher({guard.name: place for place, guard in enumerate(guards)})
        install({str(root / mutant.file): lambda text: mutated(text, mutant)})
        code = run_pytest(["-x", *(guard.name for guard in guards)], watcher)
        return [code, watcher.failed]

    return in_child(work, answer, START + FACTOR * sum(guard.seconds for guard in guards))


def _verdict(child: int, status: int, mutant: Mutant, guards: Sequence[Guard], answer: Path) -> Verdict:
    ended = answer_of(child, answer, wait=False)
    answer.unlink(missing_ok=True)
    if ended is None:
        return Verdict(mutant, f"no end (signal {os.WTERMSIG(status)})" if os.WIFSIGNALED(status) else "the process ended", 0)
    code, failed = ended
    return Verdict(mutant, failed or ("" if code == 0 else f"pytest ended with {code}"), len(guards))
