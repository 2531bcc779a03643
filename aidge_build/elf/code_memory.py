# SPDX-License-Identifier: MIT
"""Code of a model that runs in RAM: something must bring it there after each reset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aidge_build.boards import Region
from aidge_build.elf.claim import Claim
from aidge_build.elf.findings import ERROR, NOTE, Finding
from aidge_build.elf.image import Image, Section, Symbol
from aidge_build.elf.regions import region_at

_KERNELS = "aidge_"  # what the names of functions begin with that models have in common


def check_code_memory(image: Image, claim: Claim, regions: Sequence[Region]) -> Iterator[Finding]:
    """MEM03: functions of the model, and kernels, that run in RAM and are not stored in flash; a note where they are stored
    there, and nothing was recognised that copies them."""
    held: dict[Section, list[Symbol]] = {}
    for symbol in image.symbols:
        if symbol.kind == "function" and symbol.size_bytes and _is_of_model(symbol, claim):
            section = image.section_of(symbol)
            if section is not None:
                held.setdefault(section, []).append(symbol)
    for section, symbols in held.items():
        others = f" and {len(symbols) - 1} more" if len(symbols) > 1 else ""
        label = f"code of model {claim.model} ({symbols[0].linked_name}{others} in {section.name})"
        yield from _check(image, label, section, regions)


def _is_of_model(symbol: Symbol, claim: Claim) -> bool:
    return symbol.name in claim.functions or symbol.name in claim.layers or symbol.name.startswith(_KERNELS)


def _check(image: Image, label: str, section: Section, regions: Sequence[Region]) -> Iterator[Finding]:
    region = region_at(section.address, regions)
    if not section.is_loaded:
        reason = "no segment of the ELF file holds its bytes" if section.content else "no contents fill the section"
        yield Finding("MEM03", ERROR, f"{label} is not stored: {reason}", "a section with contents, and a PHDRS line for it")
    elif region is not None and region.kind == "ram":
        stored = region_at(section.load_address or 0, regions)
        if stored is not None and stored.kind == "ram":
            yield Finding(
                "MEM03",
                ERROR,
                f"{label} runs in {region.name} and is stored in {stored.name}, which is RAM: no code copies it there after a "
                "reset",
                f"a load address in flash: `> {region.name} AT > FLASH` in the linker script, and start-up code that copies; a "
                "memory that a boot loader fills, and no code writes, has kind flash",
            )
        elif not _is_copied(image, section):
            yield Finding(
                "MEM03",
                NOTE,
                f"{label} runs in {region.name}, and no start-up code was found that copies it from 0x{section.load_address:08x}",
                "start-up code must copy it, from the load address that the linker script gives",
            )


def _is_copied(image: Image, section: Section) -> bool:
    """Whether the program holds the address where the section is stored, as the start of a copy needs it: alone, or with what is
    stored and runs in front of it by the same distance. What brings the begin of the program to its place brings this, too."""
    begin = image.first_section
    if begin is not None and begin.shift == section.shift:
        return True
    before = (part for part in image.sections if part.shift == section.shift and part.address <= section.address)
    starts = {part.load_address for part in before if part.load_address is not None}
    return any(part.content.find(start.to_bytes(4, "little")) >= 0 for start in starts for part in image.sections)
