# SPDX-License-Identifier: MIT
"""The files that a class's own `export` writes, as values: `export` is called with a temporary folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aidge_build.base.errors import AidgeError
from aidge_build.contract.file_named import file_named

INCLUDE = "include/"  # below the export's folder: where the compiler looks for headers


class ExportFolder(str):
    """The path of a folder as releases of the inherited API hand it to `export`: a text, which `/` joins with further ones."""

    def __truediv__(self, name: str) -> Path:
        return Path(self) / name


@dataclass(frozen=True)
class Exported:
    """The files that were written, by their paths below the folder, and what is included, in the order of inclusion."""

    files: Mapping[str, bytes]
    includes: tuple[str, ...]

    def path_of(self, include: str) -> str:
        """The written file that an include names; "" where it names none."""
        return include if include in self.files else file_named(self.files, include) or ""


def exported(node: Any) -> Exported:
    """Calls `node.export`; AidgeError (code LIBRARY) unless it gives a list of includes."""
    with TemporaryDirectory() as folder:
        includes = node.export(ExportFolder(folder))
        found = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
    if not isinstance(includes, list | tuple) or not all(isinstance(name, str | os.PathLike) for name in includes):
        what = f"{type(node).__name__}.export gives {type(includes).__name__}, not the list of what is to be included"
        raise AidgeError(what, code="LIBRARY")
    return Exported(files, tuple(Path(name).as_posix() if isinstance(name, os.PathLike) else name for name in includes))
