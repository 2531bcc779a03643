# SPDX-License-Identifier: MIT
"""The map that GNU ld writes: the memories of any linker script, its files and sections."""

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
# `.text  0x08000000  0x1234`, on two lines if the name is long; input sections begin with a space.
_PLACED = re.compile(r"^(\S+)\s+0x([0-9a-f]{1,16})\s+0x([0-9a-f]{1,16})\b", re.MULTILINE)

UNDECLARED_HINT = "name a declared memory after `>` of the section, or declare this one with the chip's addresses"
# ` .text.kws_run  0x08002624  0x3c kws.o`, on two lines if the name is long; below it the symbols in it, with addresses.
_INPUT = re.compile(r"^ (\S+)\s+0x[0-9a-f]+ +0x[0-9a-f]+ (\S.*)$|^ {9,}0x[0-9a-f]+ +(\S+)$", re.MULTILINE)
# `.bss  0x20000000 ...`, or the name alone; below it ` *(.bss*)`, ` KEEP (*(.isr_vector))`.
_SCRIPT = re.compile(r"^(\.\S+)|^ \S.*?\((\.[^()]*)\)", re.MULTILINE)


def read_memories(link_map: str) -> tuple[Region, ...]:
    """Returns the memories of a linker script, from the table that GNU ld prints into its map.

    A memory is flash if the script does not call it writable, or, without attributes, if its name is like FLASH or ROM. A part of
    another memory is omitted: the linker has checked its size, and contents of the larger memory may also be there.
    """
    regions = [region for region in _table(link_map) if not _is_made_up(region)]
    return tuple(region for region in regions if not any(_is_part(region, other) for other in regions))


def undeclared_memories(link_map: str) -> tuple[str, ...]:
    """Returns the memories that sections of the script name and MEMORY does not declare: the linker warns and invents them."""
    return tuple(region.name for region in _table(link_map) if _is_made_up(region))


def undeclared_fact(names: Sequence[str]) -> str:
    """Returns one sentence about undeclared memories; UNDECLARED_HINT is the remedy."""
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
    """Whether ld's lang_memory_region_lookup invented the memory: it spans every address."""
    return region.origin == 0 and region.length_bytes in _EVERY_ADDRESS


def places_of(link_map: str, symbols: Collection[str]) -> dict[str, tuple[str, str]]:
    """Returns the input section and the file of each of these symbols that the map lists."""
    found, section, file = dict[str, tuple[str, str]](), "", ""
    for match in _INPUT.finditer(link_map.partition(_BODY)[2]):
        section, file = (match[1], match[2]) if match[1] else (section, file)
        if match[3] in symbols:
            found.setdefault(match[3], (section, file))
    return found


def script_lines(link_map: str) -> Iterator[tuple[str, str]]:
    """Yields each output section with the input sections that a line of its script names, such as `*(.bss.kws_arena)`."""
    section = ""
    for match in _SCRIPT.finditer(link_map.partition(_BODY)[2]):
        section = match[1] or section
        if match[2]:
            yield section, match[2]


def loaded_files(link_map: str) -> tuple[str, ...]:
    """Returns the objects and archives of the link, in its order."""
    return tuple(dict.fromkeys(_LOADED.findall(link_map)))


def _is_part(region: Region, other: Region) -> bool:
    return other.origin <= region.origin and region.end <= other.end and other.length_bytes > region.length_bytes


def _kind(name: str, attributes: str | None) -> str:
    is_flash = "w" not in attributes.lower() if attributes else bool(_FLASH_NAME.search(name.upper()))
    return "flash" if is_flash else "ram"


def describes(link_map: str, image: Image) -> bool:
    """Whether the map belongs to this program and not to an older one: each section has the address and size in the map."""
    placed = {(match[1], int(match[2], 16), int(match[3], 16)) for match in _PLACED.finditer(link_map.partition(_BODY)[2])}
    sections = {(section.name, section.address, section.size_bytes) for section in image.sections if section.size_bytes}
    return bool(sections) and sections <= placed


def memories_of(link_map: str, image: Image) -> tuple[Region, ...]:
    """Returns the memories of the script that linked `image`; () if it names none.

    A memory that a script calls writable may still be flash, and a program for a debugger is entirely in RAM. So a memory is
    flash only if it holds no variables, and RAM only if it holds no section that is stored at the address where it runs;
    otherwise its kind is "".
    """
    regions = read_memories(link_map)
    sections = [section for section in image.sections if section.size_bytes]
    variable = [section.address for section in sections if section.load_address != section.address]
    stored = [section.address for section in sections if section.load_address == section.address]
    against = {"flash": variable, "ram": stored}
    return tuple(replace(region, kind="" if _holds(region, against[region.kind]) else region.kind) for region in regions)


def _holds(region: Region, addresses: Sequence[int]) -> bool:
    return any(region_at(address, [region]) for address in addresses)
