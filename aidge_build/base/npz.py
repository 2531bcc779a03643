# SPDX-License-Identifier: MIT
"""Arrays of strangers: NPZ files, read without pickles and within a limit."""

from __future__ import annotations

import io
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import read_regular

LARGEST_VECTOR_BYTES = 512 << 20
# zipfile, zlib and numpy let many kinds of error escape on damaged files; all mean the same to the user.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, LookupError, TypeError, ArithmeticError),
    *(AttributeError, RuntimeError, MemoryError, SyntaxError, OSError, tokenize.TokenError),
)


def read_npz(path: Path) -> dict[str, numpy.ndarray]:
    """The arrays of an NPZ file (no pickles)."""
    return arrays_of(read_regular(path, LARGEST_VECTOR_BYTES, "VECTORS"), str(path))


def arrays_of(content: bytes, where: str) -> dict[str, numpy.ndarray]:
    """The arrays of such a file's bytes; `where` names it."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > LARGEST_VECTOR_BYTES:
            raise ValueError(f"its arrays have {unpacked:,} bytes, the limit is {LARGEST_VECTOR_BYTES:,}")
        with numpy.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {key: _array(archive[key], key) for key in archive.files}
    except _DAMAGE as error:
        raise AidgeError(
            f"is not an NPZ file of plain arrays: {error}",
            where=where,
            code="VECTORS",
            hint="numpy.savez(file, x=...) writes one",
        ) from error


def _array(value: object, key: str) -> numpy.ndarray:
    """Returns a member of the archive; ValueError for a member that is no array, which numpy gives as bytes."""
    if not isinstance(value, numpy.ndarray):
        raise ValueError(f"{key} is no array")
    return value
