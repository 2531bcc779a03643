# SPDX-License-Identifier: MIT
"""The paths of the files of a standalone folder: all in one folder, or as exports of the inherited API have them."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from aidge_build.base.errors import AidgeError
from aidge_build.compat.export_node import derived
from aidge_build.compat.export_node_cpp import ExportNodeCpp
from aidge_build.contract.library import Kernel, Library
from aidge_build.plan.program import Program

LAYOUTS = ("flat", "dnn")
_FOLDER = "dnn"
_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".s", ".S")
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".bin")  # the last is included by the assembler


def require_layout(layout: str) -> None:
    """Refuse any other word (code USAGE)."""
    if layout not in LAYOUTS:
        raise AidgeError(f"layout={layout!r} is unknown", tried=LAYOUTS, code="USAGE")


def is_source(path: str) -> bool:
    """Whether a compiler takes the file."""
    return path.endswith(_SOURCES)


def is_header(path: str) -> bool:
    """Whether a source includes the file."""
    return path.endswith(_HEADERS)


def paths_of(names: Iterable[str], layout: str, language: str) -> dict[str, str]:
    """Generated file -> its path in the folder. A program in C++ has no file that ends in .c."""
    found = {}
    for name in names:
        stem, ending = posixpath.splitext(name)
        path = f"{stem}.cpp" if ending == ".c" and language == "c++" else name
        within = "src/" if is_source(path) else "include/" if is_header(path) else ""
        found[name] = f"{_FOLDER}/{within}{path}" if layout == "dnn" and within else path
    return found


def include_folders(layout: str, generated: Iterable[str], static: Iterable[str]) -> list[str]:
    """The folders in which a compiler looks for headers."""
    if layout == "dnn":
        return [".", f"{_FOLDER}/include"]
    static = list(static)
    has_sources = any(is_source(path) for path in static)
    return sorted({posixpath.dirname(path) for path in static if is_header(path)} - {""}) if has_sources else []


def keeping_files(libraries: Sequence[Library]) -> tuple[Library, ...]:
    """The libraries with kernels that are included from files of the folder, as each class's `export` writes them."""
    return tuple(
        replace(library, kernels=tuple(_keeping(kernel, frozenset(library.static_files)) for kernel in library.kernels))
        for library in libraries
    )


def _keeping(kernel: Kernel, static: frozenset[str]) -> Kernel:
    node_class = kernel.node_class
    if not issubclass(node_class, ExportNodeCpp):
        return kernel
    return replace(kernel, node_class=derived(node_class, {"static_paths": static}))


def kept_files(program: Program) -> dict[str, bytes]:
    """Returns the files that the layers' `export` wrote, by path in the folder; two different files for one path are an error."""
    found: dict[str, bytes] = {}
    for layer in program.layers:
        kept: Mapping[str, bytes] = layer.call.files if issubclass(layer.kernel.node_class, ExportNodeCpp) else {}
        for path, data in kept.items():
            if not os.path.isabs(path) and found.setdefault(f"{_FOLDER}/{path}", data) != data:
                what = f"two layers write different files {path}"
                raise AidgeError(what, where=layer.node.where(), code="LIBRARY", hint="give it the layer's name")
    return found
