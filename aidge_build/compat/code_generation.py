# SPDX-License-Identifier: MIT
"""`aidge_core.export_utils.code_generation` as libraries of the inherited style import it: templates, and copies of files."""

from __future__ import annotations

import os
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.output import write_files
from aidge_build.base.render import render_from
from aidge_build.compat.placeholders import placeholder_names

__all__ = ["copy_file", "generate_file", "generate_str", "value_to_c_literal"]

value_to_c_literal = placeholder_names("export_utils.code_generation")["value_to_c_literal"]


def generate_str(template_path: str | os.PathLike, **values) -> str:
    """Returns the text of a Jinja template, which may include templates of its own folder; AidgeError names the template."""
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


def copy_file(filename: str | os.PathLike, dst_folder: str | os.PathLike, symlink: bool = False) -> None:
    """Copy a file into a folder, which is made where it is not there yet; `symlink` is accepted, and a copy is made."""
    path = Path(filename)
    try:
        write_files({Path(dst_folder) / path.name: path.read_bytes()})
    except OSError as error:
        raise AidgeError(f"cannot be copied: {error.strerror}", where=str(path), code="INPUT") from error
