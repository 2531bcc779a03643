# SPDX-License-Identifier: MIT
"""Checks code of a model that runs in RAM, which start-up code must copy there after each reset, and code that the plan puts into
a memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aidge_build.boards import Region
from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.findings import ERROR, NOTE, Finding, some_of
from aidge_build.prove.elf.image import Image, Section, Symbol
from aidge_build.prove.elf.regions import region_at
from aidge_build.prove.elf.written_addresses import writes_address

_KERNELS = "aidge_"  # the prefix of functions that models have in common


def check_code_memory(image: Image, claim: Claim, regions: Sequence[Region]) -> Iterator[Finding]:
    """Yields MEM03 for functions of the model, and kernels, that run in RAM and are not stored in flash; a note if they are
    stored in flash and the check found no code that copies them."""
    held: dict[Section, list[Symbol]] = {}
    for symbol in image.symbols:
        if symbol.kind == "function" and symbol.size_bytes and _is_of_model(symbol, claim):
            section = image.section_of(symbol)
            if section is not None:
                held.setdefault(section, []).append(symbol)
    for section, symbols in held.items():
        names = some_of([symbol.linked_name for symbol in symbols], 1)
        label = f"code of model {claim.model} ({names} in {section.name})"
        planned = any(origin <= section.address < origin + length for origin, length in (code.memory for code in claim.code_in))
        yield from _check(image, label, section, regions, planned)


def check_code_places(image: Image, claim: Claim, claims: Sequence[Claim]) -> Iterator[Finding]:
    """Yields MEM02 for functions that are not in the memory of the plan, and for functions that take more bytes of it than
    planned. Other models may use the same kernel: the program must have a function of its name for each of the `claims` that
    moves it. MEM07 names functions that are not in the program."""
    for code in claim.code_in:
        outside, absent, taken = [], [], 0
        for name in code.functions:
            found = image.by_name.get(name, ())
            inside = [symbol for symbol in found if _is_inside(symbol, code.memory)]
            if inside:
                taken += min(symbol.size_bytes for symbol in inside)
            if not found:
                absent.append(name)
            elif len(inside) < min(len(found), _movers(claims, code.memory, name)):
                outside += [symbol for symbol in found if symbol not in inside][:1]
        if outside:
            names = some_of([symbol.name for symbol in outside], 1)
            origin, length = code.memory
            yield Finding(
                "MEM02",
                ERROR,
                f"function {names} of model {claim.model}: at 0x{outside[0].address:08x}, the plan says "
                f"{code.region} (0x{origin:08x} to 0x{origin + length - 1:08x})",
                f"the linker script needs, before .text: .aidge_code_{code.region} : {{ *(.text.aidge_{code.region}.*) }} > "
                f"{code.region} AT > flash",
            )
        if taken > code.room_bytes:
            yield Finding(
                "MEM02",
                ERROR,
                f"functions of model {claim.model} take {taken:,} B of {code.region}, the plan gives them {code.room_bytes:,} B",
                "the compiler made more code than in the measurement of `explain --place auto`: write the file again with fewer "
                "bytes in --within, or raise `bytes` of its [[memory]]",
            )
        if absent:
            yield Finding(
                "MEM07",
                NOTE,
                f"model {claim.model}: functions planned in {code.region} but absent, inlined by the compiler or not used: "
                f"{', '.join(absent)}",
            )


def _movers(claims: Sequence[Claim], memory: tuple[int, int], name: str) -> int:
    """Returns how many models move a function of this name to the memory."""
    return sum(any(code.memory == memory and name in code.functions for code in claim.code_in) for claim in claims)


def _is_inside(symbol: Symbol, memory: tuple[int, int]) -> bool:
    (origin, length), address = memory, symbol.address & ~1
    return origin <= address and address + symbol.size_bytes <= origin + length


def _is_of_model(symbol: Symbol, claim: Claim) -> bool:
    return symbol.name in claim.functions or symbol.name in claim.layers or symbol.name.startswith(_KERNELS)


def _check(image: Image, label: str, section: Section, regions: Sequence[Region], planned: bool) -> Iterator[Finding]:
    region = region_at(section.address, regions)
    if not section.is_loaded:
        reason = "no segment of the ELF file holds its bytes" if section.content else "no contents fill the section"
        yield Finding("MEM03", ERROR, f"{label} is not stored: {reason}", "a section with contents, and a PHDRS line for it")
    elif region is not None and region.kind == "ram":
        stored = region_at(section.load_address or 0, regions)
        if stored is not None and stored.boot_loads:
            return
        if stored is not None and stored.kind == "ram":
            yield Finding(
                "MEM03",
                ERROR,
                f"{label} runs in {region.name} and is stored in {stored.name}, which is RAM: no code copies it there after a "
                "reset",
                f"a load address in flash: `> {region.name} AT > FLASH` in the linker script, and start-up code that copies; a "
                "memory that a boot loader fills, and no code writes, has kind flash",
            )
        elif not is_copied(image, section):
            yield not_copied(image, f"{label} runs in {region.name}", section, "code", planned)


def not_copied(image: Image, what: str, section: Section, kind: str, planned: bool) -> Finding:
    """Returns MEM03 for a section that no code of the program copies from flash to its place. The severity is error if the plan
    names that place and the check reads the core's instructions. `kind` is the word in the section's name."""
    name = section.name.removeprefix(".")
    names = f"PROVIDE({name}_load = LOADADDR({section.name})), {name}_first and {name}_end in the linker script, or "
    is_ours = section.name.startswith(f".aidge_{kind}_")
    return Finding(
        "MEM03",
        ERROR if planned and image.machine in ("ARM", "RISCV") else NOTE,
        f"{what}, and no start-up code was found that copies from 0x{section.load_address:08x} to there",
        f"{names if is_ours else ''}start-up code must copy it, from the load address that the linker script gives",
    )


def is_copied(image: Image, section: Section) -> bool:
    """Whether the program holds the address at which the section is stored, or the address of an earlier section with the same
    distance between the two places: a copy starts at such an address. The code that copies the start of the program also copies
    such a section."""
    begin = image.first_section
    if begin is not None and begin.shift == section.shift:
        return True
    before = (part for part in image.sections if part.shift == section.shift and part.address <= section.address)
    return any(_holds(image, part.load_address) for part in before if part.load_address is not None)


def _holds(image: Image, address: int) -> bool:
    """Whether the program holds an address: as a word, or in instructions that write it to a register."""
    word = address.to_bytes(4, "little")
    return any(word in section.content for section in image.sections) or writes_address(image, address)
