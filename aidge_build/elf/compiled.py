# SPDX-License-Identifier: MIT
"""Which source files a program was compiled from and what they included, as its debug information says."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile


@dataclass(frozen=True)
class CompiledFile:
    """A source file; paths are as the compiler saw them, relative ones from its folder."""

    path: str
    included: tuple[str, ...]

    @property
    def name(self) -> str:
        """Without the folder."""
        return posixpath.basename(self.path)

    def included_as(self, name: str) -> str:
        """The path of the included file called `name`, or ""."""
        return next((path for path in self.included if posixpath.basename(path) == name), "")


def compiled_files(path: Path) -> tuple[CompiledFile, ...]:
    """The source files of an ELF file.

    Empty where the program has no debug information or none that can be read: it is a help, and never needed.
    """
    try:
        with open(path, "rb") as stream:
            elf = ELFFile(stream)
            return tuple(_compiled(elf.get_dwarf_info())) if elf.has_dwarf_info() else ()
    except (OSError, ELFError, DWARFError, ValueError, LookupError, TypeError, AttributeError):
        return ()


def _compiled(dwarf) -> Iterator[CompiledFile]:
    for unit in dwarf.iter_CUs():
        source = unit.get_top_DIE().attributes.get("DW_AT_name")
        program = dwarf.line_program_for_CU(unit)
        if source is not None and program is not None:
            yield CompiledFile(source.value.decode(), tuple(_files(program.header)))


def _files(header) -> Iterator[str]:
    """The table of files. Folder 0 is the compiler's own; DWARF 5 has it in the table of folders, earlier versions have not."""
    folders = [folder.decode() for folder in header["include_directory"]]
    folders = ["", *(folders[1:] if header["version"] >= 5 else folders)]
    for entry in header["file_entry"]:
        yield posixpath.join(folders[entry.dir_index], entry.name.decode())
