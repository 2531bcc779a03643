# SPDX-License-Identifier: MIT
"""Writes a ZIP archive that depends only on the names and contents of its files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # that the format can say
_UNIX, _READABLE = 3, 0o100644 << 16


def zip_of(contents: Mapping[str, bytes]) -> bytes:
    """Returns an archive of the files, sorted by path. They are not compressed, because zlib differs between machines."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for path, data in sorted(contents.items()):
            entry = zipfile.ZipInfo(path, _EARLIEST)
            entry.create_system, entry.external_attr = _UNIX, _READABLE
            archive.writestr(entry, data)
    return made.getvalue()


def names_in(data: bytes) -> frozenset[str]:
    """Returns the paths in an archive; none if it is no archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return frozenset(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError):
        return frozenset()
