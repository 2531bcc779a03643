# SPDX-License-Identifier: MIT
"""The origin of a program's C: the files of libraries with text in it, and the licence that each file states."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from aidge_build.build.emit.kernels import KernelFile
from aidge_build.plan.program import Program

# A file's statement of its licence, in the words of SPDX.
LICENCE = re.compile(rb"SPDX-License-Identifier: ([A-Za-z0-9.+()-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+()-]+)*)")


def libraries_of(program: Program, files: Iterable[KernelFile]) -> list[dict]:
    """Returns each library with its files that have text in the code, both sorted; `licence` is None if a file states none."""
    titles = sorted(tuple(file.title.split("/", 1)) for file in files)
    return [
        {"name": name, "files": [_file(path, program.library_files[name][path]) for library, path in titles if library == name]}
        for name in sorted({library for library, _ in titles})
    ]


def _file(path: str, data: bytes) -> dict:
    said = LICENCE.search(data)
    return {"path": path, "sha256": hashlib.sha256(data).hexdigest(), "licence": said[1].decode() if said else None}
