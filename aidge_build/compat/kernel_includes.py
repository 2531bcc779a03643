# SPDX-License-Identifier: MIT
"""Files that the files of kernels include, and that their class does not copy.

A class on disk may rely on files that other classes copy into the same export. They are looked up in the class's package.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from aidge_build.contract.file_named import file_named

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
_ENDINGS = (".h", ".hh", ".hpp", ".hxx", ".inc")


@dataclass(frozen=True)
class Included:
    """Further files, by their places in an export, and the first include that no file is; "" when there is none."""

    files: Mapping[str, bytes]
    missing: str


@cache
def further_includes(kernels: tuple[tuple[str, str], ...], static: tuple[str, ...], package: str) -> Included:
    """Returns the files that these files (path on disk, place in an export) include, directly or not, without these files and
    the library's static files; `package` is the folder in which they are looked up."""
    known, waiting, further = [target for _, target in kernels], [path for path, _ in kernels], dict[str, bytes]()
    while waiting:
        path = Path(waiting.pop())
        for name in _INCLUDE.findall(path.read_text(encoding="utf-8", errors="replace")):
            if file_named((*known, *static), name) is not None:
                continue
            found = _beside(path, name) or _in_package(package, name)
            if not found:
                return Included({}, name)
            known.append(f"include/{name.lstrip('./')}")
            further[known[-1]] = Path(found).read_bytes()
            waiting.append(found)
    return Included(further, "")


def package_folder(node_class: type) -> str:
    """The folder of the package to which the class belongs; "" for a class without a file."""
    top = sys.modules.get(node_class.__module__.partition(".")[0])
    file = getattr(top, "__file__", None)
    return str(Path(file).parent) if file else ""


def _beside(path: Path, name: str) -> str:
    found = path.parent / name
    return str(found) if found.is_file() else ""


def _in_package(package: str, name: str) -> str:
    """Returns the only file of the package with a path that ends with the name, or with the name without its leading folders."""
    found = file_named(_headers(package), name) if package else None
    return str(Path(package) / found) if found else ""


@cache
def _headers(package: str) -> tuple[str, ...]:
    return tuple(sorted(path.relative_to(package).as_posix() for path in Path(package).rglob("*") if path.suffix in _ENDINGS))
