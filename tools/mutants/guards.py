# SPDX-License-Identifier: MIT
"""Which test comes by which statement of a room, and what each test costs: measured once for each test file, and kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.loading import install, with_hits
from tools.mutants.rooms import Room
from tools.mutants.session import Watcher, answer_of, in_child, run_pytest
from tools.mutants.sites import MODULE, Mutant

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


def guards_of(room: Room, root: Path, store: Path, say) -> list[Guard]:
    """The tests of a room, the quickest first. What is measured lies in `store`, valid while test file and room are unchanged."""
    guards = []
    for test_file in room.test_files(root):
        kept = store / f"{room.name}.{test_file.replace('/', '.')}.json"
        key = _digest([root / test_file, *(root / source for source in room.sources(root))])
        if not kept.exists() or json.loads(kept.read_text())["key"] != key:
            say(f"which statements {test_file} comes by in {room.name}")
            kept.write_text(json.dumps({"key": key, "tests": _measured(room, test_file, root, store)}))
        guards += [_guard(*entry) for entry in json.loads(kept.read_text())["tests"]]
    return sorted(guards, key=lambda guard: (guard.seconds, guard.name))


def chosen(mutant: Mutant, guards: Sequence[Guard]) -> list[Guard]:
    """The tests to run on a mutant, the quickest first, up to BUDGET: those that come by its statement.

    What runs at import has all that come by its file, and those that come by nothing: they look at what importing made.
    """
    if _runs_at_import(mutant):
        hits = [guard for guard in guards if mutant.file in guard.files or not guard.lines]
    else:
        hits = [guard for guard in guards if (mutant.file, mutant.statement) in guard.lines]
    result, seconds = [], 0.0
    for guard in hits:
        seconds += guard.seconds
        if result and seconds > BUDGET:
            break
        result.append(guard)
    return result


def _runs_at_import(mutant: Mutant) -> bool:
    """Module, class bodies, default arguments and decorators run before any test does."""
    last = mutant.function.rsplit(".", 1)[-1].lstrip("_")
    return mutant.function == MODULE or last[:1].isupper() or mutant.before.startswith(("def ", "async def ", "@", "class "))


def _guard(name: str, seconds: float, lines: dict[str, list[int]]) -> Guard:
    return Guard(name, seconds, frozenset((file, line) for file, numbers in lines.items() for line in numbers))


def _digest(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _measured(room: Room, test_file: str, root: Path, store: Path) -> list:
    """Runs one test file with a room that reports its statements; a file that ends the process guards nothing."""

    def work() -> list:
        hits: set[tuple[str, int]] = set()
        reached: dict[str, set[tuple[str, int]]] = {}

        def begins(_: str) -> None:
            hits.clear()

        def ends(name: str) -> None:
            reached[name] = set(hits)

        watcher = Watcher(begins=begins, ends=ends)
        report = hits.add
        install({str(root / file): with_hits(file, lambda file, line: report((file, line))) for file in room.sources(root)})
        run_pytest([test_file], watcher)
        return [[name, watcher.seconds[name], _by_file(reached[name])] for name in watcher.seconds if name not in watcher.bad]

    answer = store / "answer.json"
    return answer_of(in_child(work, answer), answer) or []


def _by_file(hits: set[tuple[str, int]]) -> dict[str, list[int]]:
    return {file: sorted(line for other, line in hits if other == file) for file in sorted({file for file, _ in hits})}
