# SPDX-License-Identifier: MIT
"""Runs one test file in this process, and says what it used and what each of its tests ran."""

from __future__ import annotations

import base64
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from tools.testmap.files import WHOLE, keys_of
from tools.testmap.marks import Marks, outline_of
from tools.testmap.outline import REST
from tools.testmap.reads import LOG, join, unseen
from tools.testmap.session import Watcher, run_pytest

OBJECTS = "AIDGE_TEST_OBJECTS"  # names the folder of compiled objects (tests/conftest.py)
_ALWAYS = ("requirements.lock", "pyproject.toml")  # what every test depends on
_NO_TESTS = 5  # pytest's exit code where a file has none, or skips itself

Uses = dict[str, dict[str, str]]  # file or folder -> keys (files.py), each with its digest


def recorded(test_file: str, store: Path, log: Path, objects: Path) -> dict:
    """Runs the test file: `passed`, the `number` of tests, what it `uses` (without digests yet), and of each test that passed its
    name, its processor time in seconds and its marks. Test files that run together share the folder `objects`."""
    os.environ.update({LOG: str(log), OBJECTS: str(objects)})
    join()
    marks = Marks(store)
    total: dict[str, bytes] = {}
    of_test: dict[str, dict[str, bytes]] = {}

    def take(name: str = "") -> None:
        found = marks.taken()
        total.update({file: _either(total.get(file, b""), own) for file, own in found.items()})
        if name:
            of_test[name] = found

    watcher = Watcher(begins=lambda name: take(), ends=take)
    code = run_pytest([test_file], watcher)
    take()
    with unseen():
        parts = {file: dict(_parts(outline_of(file, store).marks, own)) for file, own in total.items()}
    uses: Uses = {file: {REST: ""} | {part: "" for part, own in found.items() if any(own)} for file, found in parts.items()}
    keys = keys_of(log.read_text(errors="surrogateescape").splitlines())
    for file, key in keys | {(file, WHOLE) for file in (test_file, *_ALWAYS)}:
        uses.setdefault(file, {})[key] = ""
    places = [(file, *_place(parts[file], part)) for file in sorted(parts) for part in sorted(uses[file]) if part in parts[file]]
    tests = [
        [name, round(watcher.seconds[name], 3), _kept(places, found)]
        for name, found in of_test.items()
        if name not in watcher.bad
    ]
    return {"passed": code in (0, _NO_TESTS), "number": len(of_test), "uses": uses, "tests": tests}


def _parts(marks: dict[str, list], own: bytes) -> Iterator[tuple[str, bytes]]:
    """Each function of a file, with its part of the file's marks."""
    begin = 0
    for part, lines in marks.items():
        yield part, own[begin : begin + len(lines)]
        begin += len(lines)


def _place(parts: dict[str, bytes], part: str) -> tuple[int, int]:
    """Where the marks of a function begin and end among those of its file."""
    names = list(parts)
    begin = sum(len(parts[name]) for name in names[: names.index(part)])
    return begin, begin + len(parts[part])


def _kept(places: list[tuple[str, int, int]], found: dict[str, bytes]) -> str:
    """The marks of the functions that the test file uses, by file and name, as text."""
    ordered = b"".join(found[file][begin:end] if file in found else bytes(end - begin) for file, begin, end in places)
    return base64.b85encode(zlib.compress(ordered, 9)).decode()


def _either(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one) | int.from_bytes(other)).to_bytes(len(other))
