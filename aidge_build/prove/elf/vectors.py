# SPDX-License-Identifier: MIT
"""The vector tables of a Cortex-M program: the initial stack pointer and the handlers of the core."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from aidge_build.prove.elf.image import Image, Section, Symbol

_SECTIONS = (".vectors", ".isr_vector")
# The table's address is a multiple of 128 or more (Armv7-M Architecture Reference Manual, B3.2.5); 16 words are the core's own.
_ALIGNMENT = 128
_LEAST_BYTES = 64
_MOST_WORDS = 16 + 496
# Names of tables that the program fills while it runs: ram_vector_table, __vectors_ram, g_pfnRAMVectors.
_RAM_TABLE = re.compile(r".*(ram_*(isr|vec)|(isr_*)?vec(tor)?s?(_*table)?_*(in_)?ram).*", re.IGNORECASE)


@dataclass(frozen=True)
class VectorTable:
    """The table at `address`: the initial stack pointer, the address of the reset handler, and the addresses of all other
    handlers."""

    address: int
    stack: int
    reset: int
    handlers: tuple[int, ...]


def find_tables(image: Image) -> tuple[VectorTable, ...]:
    """Returns the tables in memory that the program does not write, the table of the ELF's entry first, then by address; none for
    another machine, which has instructions in a section of this name.

    A table is a section of its own, or a part of .text that holds an address for the stack and then handlers. Without such a
    table, returns the tables in a section that a linker script made of code, constants and variables.
    """
    if image.machine != "ARM":
        return ()
    functions = _functions(image)
    constant = _constant(image)
    named = [section for section in constant if section.name in _SECTIONS and section.size_bytes >= 8]
    found = [_table(section, section.address, section.end) for section in named]
    for sections in (constant, _merged(image)):
        found = found or [table for section in sections for table in _in_section(image, section, functions)]
    return tuple(sorted(found, key=lambda table: (table.reset != image.entry & ~1, table.address)))


def table_at(image: Image, address: int) -> VectorTable | None:
    """Returns the table at an address that the program gives the core, with its content at the start; None if nothing is stored
    there."""
    stored = (part for part in image.sections if part.content)
    section = next((part for part in stored if part.address <= address and address + 8 <= part.end), None)
    return _found(image, section, address, _functions(image)) if section else None


def _functions(image: Image) -> set[int]:
    return {symbol.address for symbol in image.symbols if symbol.kind == "function"}


def _constant(image: Image) -> list[Section]:
    return [section for section in image.sections if section.content and not section.writable]


def _merged(image: Image) -> list[Section]:
    """Returns the writable sections that hold code."""
    return [section for section in image.sections if section.content and section.writable and section.executable]


def tables_in_ram(image: Image) -> tuple[str, ...]:
    """Returns the names of variables and sections that, by name or content, are tables of handlers which the program fills
    itself."""
    writable = [section for section in image.sections if section.writable]
    names = {section.name for section in writable}
    named = [symbol.linked_name for symbol in image.symbols if symbol.section in names and (_is_large(symbol))]
    named += [section.name.lstrip(".") for section in writable if section.size_bytes >= _LEAST_BYTES]
    held = [image.describe(table.address) for table in _held_in_ram(image, [part for part in writable if part.content])]
    return tuple(sorted({*filter(_RAM_TABLE.fullmatch, named), *held}))


def _held_in_ram(image: Image, writable: Sequence[Section]) -> Iterator[VectorTable]:
    """Yields the tables in the initial content of variables with the size of a table or a known initial stack pointer: other
    words may look like the start of a table."""
    functions, known = _functions(image), find_tables(image)
    stacks, addresses = {table.stack for table in known}, {table.address for table in known}
    sizes = {symbol.address: symbol.size_bytes for symbol in image.symbols if symbol.size_bytes >= _LEAST_BYTES}
    for section in writable:
        for table in _in_section(image, section, functions):
            if table.address not in addresses and (table.address in sizes or table.stack in stacks):
                yield table


def _is_large(symbol: Symbol) -> bool:
    """Whether a table fits into the symbol; symbols of linker scripts have no sizes."""
    return symbol.size_bytes >= _LEAST_BYTES or (symbol.kind == "other" and not symbol.size_bytes)


def _in_section(image: Image, section: Section, functions: Collection[int]) -> Iterator[VectorTable]:
    position = section.address + -section.address % _ALIGNMENT
    while position + 8 <= section.end:
        if _is_table(image, section, position, functions):
            yield _found(image, section, position, functions)
        position += _ALIGNMENT


def _is_table(image: Image, section: Section, position: int, functions: Collection[int]) -> bool:
    """Whether the words at `position` are a stack pointer and handlers: the first three handlers of the core, or the ELF's entry
    if a section or symbol begins there."""
    words = _words(section, position, min(position + 16, section.end))
    handled = [bool(word & 1) and word & ~1 in functions for word in words[1:]]
    if not handled[0] or not words[0] or words[0] % 4:
        return False
    if any(not part.writable and part.holds(words[0]) for part in image.sections):
        return False
    if len(handled) == 3 and all(handled):
        return True
    begins = position == section.address or any(symbol.address == position for symbol in image.symbols)
    return begins and words[1] & ~1 == image.entry & ~1


def _found(image: Image, section: Section, position: int, functions: Collection[int]) -> VectorTable:
    """Returns the table at `position`: as long as its symbol says, or otherwise up to the next symbol, without words that are no
    functions."""
    sized = max((symbol.size_bytes for symbol in image.symbols if symbol.address == position), default=0)
    if sized >= 8:
        return _table(section, position, min(position + sized, section.end))
    following = (symbol.address for symbol in image.symbols if symbol.address > position and symbol.kind != "absolute")
    end = min(position + 4 * _MOST_WORDS, section.end, max(position + 8, min(following, default=section.end)))
    table = _table(section, position, end)
    return VectorTable(position, table.stack, table.reset, tuple(entry for entry in table.handlers if entry in functions))


def _table(section: Section, begin: int, end: int) -> VectorTable:
    stack, reset, *handlers = _words(section, begin, end)
    return VectorTable(begin, stack, reset & ~1, tuple(sorted({word & ~1 for word in handlers if word})))


def _words(section: Section, begin: int, end: int) -> list[int]:
    content = section.content[begin - section.address : end - section.address]
    return [int.from_bytes(content[at : at + 4], "little") for at in range(0, len(content) - 3, 4)]
