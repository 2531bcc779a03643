# SPDX-License-Identifier: MIT
"""./sconsw mutants: puts small faults into the rooms that prove things, and says which no test notices.

Exit 0 if at most one mutant in twenty survives, 1 if more do, 2 if some could not be tried.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tools.mutants.collected import verdicts
from tools.mutants.equivalent import argued
from tools.mutants.guards import chosen, guards_of
from tools.mutants.rooms import ROOMS, Room
from tools.mutants.sites import Mutant, mutants
from tools.mutants.trial import Verdict
from tools.testmap.entries import TestMap
from tools.testmap.reads import ROOT
from tools.testmap.session import preload

TOLERATED = 20  # one survivor in so many
KILLED, EQUIVALENT, SURVIVED, UNTRIED = ENDS = (
    "killed",
    "equivalent (argued in tools/mutants/equivalent.toml)",
    "survived",
    "not tried",
)


def main(words: Sequence[str]) -> int:
    """Runs a sample; prints one line per mutant, then the survivors with their change."""
    options = _options(words)
    rooms = [room for room in ROOMS if not options.rooms or room.name in options.rooms.split(",")]
    sample = sampled(all_mutants(rooms), options.seed, options.count, options.only)
    preload()
    os.chdir(ROOT)
    reasons, survivors, ends = argued(), [], Counter()
    for number, verdict in enumerate(_tried(sample, rooms, options.jobs), 1):
        end, line = _end(verdict, reasons)
        ends[end] += 1
        if end == SURVIVED:
            survivors.append(verdict)
        _say(f"{number}/{len(sample)}  {verdict.mutant.file}:{verdict.mutant.line}: {verdict.mutant.kind}: {line}")
    for verdict in survivors:
        print(_difference(verdict))
    print(f"seed {options.seed}: {len(sample)} mutants, " + ", ".join(f"{ends[end]} {end}" for end in ENDS))
    return 2 if ends[UNTRIED] else int(len(survivors) * TOLERATED > len(sample))


def all_mutants(rooms: Sequence[Room]) -> list[Mutant]:
    """Every mutant of the rooms, in the order of rooms, files and lines."""
    files = [file for room in rooms for file in room.sources(ROOT)]
    return [mutant for file in files for mutant in mutants(file, (ROOT / file).read_text(encoding="utf-8"))]


def sampled(found: list[Mutant], seed: int, count: int, only: str = "") -> list[Mutant]:
    """`count` of them (0: all), drawn by `seed`, in the order of the files; `only` is a piece of `file:line`."""
    found = [mutant for mutant in found if only in f"{mutant.file}:{mutant.line}:"]
    if not count or count >= len(found):
        return found
    return [found[index] for index in sorted(random.Random(seed).sample(range(len(found)), count))]


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./sconsw mutants", description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--rooms", default="", help=f"with commas between them (default: {','.join(room.name for room in ROOMS)})"
    )
    parser.add_argument("--seed", type=int, default=1, help="which sample")
    parser.add_argument("--count", type=int, default=60, help="how many mutants; 0 means all")
    parser.add_argument("--only", default="", help="a piece of file:line: ; only mutants there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="so many at a time")
    options = parser.parse_args(words)
    for name in filter(None, options.rooms.split(",")):
        if name not in {room.name for room in ROOMS}:
            parser.error(f"there is no room '{name}'; rooms: {', '.join(room.name for room in ROOMS)}")
    return options


def _tried(sample: Sequence[Mutant], rooms: Sequence[Room], jobs: int) -> Iterator[Verdict]:
    """Tries the mutants, room by room, after the tests of all these rooms are recorded."""
    known = TestMap()
    drawn = [room for room in rooms if any(_room(mutant) == room.name for mutant in sample)]
    guards = {room.name: guards_of(room, known, jobs, _say) for room in drawn}
    for name, own in guards.items():
        yield from verdicts([(mutant, chosen(mutant, own)) for mutant in sample if _room(mutant) == name], ROOT, jobs)


def _room(mutant: Mutant) -> str:
    return mutant.file.split("/")[-2]


def _end(verdict: Verdict, reasons: Mapping[tuple, str]) -> tuple[str, str]:
    """The end of a mutant, one of ENDS, and the words about it."""
    if verdict.error:
        return UNTRIED, f"NOT TRIED: {verdict.error}"
    if verdict.killer:
        return KILLED, f"killed by {verdict.killer}"
    reason = reasons.get(verdict.mutant.identity, "")
    return (EQUIVALENT, f"EQUIVALENT: {reason}") if reason else (SURVIVED, "SURVIVED")


def _difference(verdict: Verdict) -> str:
    mutant = verdict.mutant
    tests = f"{verdict.passed} tests pass" if verdict.passed else "no test comes by"
    occurrence = f" (occurrence {mutant.occurrence})" if mutant.occurrence > 1 else ""
    lines = [f"{mutant.file}:{mutant.line}: in {mutant.function}{occurrence}; {tests}"]
    lines += [f"-   {line}" for line in mutant.before.splitlines()] + [f"+   {line}" for line in mutant.after.splitlines()]
    return "\n".join(lines) + "\n"


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
