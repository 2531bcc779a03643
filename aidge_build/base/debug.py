# SPDX-License-Identifier: MIT
"""Readable values of each stage on stderr: AIDGE_DEBUG=1 tracebacks, 2 graphs, 3 plans, 4 calls;
from 5 on each rewrite of a graph is also computed, before and after it (`recipes/meaning.py`).

AIDGE_LOG=FILE appends the same to a file, with the commands and their errors: the first line of a record begins with "== ", and
its further lines are indented. Nothing in it depends on time, machine or process; nothing that is generated depends on it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

from aidge_build.base.errors import printable
from aidge_build.base.terminal import print_notes

LOGGED = 3  # the level of a log file where AIDGE_DEBUG says none


def level() -> int:
    """The number in AIDGE_DEBUG; 0 when it is not set or no number."""
    text = os.environ.get("AIDGE_DEBUG", "0")
    return int(text) if text.isdecimal() else 0


@contextlib.contextmanager
def shown_from(verbosity: int) -> Iterator[None]:
    """Makes `-v` show, inside the context, what AIDGE_DEBUG=2 shows, and `-vv` what 3 shows; also in programs started there."""
    before = os.environ.get("AIDGE_DEBUG")
    if verbosity:
        os.environ["AIDGE_DEBUG"] = str(max(level(), verbosity + 1))
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("AIDGE_DEBUG", None)
        else:
            os.environ["AIDGE_DEBUG"] = before


def is_shown(wanted: int) -> bool:
    """Whether `show` prints or logs what is of this level: asked once where there are many values."""
    return level() >= wanted or bool(log_file() and (level() or LOGGED) >= wanted)


def show(wanted: int, title: str, value: object) -> None:
    """Prints a value when the debug level is at least `wanted`, and log it when the level of the log file is."""
    if level() >= wanted:
        print_notes([f"--- {title}", *str(value).split("\n")])
    if log_file() and (level() or LOGGED) >= wanted:
        log(f"stage {title}", value)


def log_file() -> str:
    """The path in AIDGE_LOG; "" when there is none."""
    return os.environ.get("AIDGE_LOG", "")


def log(title: str, value: object = "") -> None:
    """Appends a record to the log file, in one piece: other processes may write to it, too.

    A file that cannot be written is said once on stderr, and never keeps anybody from building.
    """
    path = log_file()
    if not path:
        return
    lines = [f"== {printable(title, None)}", *(f"   {printable(line, None)}".rstrip() for line in str(value).splitlines())]
    try:
        with open(path, "ab", buffering=0) as stream:
            stream.write(("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"))
    except OSError as error:
        print_notes([f"aidge-build: AIDGE_LOG: {path}: {error.strerror}; nothing is logged"])
        os.environ.pop("AIDGE_LOG", None)


def log_command(words: Sequence[str]) -> None:
    """The record that begins a command."""
    log(" ".join(["aidge-build", *(f"'{word}'" if " " in word or not word else word for word in words)]))
