# SPDX-License-Identifier: MIT
"""Code of a model that runs in RAM: something must bring it there after each reset. Code for which the plan names a memory."""

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


def check_code_places(image: Image, claim: Claim) -> Iterator[Finding]:
    """MEM02: functions that are not in the memory of the plan. A kernel may be in another model of the program, too, which the
    plan does not move: one function of its name must be there. MEM07 names functions that are not in the program."""
    for code in claim.code_in:
        outside, absent = [], []
        for name in code.functions:
            found = image.by_name.get(name, ())
            if not found:
                absent.append(name)
            elif not any(_is_inside(symbol, code.memory) for symbol in found):
                outside.append(found[0])
        if outside:
            others = f" and {len(outside) - 1} more" if len(outside) > 1 else ""
            origin, length = code.memory
            yield Finding(
                "MEM02",
                ERROR,
                f"function {outside[0].name}{others} of model {claim.model}: at 0x{outside[0].address:08x}, the plan says "
                f"{code.region} (0x{origin:08x} to 0x{origin + length - 1:08x})",
                f"the linker script needs, before .text: .aidge_code_{code.region} : {{ *(.text.aidge_{code.region}.*) }} > "
                f"{code.region} AT > flash",
            )
        if absent:
            yield Finding(
                "MEM07",
                NOTE,
                f"model {claim.model}: functions planned in {code.region} but absent, inlined by the compiler or not used: "
                f"{', '.join(absent)}",
            )


def _is_inside(symbol: Symbol, memory: tuple[int, int]) -> bool:
    address = symbol.address & ~1
    return memory[0] <= address and address + symbol.size_bytes <= memory[0] + memory[1]


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
