# SPDX-License-Identifier: MIT
"""Compiled code of files that Python does not import, and of methods that `dataclasses` writes, kept in the `__pycache__` of a
folder: who may write there may write the file, too. Python's own files there have other names."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib.util
import marshal
import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

_TAG = "aidge"  # in names, in the place of a level of optimization
_MOST_TEXTS = 10_000  # of methods: three times as many as the package has


def kept_code(path: str, content: bytes, make: Callable[[], CodeType]) -> CodeType:
    """The code that `make` returns, which depends on nothing but `content`; not made again while that is the same.

    Nothing is kept where `path` is no file, where Python keeps nothing (PYTHONDONTWRITEBYTECODE), and where nobody may write.
    """
    kept = importlib.util.cache_from_source(path, optimization=_TAG)
    head = importlib.util.MAGIC_NUMBER + hashlib.sha256(content).digest()
    found = _read(kept, head)
    if found is not None:
        return found
    code = make()
    if os.path.isfile(path):
        _keep(kept, head, code)
    return code


@contextlib.contextmanager
def kept_methods(path: str = __file__) -> Iterator[None]:
    """Meanwhile `dataclasses` compiles no text of a method that an earlier run has compiled: a quarter of the time of a command.
    The code is kept with its whole text, which it depends on alone, beside the file `path`."""
    kept = importlib.util.cache_from_source(path, optimization=_TAG)
    known: dict[str, CodeType] = _read(kept, importlib.util.MAGIC_NUMBER) or {}
    new: dict[str, CodeType] = {}

    def execute(text: str, *names: Any) -> None:
        code = known.get(text) or new.get(text)
        if code is None:
            code = new[text] = compile(text, "<string>", "exec", dont_inherit=True)
        exec(code, *names)

    vars(dataclasses)["exec"] = execute  # found there before the built-in function
    try:
        yield
    finally:
        del vars(dataclasses)["exec"]
        if new:
            _keep(kept, importlib.util.MAGIC_NUMBER, (known if len(known) < _MOST_TEXTS else {}) | new)


def _read(kept: str, head: bytes) -> Any:
    """Returns what was kept under this head; None if there is nothing, or it is damaged."""
    with contextlib.suppress(OSError, EOFError, ValueError, TypeError):
        with open(kept, "rb") as file:
            data = file.read()
        if data.startswith(head):
            return marshal.loads(data[len(head) :])
    return None


def _keep(kept: str, head: bytes, value: Any) -> None:
    if not sys.dont_write_bytecode:
        with contextlib.suppress(OSError):
            _write(kept, head + marshal.dumps(value))


def _write(path: str, data: bytes) -> None:
    """Writes the whole file or nothing, without waiting for the disk: a lost file is made again."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "xb") as file:
        try:
            file.write(data)
            file.close()
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise
