# SPDX-License-Identifier: MIT
"""The source files of a program, the files that they include and the symbols that they define, read from debug information."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile

Item = TypeVar("Item")


@dataclass(frozen=True)
class CompiledFile:
    """A source file. Paths are as the compiler saw them; a relative path starts at the compiler's folder."""

    path: str
    included: tuple[str, ...]

    @property
    def name(self) -> str:
        """The file name without its folder."""
        return posixpath.basename(self.path)

    def included_as(self, name: str) -> str:
        """Returns the path of the included file called `name`, or ""."""
        return next((path for path in self.included if posixpath.basename(path) == name), "")


def compiled_files(path: Path) -> tuple[CompiledFile, ...]:
    """Returns the source files of an ELF file.

    The result is empty without readable debug information, which no check depends on.
    """
    return tuple(_read(path, _compiled))


def defined_at(path: Path, names: Collection[str]) -> dict[str, tuple[str, int]]:
    """Returns the source file and the line of functions and variables, by their names.

    A path begins with the compiler's folder. A name that the debug information does not have is absent.
    """
    found: dict[str, tuple[str, int]] = {}
    for name, place in _read(path, _definitions) if names else ():
        if name in names:
            found.setdefault(name, place)
    return found


def _read(path: Path, what: Callable[[Any], Iterator[Item]]) -> list[Item]:
    try:
        with open(path, "rb") as stream:
            elf = ELFFile(stream)
            return [*what(elf.get_dwarf_info())] if elf.has_dwarf_info() else []
    except (OSError, ELFError, DWARFError, ValueError, LookupError, TypeError, AttributeError):
        return []


def _definitions(dwarf) -> Iterator[tuple[str, tuple[str, int]]]:
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        first = 0 if program.header["version"] >= 5 else 1  # the number of the first file
        files = dict(enumerate(_files(program.header), first))
        folder = unit.get_top_DIE().attributes.get("DW_AT_comp_dir")
        for entry in unit.iter_DIE_children(unit.get_top_DIE()):
            known = entry.attributes
            line, number = known.get("DW_AT_decl_line"), known.get("DW_AT_decl_file")
            if entry.tag not in ("DW_TAG_subprogram", "DW_TAG_variable") or "DW_AT_declaration" in known or line is None:
                continue
            # The declaration in a header has the name, the definition in the source has the line.
            named = entry.get_DIE_from_attribute("DW_AT_specification") if "DW_AT_specification" in known else entry
            if number is None:
                number = named.attributes.get("DW_AT_decl_file")
            name = named.attributes.get("DW_AT_name")
            if name is not None and number is not None and number.value in files:
                path = posixpath.join(folder.value.decode() if folder else "", files[number.value])
                yield name.value.decode(), (path, line.value)


def _compiled(dwarf) -> Iterator[CompiledFile]:
    for unit in dwarf.iter_CUs():
        source = unit.get_top_DIE().attributes.get("DW_AT_name")
        program = dwarf.line_program_for_CU(unit)
        if source is not None and program is not None:
            yield CompiledFile(source.value.decode(), tuple(_files(program.header)))


def _files(header) -> Iterator[str]:
    """Yields the paths of the table of files. Folder 0 is the compiler's own; only DWARF 5 lists it in the table of folders."""
    folders = [folder.decode() for folder in header["include_directory"]]
    folders = ["", *(folders[1:] if header["version"] >= 5 else folders)]
    for entry in header["file_entry"]:
        yield posixpath.join(folders[entry.dir_index], entry.name.decode())
