# SPDX-License-Identifier: MIT
"""The largest objects in files that are not linked yet: what to look at when a program does not fit."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile


def largest_objects(files: Iterable[Path], in_flash: bool) -> list[tuple[str, int]]:
    """(name, bytes) of functions and variables that need flash, or else RAM, the largest first; initialised variables need both."""
    found: dict[str, int] = {}
    for path in files:
        try:
            with open(path, "rb") as stream:
                found.update(_objects(ELFFile(stream), in_flash))
        except (OSError, ELFError):
            continue
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def _objects(elf: ELFFile, in_flash: bool) -> dict[str, int]:
    table = elf.get_section_by_name(".symtab")
    sizes = {}
    for symbol in table.iter_symbols() if table is not None else ():
        index = symbol["st_shndx"]
        if not isinstance(index, int) or not symbol["st_size"] or symbol["st_info"]["type"] not in ("STT_OBJECT", "STT_FUNC"):
            continue
        section = elf.get_section(index)
        needs_flash, needs_ram = section["sh_type"] != "SHT_NOBITS", bool(section["sh_flags"] & SH_FLAGS.SHF_WRITE)
        if needs_flash if in_flash else needs_ram:
            sizes[symbol.name] = symbol["st_size"]
    return sizes
