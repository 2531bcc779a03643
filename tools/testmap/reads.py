# SPDX-License-Identifier: MIT
"""Writes down what this process and the Python processes that it starts read: files, folders, and the programs that they run.

Standard library only: every Python of `.venv` imports it when it starts during a recording (`let_children_join`).
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOG = "AIDGE_TEST_READS"  # names the file that all processes of a test file append to
_INSIDE = f"{ROOT}{os.sep}"
_PROGRAMS = {"subprocess.Popen", "os.posix_spawn", "os.exec", "os.system", "os.spawn"}
_START_LINE = f"import os; os.environ.get({LOG!r}) and __import__('tools.testmap.reads', fromlist=['join']).join()\n"

_seen: set[tuple] = set()
_log = -1
_pauses = 0


def let_children_join() -> None:
    """Makes each Python of this environment call `join` when it starts, as long as the variable LOG is set."""
    start = Path(sysconfig.get_path("purelib"), "aidge_testmap.pth")
    if not start.exists() or start.read_text() != _START_LINE:
        start.write_text(_START_LINE)


def join() -> None:
    """From now on this process appends what it reads to the file that LOG names; children that are forked do, too."""
    global _log
    is_first = _log < 0
    _log = os.open(os.environ[LOG], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    _seen.clear()
    if is_first:
        sys.addaudithook(_hook)


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """What is read inside is written down by the caller, in finer parts than files."""
    global _pauses
    _pauses += 1
    try:
        yield
    finally:
        _pauses -= 1


def _hook(event: str, arguments: tuple) -> None:
    if event == "open":
        _note_path("open", arguments[0])
    elif event in ("os.listdir", "os.scandir"):
        if not _is_import_system():
            _note_path("list", arguments[0] or ".")
    elif event in _PROGRAMS:
        _note_program(event, arguments)


def _is_import_system() -> bool:
    """Whether importlib looks where a module is: which modules there are matters to nobody else."""
    return sys._getframe(2).f_code.co_filename.startswith("<frozen importlib")


def _note_path(kind: str, path: object) -> None:
    if _pauses or not isinstance(path, (str, bytes, os.PathLike)):
        return
    text = os.fsdecode(path)
    if (kind, text) in _seen and os.path.isabs(text):
        return
    _seen.add((kind, text))
    real = os.path.realpath(text)
    if real == str(ROOT) or real.startswith(_INSIDE):
        _write(kind, os.path.relpath(real, ROOT))


def _note_program(event: str, arguments: tuple) -> None:
    if event == "os.system":
        words, environment, folder = ["sh", "-c", os.fsdecode(arguments[0])], None, None
    elif event == "subprocess.Popen":
        _, words, folder, environment = arguments
        words = [words] if isinstance(words, (str, bytes, os.PathLike)) else list(words)
    else:
        words, environment, folder = [arguments[-3], *arguments[-2]], arguments[-1], None
    inherits = environment is None or LOG in environment or LOG.encode() in environment
    _write("run", json.dumps([inherits, os.path.realpath(folder or "."), *map(os.fsdecode, words)]))


def _write(kind: str, text: str) -> None:
    line = f"{kind} {text}\n"
    if line not in _seen:
        _seen.add(line)
        os.write(_log, line.encode("utf-8", "surrogateescape"))
