# SPDX-License-Identifier: MIT
"""A run over seeds of one kind in a forked process: what it loads is loaded once, and no crash or hang of it ends the session."""

from __future__ import annotations

import collections
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tools.fuzz import graphs, kinds, trial
from tools.fuzz.smaller import smaller_bytes, smaller_model

COMPILED = ("graphs", "mutants")  # kinds that become C
MOST_SILENCE = 3600  # seconds of a process that hangs where no alarm of Python reaches it; busy machines are slow


@dataclass(frozen=True)
class Fault:
    """`what` is the same for the same fault; `words` are the command, {folder} and {file} for its places; `data` the file."""

    kind: str
    seed: int
    what: str
    detail: str = ""
    words: tuple[str, ...] = ()
    data: bytes = b""


@dataclass
class Result:
    """How many inputs ended how, and the first input of each fault."""

    outcomes: collections.Counter = field(default_factory=collections.Counter)
    faults: dict[str, Fault] = field(default_factory=dict)
    slowest: tuple[float, int] = (0.0, -1)

    def add(self, seed: int, outcome: str, fault: Fault | None, seconds: float) -> None:
        self.outcomes[outcome] += 1
        self.slowest = max(self.slowest, (seconds, seed))
        if fault:
            self.faults.setdefault(fault.what, fault)


def run(name: str, seeds: range) -> Result:
    """The seeds of a kind; after a crash it goes on behind the seed that crashed."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, result, first = Path(temporary), Result(), seeds.start
        trials = _compiled if name in COMPILED else _of_kind(name, folder)
        while first < seeds.stop:
            for seed, outcome, fault, seconds in _forked(trials, name, range(first, seeds.stop), folder):
                result.add(seed, outcome, fault, seconds)
                first = seed + 1
            if first < seeds.stop:
                result.add(first, "crash", Fault(name, first, "the process died or hung"), 0)
                first += 1
        return result


def _forked(work: Callable[..., Iterator], *arguments) -> Iterator:
    """What `work` yields in another process, as far as that comes."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def send() -> None:
        for one in work(*arguments):
            theirs.send(one)

    process = context.Process(target=send)
    process.start()
    theirs.close()
    try:
        while ours.poll(MOST_SILENCE):
            yield ours.recv()
        process.kill()
    except EOFError:
        pass
    process.join()


def _of_kind(name: str, folder: Path) -> Callable:
    """The trials of a kind whose good files are made now, once."""
    kind = kinds.KINDS[name](folder)

    def trials(name: str, seeds: range, folder: Path) -> Iterator:
        trial.limit_memory()
        known: set[str] = set()
        for seed in seeds:
            words = kind.damaged(Random(f"{name} {seed}"))
            before = time.process_time()
            verdict = trial.run(words)
            seconds, fault = time.process_time() - before, None
            if verdict.kind:
                fault = _fault(name, seed, kind.path, words, verdict, folder, is_new=verdict.fault not in known)
                known.add(verdict.fault)
            yield seed, str(verdict.exit_code), fault, seconds

    return trials


def _fault(name: str, seed: int, path: Path, words: list[str], verdict: trial.Verdict, folder: Path, is_new: bool) -> Fault:
    data = path.read_bytes()

    def fails(smaller: bytes) -> bool:
        path.write_bytes(smaller)
        found = trial.run(words)
        return (found.kind, found.fault) == (verdict.kind, verdict.fault)

    if is_new and verdict.kind != "hang":
        data = (smaller_model if path.suffix == ".onnx" else smaller_bytes)(data, fails)
    general = tuple(word.replace(str(path), "{file}").replace(str(folder), "{folder}") for word in words)
    return Fault(name, seed, f"{verdict.kind} {verdict.fault}", verdict.detail[-1500:], general, data)


def _compiled(name: str, seeds: range, folder: Path) -> Iterator:
    """The models of these seeds as C, many in one program."""
    for first in range(seeds.start, seeds.stop, graphs.TOGETHER):
        before = time.monotonic()
        models = [graphs.made(name, seed) for seed in range(first, min(seeds.stop, first + graphs.TOGETHER))]
        with tempfile.TemporaryDirectory() as work:
            judged = {one.seed: one for one in graphs.judge(models, Path(work))}
        seconds = (time.monotonic() - before) / len(models)
        for model in models:
            one, fault = judged[model.seed], None
            if one.is_fault:
                what = f"{one.outcome}: {one.detail[:80]}"
                fault = Fault(name, model.seed, what, one.detail[-1500:], model.way.words, model.file)
            yield model.seed, "fault" if one.is_fault else one.outcome, fault, seconds
