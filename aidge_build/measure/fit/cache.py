# SPDX-License-Identifier: MIT
"""Answers that were given before, kept by their content. A file in the folder is read as JSON and believed only if it is whole:
damage, and other files there, cost the time of a new answer and nothing more."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Collection
from functools import cache
from importlib import metadata
from pathlib import Path

from aidge_build.base import machine
from aidge_build.base.errors import AidgeError
from aidge_build.base.installed import board_folder, kernel_folder
from aidge_build.base.output import write_files
from aidge_build.base.reading import read_regular
from aidge_build.measure.fit.evaluation import IMAGE, Evaluation, evaluation_of
from aidge_build.measure.fit.question import Question
from aidge_build.measure.fit.sharing import board_of, content_key
from aidge_build.run.toolchain.other_compiler import COMPILER_VARIABLE

FOLDER_VARIABLE = "AIDGE_CACHE"
SCHEMA = 1
_NAME = "aidge-build"
_LARGEST_BYTES = 1 << 20  # of an entry, which has some thousand
_MOST_ENTRIES = 20_000
# Packages that the answer depends on: to compute constants, read models, search for plans, and count instructions.
_PACKAGES = ("numpy", "onnx", "ortools", "unicorn")


def cache_folder() -> Path | None:
    """Returns the folder of kept answers: AIDGE_CACHE, or a folder of the user's cache. None if AIDGE_CACHE is empty, and with a
    compiler of the user's choice, because nothing says when that compiler changes."""
    if os.environ.get(COMPILER_VARIABLE):
        return None
    named = os.environ.get(FOLDER_VARIABLE)
    if named is not None:
        return Path(named) if named else None
    users = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(users) / _NAME


class Cache:
    """The answers below a folder, or none at all. `key` is the key of a question; each answer is a file of its own."""

    def __init__(self, folder: Path | None):
        self._folder = folder / "fit" if folder else None

    def find(self, key: str) -> Evaluation | None:
        """Returns the answer to the question if it is there and whole."""
        path = self._path(key)
        if path is None:
            return None
        try:
            entry = json.loads(read_regular(path, _LARGEST_BYTES))
            evaluation = entry["evaluation"]
            if entry["schema"] != SCHEMA or entry["sha256"] != _sealed(key, evaluation):
                return None
            return evaluation_of(evaluation)
        except (AidgeError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def keep(self, key: str, evaluation: Evaluation) -> None:
        """Writes the answer; does nothing if it cannot be written."""
        path = self._path(key)
        if path is None:
            return
        data = evaluation.as_json()
        text = json.dumps({"schema": SCHEMA, "evaluation": data, "sha256": _sealed(key, data)}, sort_keys=True)
        with contextlib.suppress(AidgeError, OSError):
            write_files({path: text.encode()})

    def tidy(self) -> None:
        """Removes the older half of very many answers."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            entries = list(self._folder.glob("*/*.json"))
            if len(entries) > _MOST_ENTRIES:
                for path in sorted(entries, key=lambda path: path.stat().st_mtime)[: len(entries) // 2]:
                    path.unlink()

    def _path(self, key: str) -> Path | None:
        return self._folder / key[:2] / f"{key}.json" if self._folder else None


def _sealed(key: str, evaluation: object) -> str:
    return hashlib.sha256(json.dumps([key, evaluation], sort_keys=True).encode()).hexdigest()


def is_lasting(question: Question, evaluation: Evaluation) -> bool:
    """Whether nothing is unknown or only predicted because a tool is missing that may be installed tomorrow."""
    uncounted = question.measure and evaluation.instructions_error != 0.0
    return not uncounted and IMAGE not in {figure for figure, _ in evaluation.unknown}


def key_of(question: Question) -> str:
    """Returns a digest of everything that the answer depends on: the question by its content, this tool's own code, and its
    compiler."""
    core = board_of(question.board, question.own_board).core
    compilers = _compiler_versions(core.prefix, core.packages)
    return hashlib.sha256("\n".join([content_key(question), tool_digest(), compilers]).encode()).hexdigest()


@cache
def _compiler_versions(prefix: str, packages: tuple[str, ...]) -> str:
    return " ".join(f"{tool.name} {tool.version()}" for tool in machine.toolchain_of(prefix, packages))


@cache
def tool_digest() -> str:
    """A digest of the tool's own files (modules, templates, kernels, boards) and of the packages that it computes with."""
    found = hashlib.sha256()
    for folder in (Path(__file__).resolve().parents[2], kernel_folder(), board_folder()):
        for path in _files_below(folder):
            data = path.read_bytes()
            found.update(f"{path.relative_to(folder).as_posix()}\0{len(data)}\0".encode() + data)
    found.update(repr([_version_of(name) for name in _PACKAGES]).encode())
    return found.hexdigest()


def _files_below(folder: Path) -> Collection[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
