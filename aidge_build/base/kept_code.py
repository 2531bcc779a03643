# SPDX-License-Identifier: MIT
"""Compiled code of files that Python does not import, kept in the `__pycache__` of their folder: who may write there may write
the file, too. Python's own files there have other names."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import marshal
import os
import sys
from collections.abc import Callable
from types import CodeType

_TAG = "aidge"  # in names, in the place of a level of optimization


def kept_code(path: str, content: bytes, make: Callable[[], CodeType]) -> CodeType:
    """The code that `make` returns, which depends on nothing but `content`; not made again while that is the same.

    Nothing is kept where `path` is no file, where Python keeps nothing (PYTHONDONTWRITEBYTECODE), and where nobody may write.
    """
    kept = importlib.util.cache_from_source(path, optimization=_TAG)
    head = importlib.util.MAGIC_NUMBER + hashlib.sha256(content).digest()
    with contextlib.suppress(OSError, EOFError, ValueError, TypeError):
        with open(kept, "rb") as file:
            data = file.read()
        if data.startswith(head):
            return marshal.loads(data[len(head) :])
    code = make()
    if not sys.dont_write_bytecode and os.path.isfile(path):
        with contextlib.suppress(OSError):
            _write(kept, head + marshal.dumps(code))
    return code


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
