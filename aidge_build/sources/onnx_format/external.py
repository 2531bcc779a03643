# SPDX-License-Identifier: MIT
"""Reads files that a model names, and never one outside the model's folder.

Every component of the path is opened without following links, relative to the folder opened before it; so there is no
gap between check and use. (CVE-2022-25882, CVE-2024-27318, CVE-2026-27489, CVE-2026-34446, CVE-2026-34447.)
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from aidge_build.base.errors import AidgeError

LARGEST_BYTES = 256 << 20  # of all external data of one model together


def read_external(model_path: Path | str, locations: Iterable[str]) -> dict[str, bytes]:
    """The bytes of each location, read from below the folder of `model_path`."""
    model_path = Path(model_path)
    contents: dict[str, bytes] = {}
    left = LARGEST_BYTES
    for location in sorted(set(locations)):
        try:
            contents[location] = _read(model_path.parent, location, left)
        except AidgeError as error:
            raise error.within(f"external data '{location}'")
        except OSError as error:
            raise AidgeError(
                f"cannot be read ({error.strerror})",
                where=f"external data '{location}'",
                code="EXTERNAL",
                hint="keep the data file in the folder of the model file, as a regular file, not a link",
            ) from None
        left -= len(contents[location])
    return contents


def _read(folder: Path, location: str, limit: int) -> bytes:
    parts = _confined_parts(location)
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            os.close(at)
            at = below
        # Without O_NONBLOCK the open of a FIFO would wait for a writer.
        file = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    finally:
        os.close(at)
    try:
        status = os.fstat(file)
        _refuse(not stat.S_ISREG(status.st_mode), "it is not a regular file")
        _refuse(status.st_nlink != 1, "it is a hard link", "copy the data file into the folder of the model file")
        _refuse(status.st_size > limit, f"it has {status.st_size} bytes; all external data together may have {LARGEST_BYTES}")
        return _read_all(file, status.st_size)
    finally:
        os.close(file)


def _read_all(file: int, size: int) -> bytes:
    pieces = []
    while size > 0 and (piece := os.read(file, size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _confined_parts(location: str) -> list[str]:
    _refuse("\0" in location or "\\" in location, "the location holds a backslash or NUL")
    _refuse(
        location.startswith("/") or (len(location) > 1 and location[1] == ":"),
        "the location is an absolute path",
        "locations are relative to the model's folder",
    )
    parts = [part for part in location.split("/") if part not in ("", ".")]
    _refuse(".." in parts, "the location leaves the model's folder")
    _refuse(not parts, "the location names no file")
    return parts


def _refuse(condition: bool, what: str, hint: str = "") -> None:
    if condition:
        raise AidgeError(what, hint=hint, code="EXTERNAL")
