# SPDX-License-Identifier: MIT
"""Reads an ELF file into plain values; only this folder imports pyelftools."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from struct import unpack_from

from elftools.common.exceptions import ELFError
from elftools.elf.constants import P_FLAGS, SH_FLAGS
from elftools.elf.elffile import ELFFile

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import split_second_name
from aidge_build.base.reading import open_regular
from aidge_build.prove.elf.attributes import Units, read_attributes
from aidge_build.prove.elf.tables import ABSOLUTE, UNDEFINED, sections_of, symbol_entries

# The suffix of a function or variable that gcc cloned or made local.
_COMPILER_SUFFIX = re.compile(r"(\.(constprop|isra|part|cold|lto_priv|localalias)(\.\d+)*)+$")
# The C++ name of a function or variable outside classes and namespaces: _Z, L if it is static, its length, its name (Itanium C++
# ABI, 5.1.3). Generated code has no other C++ names.
_CPLUSPLUS_NAME = re.compile(r"_ZL?([1-9]\d{0,4})(\D.*)")

_NOTE_SECTIONS = (".note.aidge", ".aidge.note")  # the second for RISC-V
_EXTENSIONS = re.compile(rb"rv(32|64)[a-z0-9_]+")


@dataclass(frozen=True)
class Section:
    """A section that the target sees; `load_address` is the address at which its content is stored (flash for .data), None
    without content.

    `is_loaded`: a segment holds the section, so a loader that reads segments gets the same bytes.
    """

    name: str
    address: int
    size_bytes: int
    load_address: int | None
    writable: bool
    executable: bool
    content: bytes = field(repr=False)
    is_loaded: bool = True

    @property
    def end(self) -> int:
        """The first address after the section."""
        return self.address + self.size_bytes

    def holds(self, address: int) -> bool:
        """Whether the section has a byte at the address."""
        return self.address <= address < self.end

    @property
    def shift(self) -> int:
        """The distance in bytes from the address where it runs to the address where it is stored."""
        return 0 if self.load_address is None else self.load_address - self.address


@dataclass(frozen=True)
class Symbol:
    """A function, variable or absolute symbol; `name` is as in the source, `linked_name` as in the ELF.

    They differ if the compiler appended a clone's suffix, or if C++ encoded the types of parameters into the name.

    `file` is the name of the source file of a local symbol, "" if the ELF does not say it. `is_local`: other files may have a
    symbol of the same name. `is_weak`: any other definition would have been linked instead.
    """

    name: str
    linked_name: str
    address: int
    size_bytes: int
    kind: str
    section: str
    file: str = ""
    is_local: bool = False
    is_weak: bool = field(default=False, repr=False)

    @property
    def end(self) -> int:
        """The first address after the symbol."""
        return self.address + self.size_bytes

    def holds(self, address: int) -> bool:
        """Whether the symbol has a byte at the address."""
        return self.address <= address < self.end


@dataclass(frozen=True)
class Image:
    """An ELF file; `machine` is e.g. "ARM", `notes` the descriptors of the sections of claims, `symbols` in order of address.

    `extensions` is the instruction set that a RISC-V program says it was compiled for, such as "rv32i2p1_m2p0", or "".
    `architecture` is the architecture of a Cortex-M program, e.g. "v7E-M", or "" if its build attributes do not say it;
    `headers_at` are the addresses where a loader of whole segments would put the ELF file's own headers. `digests` are the
    digests of headers at the end of a function's second names.
    """

    path: str
    machine: str
    architecture: str
    entry: int
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    notes: tuple[bytes, ...]
    headers_at: tuple[int, ...]
    by_name: Mapping[str, tuple[Symbol, ...]] = field(repr=False)
    digests: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    is_big_endian: bool = False
    has_64_bits: bool = field(default=False, repr=False)  # pointers of 64 bits
    units: Units | None = field(default=None, repr=False)  # None if the program does not say which units it uses
    extensions: str = field(default="", repr=False)

    def symbol(self, name: str) -> Symbol | None:
        """Returns the symbol called `name` in the source. A clone counts only if the original is gone, a local symbol only if
        there is no global symbol."""
        candidates = self.by_name.get(name, ())
        return min(candidates, key=lambda symbol: (symbol.linked_name != name, symbol.is_local, symbol.linked_name), default=None)

    def section(self, name: str) -> Section | None:
        """Returns the allocated section `name`, or None."""
        return next((section for section in self.sections if section.name == name), None)

    @property
    def first_section(self) -> Section | None:
        """The section that holds the entry point. A whole image may be stored at another address than it runs at: a boot loader
        copies it."""
        return next((section for section in self.sections if section.holds(self.entry)), None)

    def section_of(self, symbol: Symbol) -> Section | None:
        """Returns the allocated section that a symbol belongs to; if several have its name, the section that holds its
        address."""
        named = [section for section in self.sections if section.name == symbol.section]
        inside = (section for section in named if section.holds(symbol.address))
        return next(inside, named[0] if named else None)

    def content(self, symbol: Symbol) -> bytes:
        """Returns the bytes of an object as they are stored; b"" if nothing is stored."""
        section = self.section_of(symbol)
        if section is None or symbol.address < section.address:
            return b""
        offset = symbol.address - section.address
        return section.content[offset : offset + symbol.size_bytes]

    def places_of(self, word: int) -> Iterator[int]:
        """Yields the addresses at which a word is stored, at any alignment."""
        pattern = word.to_bytes(4, "little")
        for section in self.sections:
            at = section.content.find(pattern)
            while at >= 0:
                yield section.address + at
                at = section.content.find(pattern, at + 1)

    def describe(self, address: int) -> str:
        """Returns `symbol+offset` for an address, or the plain number."""
        for symbol in self.symbols:
            if symbol.kind != "absolute" and symbol.address <= address < symbol.address + max(symbol.size_bytes, 1):
                offset = address - symbol.address
                return f"{symbol.linked_name}+0x{offset:x}" if offset else symbol.linked_name
        return f"0x{address:08x}"


def read_image(path: Path) -> Image:
    """Returns the ELF file `path`; AidgeError (ELF) if it is missing or not a linked program."""
    try:
        with open_regular(path, "ELF") as stream:
            return _read(ELFFile(stream), str(path))
    except (ELFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError, zlib.error) as error:
        # pyelftools lets many kinds of error escape on damaged files; all mean the same to the user.
        raise AidgeError(
            f"not a readable ELF file ({error})",
            where=str(path),
            code="ELF",
            hint="name the program that the linker wrote, not an image made from it",
        ) from error


def machine_of(path: Path) -> str:
    """Returns the machine of the ELF file `path` ("ARM"); "" if the file cannot be read."""
    return _said_by(path, _machine)


def architecture_of(path: Path) -> str:
    """Returns the `architecture` of the ELF file `path`; "" if the file cannot be read."""
    return _said_by(path, lambda elf: read_attributes(elf)[0])


def _said_by(path: Path, read: Callable[[ELFFile], str]) -> str:
    try:
        with open_regular(path, "ELF") as stream:
            return read(ELFFile(stream))
    except (ELFError, ValueError, LookupError, TypeError, AttributeError):
        return ""


def _machine(elf: ELFFile) -> str:
    return str(elf["e_machine"]).removeprefix("EM_")


def _refuse_unread(elf: ELFFile, path: str) -> None:
    """Raises AidgeError (ELF) for a file that is not a linked program, and for a cut off file or a compressed section."""
    if elf["e_type"] not in ("ET_EXEC", "ET_DYN"):
        raise AidgeError("is not a linked program", where=path, hint="give the ELF file that the linker wrote", code="ELF")
    for section in elf.iter_sections():
        if section["sh_type"] != "SHT_NOBITS" and section["sh_offset"] + section["sh_size"] > elf.stream_len:
            raise AidgeError(f"section {section.name} ends beyond the end of the file", where=path, hint="link again", code="ELF")
        if section["sh_flags"] & SH_FLAGS.SHF_COMPRESSED and not section.name.startswith(".debug"):
            raise AidgeError(
                f"section {section.name} is compressed", where=path, hint="compress nothing but debug information", code="ELF"
            )


def _read(elf: ELFFile, path: str) -> Image:
    _refuse_unread(elf, path)
    segments = [segment.header for segment in elf.iter_segments() if segment["p_type"] == "PT_LOAD"]
    sections = tuple(_section(section, segments) for section in elf.iter_sections() if _is_allocated(section))
    named = [*_symbols(elf)]
    symbols = tuple(
        sorted(_without_second_names(named), key=lambda symbol: (symbol.address, -symbol.size_bytes, symbol.linked_name))
    )
    by_name: dict[str, list[Symbol]] = {}
    for symbol in symbols:
        by_name.setdefault(symbol.name, []).append(symbol)
    grouped = {name: tuple(members) for name, members in by_name.items()}
    architecture, units = read_attributes(elf)
    return Image(
        path,
        _machine(elf),
        architecture,
        elf["e_entry"],
        sections,
        symbols,
        tuple(_notes(elf, "<" if elf.little_endian else ">")),
        tuple(segment["p_paddr"] for segment in segments if _loads_headers(elf, segment)),
        grouped,
        _digests(named),
        not elf.little_endian,
        elf.elfclass == 64,
        units,
        _extensions(elf),
    )


def _extensions(elf: ELFFile) -> str:
    section = elf.get_section_by_name(".riscv.attributes")
    said = _EXTENSIONS.search(section.data()) if section is not None else None
    return said[0].decode() if said else ""


def _loads_headers(elf: ELFFile, segment) -> bool:
    """Whether the file's own headers are a part of the segment. They do no harm in a segment of zeroed variables, which does not
    count."""
    headers = elf["e_phoff"] + elf["e_phnum"] * elf["e_phentsize"]
    is_zeroed = segment["p_flags"] & P_FLAGS.PF_W and segment["p_filesz"] <= headers
    return segment["p_offset"] == 0 and segment["p_filesz"] > 0 and not is_zeroed


def _is_allocated(section) -> bool:
    """Whether the section has addresses of its own: .tbss has none, it is the template for each thread."""
    flags = section["sh_flags"]
    is_pattern = flags & SH_FLAGS.SHF_TLS and section["sh_type"] == "SHT_NOBITS"
    return bool(flags & SH_FLAGS.SHF_ALLOC) and not is_pattern


def _section(section, segments) -> Section:
    flags, address, size = section["sh_flags"], section["sh_addr"], section["sh_size"]
    has_content = section["sh_type"] != "SHT_NOBITS" and size > 0
    load_address, is_loaded = _load_address(section, segments) if has_content else (None, False)
    return Section(
        section.name,
        address,
        size,
        load_address,
        bool(flags & SH_FLAGS.SHF_WRITE),
        bool(flags & SH_FLAGS.SHF_EXECINSTR),
        section.data() if has_content else b"",
        is_loaded,
    )


def _load_address(section, segments) -> tuple[int, bool]:
    """Returns (load address, whether a segment holds the section's bytes). The address follows from the section's offset in its
    segment, as a segment may begin with ELF headers that are not loaded. The segment with the section's bytes counts if several
    segments have one address (overlays)."""
    found = []
    for segment in segments:
        offset = section["sh_addr"] - segment["p_vaddr"]
        if 0 <= offset and offset + section["sh_size"] <= segment["p_filesz"]:
            found.append((segment["p_offset"] + offset == section["sh_offset"], segment["p_paddr"] + offset))
    is_loaded, address = max(found, key=lambda entry: entry[0], default=(False, section["sh_addr"]))
    return address, is_loaded


def _symbols(elf: ELFFile) -> Iterator[Symbol]:
    sections = [*sections_of(elf)]
    file = ""
    for entry in symbol_entries(elf, sections):
        if entry.kind == "file" or not entry.name and entry.section == UNDEFINED:
            file = entry.name
        if entry.section == UNDEFINED or not entry.name or entry.name.startswith("$"):
            continue
        is_function, is_local = entry.kind == "function", entry.binding == "local"
        # Bit 0 of a function's address says "Thumb" and is no part of the address.
        address = entry.value & ~1 if is_function and elf["e_machine"] == "EM_ARM" else entry.value
        yield Symbol(
            source_name(entry.name),
            entry.name,
            address,
            entry.size_bytes,
            "absolute" if entry.section == ABSOLUTE else entry.kind if entry.kind in ("function", "object") else "other",
            sections[entry.section].name if entry.has_section else "",
            file if is_local else "",
            is_local,
            entry.binding == "weak",
        )


def _without_second_names(symbols: Sequence[Symbol]) -> Iterator[Symbol]:
    """Yields a model's functions and arrays once: users of its header are linked to a second name of the same bytes."""
    places = {(symbol.name, symbol.kind, symbol.address, symbol.size_bytes) for symbol in symbols}
    for symbol in symbols:
        split = split_second_name(symbol.name)
        if split is None or (split[0], symbol.kind, symbol.address, symbol.size_bytes) not in places:
            yield symbol


def _digests(symbols: Sequence[Symbol]) -> dict[str, tuple[str, ...]]:
    """Returns the digests at the end of functions' second names, by the first name."""
    splits = [split_second_name(symbol.name) for symbol in symbols if symbol.kind == "function"]
    found: dict[str, tuple[str, ...]] = {}
    for name, digest in sorted({split for split in splits if split}):
        found[name] = (*found.get(name, ()), digest)
    return found


def source_name(linked_name: str) -> str:
    """Returns the name of a function or variable in the source: without a clone's suffix, without the parameters' types of
    C++."""
    name = _COMPILER_SUFFIX.sub("", linked_name)
    match = _CPLUSPLUS_NAME.fullmatch(name)
    if match is None or int(match[1]) > len(match[2]):
        return name
    return match[2][: int(match[1])]


def _notes(elf: ELFFile, order: str) -> Iterator[bytes]:
    """Yields the descriptors as bytes; a section may hold several notes, each padded to 4 bytes. A note that is cut off yields
    the rest of the section. `order` is "<" for little-endian numbers, ">" for big-endian ones."""
    for section in filter(None, map(elf.get_section_by_name, _NOTE_SECTIONS)):
        yield from _notes_in(section.data() if section["sh_type"] != "SHT_NOBITS" else b"", order)


def _notes_in(content: bytes, order: str) -> Iterator[bytes]:
    position = 0
    while position + 12 <= len(content):
        name_size, size, kind = unpack_from(f"{order}3I", content, position)
        name_at = position + 12
        at = name_at + (name_size + 3) // 4 * 4
        if content[name_at : name_at + name_size] == b"aidge\0" and kind == 1:
            yield content[at : at + size]
        position = at + (size + 3) // 4 * 4
