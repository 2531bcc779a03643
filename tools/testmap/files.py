# SPDX-License-Identifier: MIT
"""What a line of the log of reads stands for, and what the files of the checkout hold now.

| key of a file or folder | its digest is made from |
|---|---|
| `REST`, a function's name | that part of a Python file (`outline`) |
| `WHOLE` | the file; the names in the folder |
| `BELOW` | all files in the folder, and below it |
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from tools.testmap.marks import outline_of
from tools.testmap.outline import Outline
from tools.testmap.reads import ROOT

WHOLE, BELOW = "*", "**"
EVERYTHING = ".", BELOW
GONE = ""
# What tools make in the checkout: in none of it is a source.
_MADE = re.compile(
    r"(build|\.git|\.venv|\.hypothesis|examples/[^/]*/build)(/.*)?|(.*/)?(__pycache__|\.\w*_cache|[^/]*\.egg-info)(/.*)?|.*\.dblite"
)
# These find files on their own; any other program is told of its files.
_BUILDERS = {"cmake", "ctest", "ninja", "make", "gmake", "west", "pio", "platformio", "cargo", "arduino-cli", "idf.py"}
_FOR_BUILDERS = ("boards", "examples", "integrations", "kernels", "site_scons")
_PYTHONS = re.compile(r"(python|pip|pytest|scons|aidge-build)[\d.]*")
_TOLD_ALL = re.compile(r".*(gcc|g\+\+|cc|c\+\+|clang(\+\+)?|ld|as|ar|nm|objcopy|objdump|size|readelf)(-\d+)?|qemu-.*")

Key = tuple[str, str]  # file or folder below the root, key


def keys_of(log: Iterable[str]) -> set[Key]:
    """What the lines of a log of reads stand for."""
    return {key for line in log for key in _keys(*line.split(" ", 1))}


def _keys(kind: str, text: str) -> Iterator[Key]:
    if kind == "run":
        yield from _keys_of_program(*json.loads(text))
    elif kind == "list":
        if _is_ours(text) and (ROOT / text).is_dir():
            yield text, WHOLE
    else:
        folder, name = os.path.split(text)
        if os.path.basename(folder) == "__pycache__" and ".opt-" not in name:
            text = os.path.join(os.path.dirname(folder), f"{name.partition('.')[0]}.py")
        if _is_ours(text) and (ROOT / text).is_file():
            yield text, WHOLE


def _keys_of_program(inherits: bool, folder: str, *words: str) -> Iterator[Key]:
    """What a program reads that cannot say so; a Python of this environment says it, if its variables let it."""
    name = os.path.basename(words[0])
    is_python = _PYTHONS.fullmatch(name) is not None
    if _TOLD_ALL.fullmatch(name):
        pass
    elif name == "git" or not inherits or is_python and not words[0].startswith(sys.prefix + os.sep):
        yield EVERYTHING
        return
    elif is_python:
        return
    if name in _BUILDERS:
        yield from ((builders, BELOW) for builders in _FOR_BUILDERS)
    for word in words:
        for place in re.findall(rf"{re.escape(str(ROOT))}(?:/[^\s:;,\"']*)?", word):
            yield from _named(Path(place))
        if not os.path.isabs(word) and os.path.exists(os.path.join(folder, word)):
            yield from _named(Path(os.path.realpath(os.path.join(folder, word))))


def _named(path: Path) -> Iterator[Key]:
    if path == ROOT or not path.is_relative_to(ROOT) or not _is_ours(path.relative_to(ROOT).as_posix()):
        return
    yield path.relative_to(ROOT).as_posix(), BELOW if path.is_dir() else WHOLE


def _is_ours(file: str) -> bool:
    return not _MADE.fullmatch(file)


class Checkout:
    """The files as they are now: each is read once."""

    def __init__(self, store: Path) -> None:
        self._known: dict[Key, str] = {}
        self._outlines: dict[str, Outline] = {}
        self._store = store

    def digest(self, file: str, key: str) -> str:
        """What this part holds; GONE where it is no more."""
        if (file, key) not in self._known:
            self._known[file, key] = self._digest(file, key)
        return self._known[file, key]

    def outline(self, file: str) -> Outline:
        """The parts of a Python file; none where it is gone, or no Python."""
        if file not in self._outlines:
            try:
                self._outlines[file] = outline_of(file, self._store)
            except (OSError, SyntaxError, UnicodeDecodeError):
                self._outlines[file] = Outline({}, {})
        return self._outlines[file]

    def is_newer(self, file: str, key: str, time: float) -> bool:
        """Whether one of its files was written since then (seconds, as files have them)."""
        paths = [ROOT / one for one in (self._below(file) if key == BELOW else [file])]
        return any(path.is_file() and path.stat().st_mtime >= time for path in paths)

    def _below(self, folder: str) -> list[str]:
        return [file for file in self._files if folder == "." or file.startswith(f"{folder}/")]

    def _digest(self, file: str, key: str) -> str:
        path = ROOT / file
        if key == BELOW:
            return _hash(f"{one} {self.digest(one, WHOLE)}" for one in self._below(file))
        if key != WHOLE:
            return self.outline(file).digests.get(key, GONE)
        if path.is_dir():
            return _hash(sorted(name for name in os.listdir(path) if _is_ours(os.path.normpath(os.path.join(file, name)))))
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else GONE

    @cached_property
    def _files(self) -> list[str]:
        found = []
        for folder, folders, names in os.walk(ROOT):
            below = os.path.relpath(folder, ROOT)
            folders[:] = sorted(name for name in folders if _is_ours(os.path.normpath(os.path.join(below, name))))
            found += [file for name in sorted(names) if _is_ours(file := os.path.normpath(os.path.join(below, name)))]
        return found


def _hash(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()[:16]
