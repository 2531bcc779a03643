# SPDX-License-Identifier: MIT
"""The map: for each test file, what it used in its last run with all digests, and for each of its tests the statements it ran."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.testmap.files import BELOW, GONE, WHOLE, Checkout
from tools.testmap.reads import ROOT, let_children_join
from tools.testmap.recording import recorded
from tools.testmap.session import answer_of, in_child

_OWN = ("outline", "marks", "reads", "files", "recording", "entries")  # another one of these records something else
FAILED = "failed"


@dataclass(frozen=True)
class Test:
    """One test that passed: its processor time in seconds, and the lines of the statements that it ran, by file."""

    name: str
    seconds: float
    lines: dict[str, frozenset[int]]


@dataclass(frozen=True)
class Run:
    """How a test file did, the number of its tests, and what pytest printed."""

    test_file: str
    passed: bool
    tests: int
    output: str


class TestMap:
    """What is known from earlier runs, in the folder `build/testmap`; a test file's entry is renewed by running it."""

    __test__ = False  # for pytest, which this name would make collect it

    def __init__(self, folder: Path = ROOT / "build" / "testmap") -> None:
        own = b"".join(Path(__file__).with_name(f"{name}.py").read_bytes() for name in _OWN)
        self._store = folder / hashlib.sha256(sys.version.encode() + own).hexdigest()[:8]
        if not self._store.exists():
            shutil.rmtree(folder, ignore_errors=True)  # what another version of this recorded
            self._store.mkdir(parents=True)
        self._checkout = Checkout(self._store)
        self._entries: dict[str, dict] = {}

    def changed(self, test_file: str) -> list[str]:
        """The files that the test file uses, where they differ from what its last passing run used.

        [FAILED] when it has not passed; [the test file] when it has never run.
        """
        entry = self._entry(test_file)
        if not entry:
            return [test_file]
        different = [
            file
            for file, parts in entry["uses"].items()
            if any(self._checkout.digest(file, key) != digest or digest == GONE for key, digest in parts.items())
        ]
        return sorted(different) or ([] if entry["passed"] else [FAILED])

    def is_known(self, test_file: str) -> bool:
        """Whether the test file has run before."""
        return bool(self._entry(test_file))

    def uses(self, test_file: str, file: str) -> bool:
        """Whether the test file used the file in its last run, by its name or with a folder that is not the whole checkout."""
        uses = self._entry(test_file).get("uses", {})
        return file in uses or any(BELOW in uses.get(folder.as_posix(), ()) for folder in Path(file).parents if folder.name)

    def tests(self, test_file: str) -> list[Test]:
        """The tests of the file that passed in its last run, whose entry must be up to date."""
        entry = self._entry(test_file)
        places = [
            (file, lines)
            for file, parts in sorted(entry.get("uses", {}).items())
            for part in sorted(set(parts) - {WHOLE, BELOW})
            for lines in self._checkout.outline(file).marks.get(part, ())
        ]
        return [Test(name, seconds, _lines(places, kept)) for name, seconds, kept in entry.get("tests", ())]

    def renew(self, test_files: Sequence[str], jobs: int) -> Iterator[Run]:
        """Runs test files, `jobs` at a time, and keeps what they use; yields how each did, as they end."""
        let_children_join()
        running: dict[int, tuple[str, float]] = {}
        waiting = list(test_files)
        with tempfile.TemporaryDirectory() as objects:
            try:
                while waiting or running:
                    while waiting and len(running) < jobs:
                        test_file = waiting.pop(0)
                        running[self._start(test_file, Path(objects))] = test_file, time.time()
                    child, _ = os.waitpid(-1, 0)
                    if child in running:
                        yield self._ended(child, *running.pop(child))
            finally:
                for child in running:  # after Ctrl-C, which reaches no process of another session
                    os.killpg(child, signal.SIGKILL)

    def _start(self, test_file: str, objects: Path) -> int:
        log = self._file(test_file, ".log")
        log.unlink(missing_ok=True)

        def work() -> dict:
            return recorded(test_file, self._store, log, objects)

        return in_child(work, self._file(test_file, ".answer"), output=self._file(test_file, ".out"))

    def _ended(self, child: int, test_file: str, began: float) -> Run:
        answer, output = self._file(test_file, ".answer"), self._file(test_file, ".out")
        found = answer_of(child, answer, wait=False)
        text = output.read_text(errors="replace")
        for file in (answer, output, self._file(test_file, ".log")):
            file.unlink(missing_ok=True)
        entry = found or {"passed": False, "number": 0, "uses": {}, "tests": []}
        for file, parts in entry["uses"].items():
            for key in parts:
                parts[key] = GONE if self._checkout.is_newer(file, key, began) else self._checkout.digest(file, key)
        self._entries[test_file] = entry
        self._file(test_file, ".json").write_text(json.dumps(entry))
        return Run(test_file, entry["passed"], entry["number"], text)

    def _entry(self, test_file: str) -> dict:
        if test_file not in self._entries:
            kept = self._file(test_file, ".json")
            self._entries[test_file] = json.loads(kept.read_text()) if kept.exists() else {}
        return self._entries[test_file]

    def _file(self, test_file: str, suffix: str) -> Path:
        return self._store / f"{test_file.replace('/', '.')}{suffix}"


def _lines(places: Sequence[tuple[str, list[int]]], kept: str) -> dict[str, frozenset[int]]:
    marks = zlib.decompress(base64.b85decode(kept))
    found: dict[str, set[int]] = {}
    for (file, lines), mark in zip(places, marks, strict=True):
        if mark:
            found.setdefault(file, set()).update(lines)
    return {file: frozenset(lines) for file, lines in found.items()}
