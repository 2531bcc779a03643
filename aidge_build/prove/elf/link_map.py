# SPDX-License-Identifier: MIT
"""The map that GNU ld writes: the memories of the linker script, whoever's it is."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from aidge_build.boards import Region
from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.regions import region_at

_HEAD, _BODY = "\nMemory Configuration\n", "\nLinker script and memory map\n"
_MEMORY = re.compile(r"^(\S+) +0x([0-9a-f]{1,16}) +0x([0-9a-f]{1,16})(?: +([!a-zA-Z]+))?$")
_LOADED = re.compile(r"^LOAD (?!linker stubs$)(.+)$", re.MULTILINE)
_EVERY_ADDRESS = ((1 << 32) - 1, (1 << 64) - 1)
_FLASH_NAME = re.compile("FLASH|ROM(?!.*RAM)")
# `.text  0x08000000  0x1234`, where the name is long on two lines; input sections begin with a space.
_PLACED = re.compile(r"^(\S+)\s+0x([0-9a-f]{1,16})\s+0x([0-9a-f]{1,16})\b", re.MULTILINE)

UNDECLARED_HINT = "name a declared memory after `>` of the section, or declare this one with the chip's addresses"
# ` .text.kws_run  0x08002624  0x3c kws.o`, where the name is long on two lines; below it the symbols in it, with addresses.
_INPUT = re.compile(r"^ (\S+)\s+0x[0-9a-f]+ +0x[0-9a-f]+ (\S.*)$|^ {9,}0x[0-9a-f]+ +(\S+)$", re.MULTILINE)
# `.bss  0x20000000 ...`, or the name alone; below it ` *(.bss*)`, ` KEEP (*(.isr_vector))`.
_SCRIPT = re.compile(r"^(\.\S+)|^ \S.*?\((\.[^()]*)\)", re.MULTILINE)


def read_memories(link_map: str) -> tuple[Region, ...]:
    """The memories of a linker script, from the table that GNU ld prints into its map.

    Flash is what the script does not call writable, or, where it says nothing, what has a name like FLASH or ROM. A part of
    another memory is left out: the linker has counted what it holds, and what the larger one holds may lie there, too.
    """
    regions = [region for region in _table(link_map) if not _is_made_up(region)]
    return tuple(region for region in regions if not any(_is_part(region, other) for other in regions))


def undeclared_memories(link_map: str) -> tuple[str, ...]:
    """The memories that sections of the script name, and its MEMORY does not: the linker warns, and makes them up."""
    return tuple(region.name for region in _table(link_map) if _is_made_up(region))


def undeclared_fact(names: Sequence[str]) -> str:
    """One sentence about undeclared memories; UNDECLARED_HINT says what to do."""
    return f"the linker script puts sections into {' and '.join(names)}, which its MEMORY does not declare"


def _table(link_map: str) -> list[Region]:
    table = link_map.partition(_HEAD)[2].partition(_BODY)[0]
    rows = (match.groups() for match in map(_MEMORY.match, table.splitlines()) if match)
    return [
        Region(name, int(origin, 16), int(length, 16), _kind(name, attributes), ())
        for name, origin, length, attributes in rows
        if name != "*default*" and int(length, 16)  # scripts for several chips name memories that this one lacks
    ]


def _is_made_up(region: Region) -> bool:
    """As ld's lang_memory_region_lookup makes it: every address there is."""
    return region.origin == 0 and region.length_bytes in _EVERY_ADDRESS


def places_of(link_map: str, symbols: Collection[str]) -> dict[str, tuple[str, str]]:
    """The input section and the file of each of these symbols that the map tells."""
    found, section, file = dict[str, tuple[str, str]](), "", ""
    for match in _INPUT.finditer(link_map.partition(_BODY)[2]):
        section, file = (match[1], match[2]) if match[1] else (section, file)
        if match[3] in symbols:
            found.setdefault(match[3], (section, file))
    return found


def script_lines(link_map: str) -> Iterator[tuple[str, str]]:
    """Each output section with the input sections that a line of its script names, as `*(.bss.kws_arena)`."""
    section = ""
    for match in _SCRIPT.finditer(link_map.partition(_BODY)[2]):
        section = match[1] or section
        if match[2]:
            yield section, match[2]


def loaded_files(link_map: str) -> tuple[str, ...]:
    """The objects and archives that the linker was given, in the order of the link."""
    return tuple(dict.fromkeys(_LOADED.findall(link_map)))


def _is_part(region: Region, other: Region) -> bool:
    return other.origin <= region.origin and region.end <= other.end and other.length_bytes > region.length_bytes


def _kind(name: str, attributes: str | None) -> str:
    is_flash = "w" not in attributes.lower() if attributes else bool(_FLASH_NAME.search(name.upper()))
    return "flash" if is_flash else "ram"


def describes(link_map: str, image: Image) -> bool:
    """Whether it is the map of this program, and not of yesterday's: each section is where and as large as it says."""
    placed = {(match[1], int(match[2], 16), int(match[3], 16)) for match in _PLACED.finditer(link_map.partition(_BODY)[2])}
    sections = {(section.name, section.address, section.size_bytes) for section in image.sections if section.size_bytes}
    return bool(sections) and sections <= placed


def memories_of(link_map: str, image: Image) -> tuple[Region, ...]:
    """The memories of the script that linked `image`; () where it names none.

    What a script calls writable may be flash all the same, and a program for a debugger lies in RAM alone. So flash is only what
    holds no variables, RAM only what holds nothing that is stored where it runs; of other memories the kind is "".
    """
    regions = read_memories(link_map)
    sections = [section for section in image.sections if section.size_bytes]
    variable = [section.address for section in sections if section.load_address != section.address]
    stored = [section.address for section in sections if section.load_address == section.address]
    against = {"flash": variable, "ram": stored}
    return tuple(replace(region, kind="" if _holds(region, against[region.kind]) else region.kind) for region in regions)


def _holds(region: Region, addresses: Sequence[int]) -> bool:
    return any(region_at(address, [region]) for address in addresses)
