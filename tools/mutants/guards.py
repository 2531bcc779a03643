# SPDX-License-Identifier: MIT
"""Which test of a room comes by which statement, and what each test costs: by the test map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tools.mutants.rooms import Room
from tools.mutants.sites import MODULE, Mutant
from tools.testmap.entries import Test, TestMap
from tools.testmap.reads import ROOT

# Seconds of processor time that one mutant's tests may cost; what costs more than that in all is left to `./sconsw test`.
BUDGET = 25.0


@dataclass(frozen=True)
class Guard:
    """One test that passes: its cost in seconds of processor time, and (file, line) of the statements it comes by."""

    name: str
    seconds: float
    lines: frozenset[tuple[str, int]]

    @property
    def files(self) -> frozenset[str]:
        return frozenset(file for file, _ in self.lines)


def guards_of(room: Room, known: TestMap, jobs: int, say: Callable[[str], None]) -> list[Guard]:
    """The tests of a room, the quickest first; test files that use what has changed since they last ran, run again."""
    test_files = room.test_files(ROOT)
    outdated = [test_file for test_file in test_files if known.changed(test_file)]
    for run in known.renew(outdated, jobs):
        say(f"{room.name}: recorded what {run.test_file} runs" + ("" if run.passed else f"; it FAILS\n{run.output}"))
    sources = set(room.sources(ROOT))
    guards = [_guard(test, sources) for test_file in test_files for test in known.tests(test_file)]
    return sorted(guards, key=lambda guard: (guard.seconds, guard.name))


def chosen(mutant: Mutant, guards: Sequence[Guard]) -> list[Guard]:
    """The tests to run on a mutant, the quickest first, up to BUDGET: those that come by its statement.

    What runs at import has those that come by nothing, as they look at what importing made, then all that come by its file.
    """
    if runs_at_import(mutant):
        hits = [guard for guard in guards if not guard.lines]
        hits += [guard for guard in guards if mutant.file in guard.files]
    else:
        hits = [guard for guard in guards if (mutant.file, mutant.statement) in guard.lines]
    result, seconds = [], 0.0
    for guard in hits:
        seconds += guard.seconds
        if result and seconds > BUDGET:
            break
        result.append(guard)
    return result


def runs_at_import(mutant: Mutant) -> bool:
    """Module, class bodies, default arguments and decorators run before any test does."""
    last = mutant.function.rsplit(".", 1)[-1].lstrip("_")
    return mutant.function == MODULE or last[:1].isupper() or mutant.before.startswith(("def ", "async def ", "@", "class "))


def _guard(test: Test, sources: set[str]) -> Guard:
    lines = {(file, line) for file, numbers in test.lines.items() if file in sources for line in numbers}
    return Guard(test.name, test.seconds, frozenset(lines))
