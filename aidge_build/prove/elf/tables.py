# SPDX-License-Identifier: MIT
"""The sections, symbols and relocations of an ELF file, read one table at a time: programs and objects have thousands of each
(System V gABI, chapters 4 and 5)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from elftools.elf.elffile import ELFFile

UNDEFINED, ABSOLUTE = 0, 0xFFF1  # section numbers without a section
_FIRST_RESERVED = 0xFF00
_SYMBOL_TABLE, RELA, NOBITS, REL = 2, 4, 8, 9  # types of sections
_KINDS = {1: "object", 2: "function", 3: "section", 4: "file"}
_BINDINGS = {0: "local", 1: "global", 2: "weak"}
_SECTIONS = {32: "10I", 64: "IIQQQQIIQQ"}
_SYMBOLS = {32: "IIIBBH", 64: "IBBHQQ"}
_RELOCATIONS = {(32, REL): "II", (32, RELA): "IIi", (64, REL): "QQ", (64, RELA): "QQq"}


class Section(NamedTuple):
    """A section with its bytes (b"" if the file stores none); `link` and `info` are numbers of other sections."""

    name: str
    type: int
    flags: int
    size_bytes: int
    link: int
    info: int
    entry_bytes: int
    content: bytes


class Entry(NamedTuple):
    """A symbol: `kind` is object, function, section, file or other; `binding` is local, global, weak or ""; `section` is the
    number of its section, or a reserved number."""

    name: str
    value: int
    size_bytes: int
    kind: str
    binding: str
    section: int

    @property
    def has_section(self) -> bool:
        """Whether the symbol has a section."""
        return UNDEFINED < self.section < _FIRST_RESERVED


def sections_of(elf: ELFFile) -> Iterator[Section]:
    """Yields all sections in order; ValueError if one ends beyond the end of the file."""
    elf.stream.seek(0)
    whole = elf.stream.read()
    row, count = _row(elf, _SECTIONS), elf.num_sections()
    if elf["e_shentsize"] != row.size and count:
        raise ValueError(f"headers of sections have {elf['e_shentsize']} bytes")
    headers = whole[elf["e_shoff"] : elf["e_shoff"] + count * row.size]
    if len(headers) != count * row.size:
        raise ValueError("the headers of sections are beyond the end of the file")
    rows = [*row.iter_unpack(headers)]
    names = rows[elf.get_shstrndx()] if rows else ()
    names_at = names[4] if names else 0
    for name, kind, flags, _, offset, size, link, info, _, entry_bytes in rows:
        text = _text(whole, names_at + name)
        if kind != NOBITS and offset + size > len(whole):
            raise ValueError(f"section {text} ends beyond the end of the file")
        content = b"" if kind == NOBITS else whole[offset : offset + size]
        yield Section(text, kind, flags, size, link, info, entry_bytes, content)


def symbol_entries(elf: ELFFile, sections: Sequence[Section]) -> Iterator[Entry]:
    """Yields all symbols, table by table, with the empty first symbol of each table; ValueError if a table is damaged."""
    for table in sections:
        if table.type == _SYMBOL_TABLE:
            names, known = sections[table.link].content, dict[int, str]()
            for row in _rows(elf, table, _SYMBOLS[elf.elfclass]):
                at, value, size, info, _, section = row if elf.elfclass == 32 else (row[0], row[4], row[5], *row[1:4])
                if at not in known:
                    known[at] = _text(names, at)
                yield Entry(known[at], value, size, _KINDS.get(info & 15, "other"), _BINDINGS.get(info >> 4, ""), section)


def relocation_entries(elf: ELFFile, table: Section) -> Iterator[tuple[int, int, int, int | None]]:
    """Yields (offset, kind, symbol, addend) of each relocation; the addend is None if the field itself holds it."""
    bits = 8 if elf.elfclass == 32 else 32
    for place, information, *addend in _rows(elf, table, _RELOCATIONS[elf.elfclass, table.type]):
        yield place, information & (1 << bits) - 1, information >> bits, addend[0] if addend else None


def _row(elf: ELFFile, layouts: dict[int, str]) -> struct.Struct:
    return struct.Struct(("<" if elf.little_endian else ">") + layouts[elf.elfclass])


def _rows(elf: ELFFile, table: Section, layout: str) -> Iterator[tuple]:
    row = _row(elf, {elf.elfclass: layout})
    if table.entry_bytes != row.size:
        raise ValueError(f"entries of section {table.name} have {table.entry_bytes} bytes")
    if len(table.content) % row.size:
        raise ValueError(f"section {table.name} ends within an entry")
    return row.iter_unpack(table.content)


def _text(names: bytes, at: int) -> str:
    return names[at : names.find(b"\0", at)].decode("utf-8", errors="replace")
