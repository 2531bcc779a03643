# SPDX-License-Identifier: MIT
"""Files that a command writes: none of them may be a file that it reads, nor a file of the zoo."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from aidge_build.base.errors import AidgeError

WRITTEN = ("out", "output", "html", "svg", "picture", "sarif", "layer-values", "depfile", "stamp")  # options: files to write
_READ = re.compile(r"MODEL|ELF|FILE|DUMP|PLAN|\w+\.\w+")  # words of the help that stand for a file


def refuse_inputs(arguments: argparse.Namespace, actions: Sequence[argparse.Action]) -> None:
    """AidgeError if a file to write is one that another word names: it would be replaced, or removed by a failed check."""
    for name in WRITTEN:
        path = getattr(arguments, _dest(name), None)
        if path is None or not Path(path).is_file():
            continue
        for word in _files_read(arguments, actions):
            if Path(word).is_file() and Path(word).samefile(path):
                raise _refusal(f"--{name} {path}", f"would replace {word}, which this command reads")


def refuse_zoo(option: str, word: str) -> None:
    """AidgeError for `zoo:NAME` after an option that names a file to write."""
    if option.removeprefix("--") in WRITTEN or option == "-o":
        raise _refusal(f"{option} {word}", "would replace a file that comes with the tool")


def _files_read(arguments: argparse.Namespace, actions: Sequence[argparse.Action]) -> Iterator[str]:
    for action in actions:
        if action.dest in map(_dest, WRITTEN) or not isinstance(action.metavar, str) or not _READ.fullmatch(action.metavar):
            continue
        given = getattr(arguments, action.dest, None)
        yield from (str(word) for word in (given if isinstance(given, list) else [given]) if isinstance(word, str | Path))


def _dest(option: str) -> str:
    return option.replace("-", "_")


def _refusal(where: str, what: str) -> AidgeError:
    return AidgeError(what, where=where, hint="name another file", code="USAGE")
