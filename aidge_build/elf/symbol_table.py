# SPDX-License-Identifier: MIT
"""The symbols and relocations of an ELF file, read a table at a time: programs have thousands of each (gABI, 4 and 5)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Section, SymbolTableSection

UNDEFINED, ABSOLUTE = 0, 0xFFF1
_FIRST_RESERVED = 0xFF00  # indices of sections that are none
_KINDS = {1: "object", 2: "function", 3: "section", 4: "file"}
_BINDINGS = {0: "local", 1: "global", 2: "weak"}
_SYMBOLS = {32: "IIIBBH", 64: "IBBHQQ"}
_RELOCATIONS = {(32, False): "II", (32, True): "IIi", (64, False): "QQ", (64, True): "QQq"}


class Entry(NamedTuple):
    """A symbol: `kind` is "other" for what is none of object, function, section and file, `binding` "" for what is none of
    local, global and weak; `section` the index of its section, or a reserved number."""

    name: str
    value: int
    size_bytes: int
    kind: str
    binding: str
    section: int

    @property
    def has_section(self) -> bool:
        """Whether the index is one of a section."""
        return self.section < _FIRST_RESERVED and self.section != UNDEFINED


def symbol_entries(elf: ELFFile) -> Iterator[Entry]:
    """All symbols, table by table, with the empty one that each begins with; ValueError where a table is damaged."""
    for table in elf.iter_sections():
        if isinstance(table, SymbolTableSection) and table["sh_type"] == "SHT_SYMTAB":
            yield from _entries(elf, table)


def _entries(elf: ELFFile, table: SymbolTableSection) -> Iterator[Entry]:
    names = table.stringtable.data()
    known: dict[int, str] = {}
    for row in _rows(elf, table, _SYMBOLS[elf.elfclass]):
        name_at, value, size, info, _, section = row if elf.elfclass == 32 else (row[0], row[4], row[5], *row[1:4])
        name = known.get(name_at)
        if name is None:
            end = names.find(b"\0", name_at)
            name = known[name_at] = names[name_at : end if end >= 0 else None].decode("utf-8", errors="replace")
        yield Entry(name, value, size, _KINDS.get(info & 15, "other"), _BINDINGS.get(info >> 4, ""), section)


def relocation_entries(elf: ELFFile, table: RelocationSection) -> Iterator[tuple[int, int, int, int | None]]:
    """(place, kind, symbol, addend) of each; the addend is None where it is stored at the place."""
    bits = 8 if elf.elfclass == 32 else 32
    for place, information, *addend in _rows(elf, table, _RELOCATIONS[elf.elfclass, table.is_RELA()]):
        yield place, information & (1 << bits) - 1, information >> bits, addend[0] if addend else None


def _rows(elf: ELFFile, table: Section, layout: str) -> Iterator[tuple]:
    row = struct.Struct(("<" if elf.little_endian else ">") + layout)
    if table["sh_entsize"] != row.size:
        raise ValueError(f"entries of section {table.name} have {table['sh_entsize']} bytes")
    return row.iter_unpack(table.data())
