# SPDX-License-Identifier: MIT
"""Reads an object file: its sections, the relocations that the linker resolves, and the symbols."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import open_regular
from aidge_build.prove.elf.tables import (
    ABSOLUTE,
    NOBITS,
    REL,
    RELA,
    UNDEFINED,
    Entry,
    Section,
    relocation_entries,
    sections_of,
    symbol_entries,
)

_CONTENTS = (1, NOBITS, 14, 15, 16)  # program, zeroed variables, arrays of constructors and destructors
# The linker writes these again, and the program does not use them.
_UNWINDING = (".ARM.ex", ".eh_frame", ".note", ".gcc_except_table")
_SMALLEST_FIELD = 1
_LTO = (".gnu.lto_", ".llvm.lto")
_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
_ARCHIVES = (b"!<ar", b"!<th")
_DAMAGED = (ELFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError, zlib.error)


class Relocation(NamedTuple):
    """A field that the linker fills in, `offset` bytes from the start of a part: `kind` is a number of the ELF ABI of
    the machine.

    `addend` is None if the field itself holds it.
    """

    offset: int
    kind: int
    symbol: int
    addend: int | None = None


@dataclass(frozen=True)
class Part:
    """A section of an object, which a linker places as a whole; `is_merged`: the linker may unite equal constants of it.

    `entry_bytes` is the size of a constant of a merged part, `is_text` says that the constants are strings that end in a zero.
    `is_shared`: several objects may hold it, and the linker keeps one copy. `is_of_thread`: each thread has a copy, so that its
    addresses in the program count from the begin of all copies.
    """

    index: int
    name: str
    size_bytes: int
    content: bytes = field(repr=False)
    relocations: tuple[Relocation, ...] = field(repr=False)
    is_merged: bool
    is_text: bool
    entry_bytes: int
    is_shared: bool
    is_writable: bool
    is_of_thread: bool = False

    @property
    def is_zero(self) -> bool:
        """Whether it holds zeroed variables, which a linker script may store nowhere."""
        return self.is_writable and not self.relocations and not any(self.content)


class ObjectSymbol(NamedTuple):
    """A symbol of an object; `part` is the index of its section, None if another file defines the symbol or it has no section.

    `value` is the offset in the part without the Thumb bit, which is `is_thumb`.
    """

    name: str
    part: int | None
    value: int
    size_bytes: int
    kind: str
    binding: str
    is_thumb: bool


@dataclass(frozen=True)
class ObjectFile:
    """An object file for a `machine` such as "ARM"; `refusal` says why its bytes cannot be the linked bytes, "" if they can."""

    name: str
    parts: Mapping[int, Part] = field(repr=False)
    symbols: tuple[ObjectSymbol, ...] = field(repr=False)
    refusal: str = ""
    machine: str = ""

    def part_of(self, symbol: ObjectSymbol) -> Part | None:
        """Returns the part that a symbol is in; None if another file defines it."""
        return None if symbol.part is None else self.parts.get(symbol.part)

    def names_of(self, part: int) -> list[ObjectSymbol]:
        """Returns the functions and objects of a part, in order of their offsets."""
        return self._names.get(part, [])

    @cached_property
    def _names(self) -> dict[int | None, list[ObjectSymbol]]:
        found: dict[int | None, list[ObjectSymbol]] = {}
        named = [symbol for symbol in self.symbols if symbol.kind not in ("section", "file", "label") and symbol.name]
        for symbol in sorted(named, key=lambda symbol: (symbol.value, symbol.name)):
            found.setdefault(symbol.part, []).append(symbol)
        return found


class LinkedName(NamedTuple):
    """A symbol of the program: `value` has bit 0 set for a Thumb function."""

    value: int
    is_function: bool
    is_local: bool

    @property
    def address(self) -> int:
        """The address without the Thumb bit."""
        return self.value & ~1 if self.is_function else self.value

    @property
    def thumb(self) -> int:
        """The Thumb bit that a reference adds to the address."""
        return self.value & 1 if self.is_function else 0


def read_object(path: Path) -> ObjectFile:
    """Returns the object file `path`; AidgeError (OBJECT) if it is missing or not an object file."""
    try:
        with open_regular(path, "OBJECT") as stream:
            begin = stream.read(4)
            if begin in _BITCODE:
                return ObjectFile(path.name, {}, (), "it was compiled with -flto")
            if begin in _ARCHIVES:
                raise AidgeError("is an archive", where=str(path), hint="name the objects that are in it", code="OBJECT")
            stream.seek(0)
            return _read(ELFFile(stream), path)
    except _DAMAGED as error:
        raise AidgeError(
            f"not a readable object file ({error!s:.80})",
            where=str(path),
            hint="name what the compiler wrote, N.o",
            code="OBJECT",
        ) from error


def read_names(path: Path) -> dict[str, tuple[LinkedName, ...]]:
    """Returns every symbol of a linked program by its name in the linker, without the mapping symbols ($t, $d)."""
    with open_regular(path, "ELF") as stream:
        try:
            found: dict[str, list[LinkedName]] = {}
            for name, linked in _linked_names(ELFFile(stream)):
                found.setdefault(name, []).append(linked)
        except _DAMAGED as error:
            raise AidgeError(
                f"not a readable ELF file ({error!s:.80})", where=str(path), hint="name the program that was linked", code="ELF"
            ) from error
    return {name: tuple(sorted(group, key=lambda linked: linked.value)) for name, group in found.items()}


def _linked_names(elf: ELFFile) -> Iterator[tuple[str, LinkedName]]:
    for entry in symbol_entries(elf, [*sections_of(elf)]):
        is_mark = entry.binding == "local" and entry.name.startswith("$")  # a mapping symbol, which nothing refers to by name
        if entry.section != UNDEFINED and entry.name and entry.kind not in ("file", "section") and not is_mark:
            yield entry.name, LinkedName(entry.value, entry.kind == "function", entry.binding == "local")


def _read(elf: ELFFile, path: Path) -> ObjectFile:
    if elf["e_type"] != "ET_REL":
        raise AidgeError(
            "is not an object file",
            where=str(path),
            hint="name what the compiler wrote, N.o, and the program last",
            code="OBJECT",
        )
    if not elf.little_endian:
        return ObjectFile(path.name, {}, (), "it is big-endian")
    sections = [*sections_of(elf)]
    if any(section.name.startswith(_LTO) for section in sections):
        return ObjectFile(path.name, {}, (), "it was compiled with -flto")
    relocations = _relocations(elf, sections)
    parts = {
        index: _part(index, section, relocations.get(index, ()))
        for index, section in enumerate(sections)
        if section.flags & SH_FLAGS.SHF_ALLOC and section.type in _CONTENTS and not section.name.startswith(_UNWINDING)
    }
    symbols = tuple(map(_object_symbol, symbol_entries(elf, sections)))
    for part in parts.values():
        _refuse_damaged(part, len(symbols))
    return ObjectFile(path.name, parts, symbols, machine=str(elf["e_machine"]).removeprefix("EM_"))


def _refuse_damaged(part: Part, symbols: int) -> None:
    if part.is_merged and not part.entry_bytes:
        raise ValueError(f"section {part.name} has constants of no size")
    for relocation in part.relocations:
        if relocation.symbol >= symbols or relocation.offset + _SMALLEST_FIELD > len(part.content):
            raise ValueError(f"a relocation of {part.name} is of no symbol, or of no place in it")


def _part(index: int, section: Section, relocations: tuple[Relocation, ...]) -> Part:
    return Part(
        index,
        section.name,
        section.size_bytes,
        section.content,
        relocations,
        bool(section.flags & SH_FLAGS.SHF_MERGE) and not relocations,  # constants that hold addresses are not united
        bool(section.flags & SH_FLAGS.SHF_STRINGS),
        section.entry_bytes,
        bool(section.flags & SH_FLAGS.SHF_GROUP),
        bool(section.flags & SH_FLAGS.SHF_WRITE),
        bool(section.flags & SH_FLAGS.SHF_TLS),
    )


def _relocations(elf: ELFFile, sections: Sequence[Section]) -> dict[int, tuple[Relocation, ...]]:
    found: dict[int, list[Relocation]] = {}
    for section in sections:
        if section.type in (REL, RELA):
            found.setdefault(section.info, []).extend(Relocation(*entry) for entry in relocation_entries(elf, section))
    return {index: tuple(sorted(group, key=lambda one: (one.offset, one.kind))) for index, group in found.items()}


def _object_symbol(entry: Entry) -> ObjectSymbol:
    is_thumb = entry.kind == "function" and bool(entry.value & 1)
    return ObjectSymbol(
        entry.name,
        entry.section if entry.has_section else None,
        entry.value - is_thumb,
        entry.size_bytes,
        "absolute" if entry.section == ABSOLUTE else "label" if entry.name.startswith("$") else entry.kind,
        entry.binding or "global",
        is_thumb,
    )
