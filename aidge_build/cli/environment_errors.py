# SPDX-License-Identifier: MIT
"""Errors that are no faults of the tool: an absent, old or damaged Python package, or a file system that takes no file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from aidge_build.base.errors import AidgeError, MissingTool, failure

_PACKAGE = str(Path(__file__).resolve().parents[1])


def lacking_package(error: Exception) -> MissingTool | None:
    """The refusal that names the packages; None where all are there and the exception is our own."""
    from aidge_build.cli.doctor import required_packages

    wrong = [
        f"{entry.name} is missing"
        if entry.version is None
        else f"{entry.name} {entry.version} {entry.problem.partition(', needed')[0]}"
        for entry in required_packages()
        if entry.problem
    ]
    if wrong:
        return _missing(f"of the Python packages that every command needs, {' and '.join(wrong)}")
    if isinstance(error, ImportError) and not _raised_here(error):
        return _missing(f"a Python package cannot be loaded: it {failure(error)}")
    return None


# The errors of a file system about a path or itself; an absent path (ENOENT) would be a fault of the tool.
_OF_FILE_SYSTEMS = frozenset(
    getattr(errno, name)
    for name in "EROFS EACCES EPERM ENOSPC EDQUOT ENOTDIR EISDIR EEXIST ENAMETOOLONG ELOOP EMFILE ENFILE".split()
    if hasattr(errno, name)
)


def lacking_folder(error: Exception) -> AidgeError | None:
    """The refusal where files cannot be written: no temporary folder is there, or the file system refuses a path (read-only,
    no space, no permission, a file in the place of a folder); None for another exception."""
    if not isinstance(error, OSError):
        return None
    if isinstance(error, FileNotFoundError) and "No usable temporary directory" in str(error):
        return MissingTool("no folder for temporary files is writable", hint="TMPDIR=DIR names one", code="TEMPORARY")
    if error.errno not in _OF_FILE_SYSTEMS:
        return None
    where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes | os.PathLike) else "a file"
    return AidgeError(
        f"cannot be used: {error.strerror}", where=where, hint="check space, permissions and the path", code="WRITE"
    )


def _missing(what: str) -> MissingTool:
    return MissingTool(what, hint="type: ./sconsw in the checkout, or pip install --upgrade aidge_build", code="PACKAGES")


def _raised_here(error: Exception) -> bool:
    """Whether a file of this package raised the error: then the fault is in the tool."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and last.tb_frame.f_code.co_filename.startswith(_PACKAGE)
