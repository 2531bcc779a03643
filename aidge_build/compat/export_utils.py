# SPDX-License-Identifier: MIT
"""`aidge_core.export_utils` as libraries of the inherited style import it."""

from __future__ import annotations

import os
from pathlib import Path

from aidge_build.compat.export_folder import generate_main, generate_main_compare, scheduler_export
from aidge_build.compat.export_lib import ExportLib
from aidge_build.compat.export_node import ExportNode
from aidge_build.compat.export_node_cpp import ExportNodeCpp
from aidge_build.errors import AidgeError
from aidge_build.output import write_files
from aidge_build.render import render_from

__all__ = [
    "ExportLib",
    "ExportNode",
    "ExportNodeCpp",
    "generate_file",
    "generate_main_compare_cpp",
    "generate_main_cpp",
    "generate_str",
    "scheduler_export",
]

generate_main_cpp = generate_main
generate_main_compare_cpp = generate_main_compare


def generate_str(template_path: str | os.PathLike, **values) -> str:
    """The text of a Jinja template, which may include others beside it; AidgeError names the template."""
    path = Path(template_path)

    def read(name: str) -> str | None:
        found = path.parent / name
        return found.read_text(encoding="utf-8") if found.is_file() else None

    try:
        return render_from(read, path.name, values)
    except AidgeError as error:
        raise error.within(str(path))


def generate_file(file_path: str | os.PathLike, template_path: str | os.PathLike, **values) -> None:
    """Write the text of a Jinja template with these values."""
    write_files({Path(file_path): generate_str(template_path, **values).encode()})
