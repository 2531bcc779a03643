# SPDX-License-Identifier: MIT
"""What must be true of the constants of a model: the bytes that were generated, stored, in flash, and nobody else's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from aidge_build.boards import Region
from aidge_build.prove.elf.agreed import Agreed
from aidge_build.prove.elf.claim import Claim, ClaimedConstant
from aidge_build.prove.elf.code_memory import is_copied, not_copied
from aidge_build.prove.elf.code_proof import NOT_COMPARED, CodeProof
from aidge_build.prove.elf.findings import ERROR, NOTE, WARNING, Finding
from aidge_build.prove.elf.image import Image, Section, Symbol
from aidge_build.prove.elf.occupants import Span, described, foreign_sections, reserved, stacks_in
from aidge_build.prove.elf.regions import region_at


def check_constants(
    image: Image, claim: Claim, regions: Sequence[Region], agreed: Agreed, code: CodeProof = NOT_COMPARED
) -> Iterator[Finding]:
    """MEM02, MEM03, MEM12 and MEM14 about each array; MEM07 says which were not compared because they are not there, except for
    arrays that the model does not use, as `code` proves."""
    absent = []
    arrays_of: dict[Finding, list[Symbol]] = {}  # where a linker script has one place for all, that is one fact
    for constant in claim.constants:
        symbols = _symbols(image, constant)
        is_unused = code.leaves_out(claim.model, constant.symbol)
        if not symbols and not is_unused and not _is_elsewhere(image, constant):
            absent.append(constant.symbol)
        for symbol in symbols:
            for finding in _check(image, claim, constant, symbol, regions, agreed):
                arrays_of.setdefault(replace(finding, text=finding.text.removeprefix(_label([symbol]))), []).append(symbol)
    for finding, arrays in arrays_of.items():
        yield replace(finding, text=_label(arrays) + finding.text)
    if absent:
        yield Finding(
            "MEM07",
            NOTE,
            f"model {claim.model}: weights planned but absent, merged by the compiler or not used: {', '.join(absent)}; "
            "their bytes are not compared",
        )


def _label(symbols: Sequence[Symbol]) -> str:
    first, total = symbols[0], sum(symbol.size_bytes for symbol in symbols)
    others = f" and {len(symbols) - 1} more, {total:,} B in all," if len(symbols) > 1 else f" ({total:,} B)"
    return f"weights {first.name}{others}"


def _symbols(image: Image, constant: ClaimedConstant) -> tuple[Symbol, ...]:
    """The array; where link-time optimisation has made it local, and other files have arrays of this name, each of them."""
    found = image.symbol(constant.symbol)
    if found is None or not found.is_local:
        return (found,) if found else ()
    return image.by_name[constant.symbol]


def _is_elsewhere(image: Image, constant: ClaimedConstant) -> bool:
    """Whether an object of another name has its bytes: the compiler made one of several equal arrays."""
    equal = (symbol for symbol in image.symbols if symbol.size_bytes == constant.size_bytes)
    return any(_sha256(image.content(symbol)) == constant.sha256 for symbol in equal)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _check(
    image: Image, claim: Claim, constant: ClaimedConstant, symbol: Symbol, regions: Sequence[Region], agreed: Agreed
) -> Iterator[Finding]:
    label = _label([symbol])
    excess = symbol.size_bytes - constant.size_bytes
    if excess:
        yield Finding("MEM02", ERROR, f"{label} of model {claim.model}: the claim says {constant.size_bytes:,} B ({excess:+,} B)")
    if symbol.address % constant.alignment:
        yield Finding(
            "MEM02",
            ERROR,
            f"{label} are at 0x{symbol.address:08x}, which is no multiple of {constant.alignment}",
            "the linker script must keep the alignment of input sections: no SUBALIGN",
        )
    section, content = image.section_of(symbol), image.content(symbol)
    if section is None or len(content) < symbol.size_bytes:
        reason = f"no contents fill {section.name}" if section and not section.content else "no section holds them"
        yield Finding("MEM03", ERROR, f"{label} are not stored: {reason}", "the linker script must not call .rodata NOLOAD")
        return
    if constant.memory is not None:
        yield from _check_memory(label, constant.region, constant.memory, symbol)
        agreed = replace(agreed, weights_in=agreed.weights_in | {constant.region})
    yield from _check_place(image, label, section, symbol, regions, agreed, constant.memory is not None)
    yield from _check_occupants(image, label, section, symbol)
    if not excess and _sha256(content) != constant.sha256:
        yield Finding("MEM14", ERROR, f"{label} of model {claim.model} are not what was generated: {_difference(claim, content)}")


def _check_memory(label: str, region: str, memory: tuple[int, int], symbol: Symbol) -> Iterator[Finding]:
    """Those that were given a memory of their own lie there."""
    origin, end = memory[0], memory[0] + memory[1]
    if not (origin <= symbol.address and symbol.address + symbol.size_bytes <= end):
        yield Finding(
            "MEM02",
            ERROR,
            f"{label} are at 0x{symbol.address:08x}, the plan says {region} (0x{origin:08x} to 0x{end - 1:08x})",
            f"the linker script needs, before .rodata: .aidge_constants_{region} : "
            f"{{ *(.rodata.aidge_{region} .rodata.aidge_{region}.*) }} > {region}, with AT > flash where it is RAM",
        )


def _difference(claim: Claim, content: bytes) -> str:
    """What can be said of bytes of which nothing but a digest is known."""
    same = next((other.symbol for other in claim.constants if other.sha256 == _sha256(content)), "")
    if same:
        return f"they equal {same}"
    values = set(content)
    if len(values) == 1:
        return f"each byte is 0x{values.pop():02x}"
    return "their SHA-256 differs"


def _kind(region: Region | None) -> str:
    return region.kind if region is not None else ""


def _check_place(
    image: Image, label: str, section: Section, symbol: Symbol, regions: Sequence[Region], agreed: Agreed, is_planned: bool
) -> Iterator[Finding]:
    """They are read in flash, or in a memory that was agreed upon; and they are stored in flash, and loaded, in any case."""
    region = region_at(symbol.address, regions)
    is_agreed = region is not None and region.name in agreed.weights_in
    yield from _check_where_read(label, section, region, is_agreed)
    stored = region_at(_load_address(section, symbol), regions)
    if _kind(stored) == "ram" and is_agreed:
        yield Finding(
            "MEM03",
            ERROR,
            f"{label} are stored in {stored.name}, which is RAM: no code copies them there after a reset",
            "a load address in flash: `> RAM AT > FLASH` in the linker script, and start-up code that copies; "
            "a memory that a boot loader fills, and no code writes, has kind flash",
        )
    if stored is region and _kind(region) == "flash" and _is_moved(image, section):
        yield Finding(
            "MEM03",
            ERROR,
            f"{label} are read at 0x{symbol.address:08x} in {region.name}, but stored at "
            f"0x{_load_address(section, symbol):08x} there: no code copies them from flash to flash",
            "no AT of its own for .rodata in the linker script, and no tool that moves the load address of a section",
        )
    if is_planned and (_kind(region), _kind(stored)) == ("ram", "flash") and not is_copied(image, section):
        yield not_copied(image, f"{label} are read in {region.name}", section, "constants", is_planned)
    if not section.is_loaded:
        yield Finding(
            "MEM03",
            ERROR,
            f"{label} are not loaded: no segment of the ELF file holds the bytes of {section.name}",
            "a PHDRS line of the linker script leaves it out, or a tool has changed the file",
        )


def _check_where_read(label: str, section: Section, region: Region | None, is_agreed: bool) -> Iterator[Finding]:
    kind = region.kind if region else ""
    if section.writable and section.executable and region is None:
        yield Finding(
            "MEM03",
            WARNING,
            f"{label} are in {section.name}, which holds code and variables, too: whether that is flash is not known",
            "name --board, or --region for each memory",
        )
    elif section.writable and not is_agreed and kind != "flash":
        what = "code and constants" if section.executable else "constants"
        hint = f"--weights-in {region.name}, if {what} are copied there on purpose" if region else ""
        hint = hint if section.executable else f"declare them const, with .rodata in flash{'; ' if hint else ''}{hint}"
        yield Finding("MEM03", ERROR, f"{label} are in writable {section.name}: they cost flash and RAM", hint)
    elif region and kind == "ram" and not is_agreed:
        yield Finding("MEM03", ERROR, f"{label} are in {region.name}, which is RAM")


def _is_moved(image: Image, section: Section) -> bool:
    """Whether a section is stored elsewhere than it is read, but for a program that is moved as a whole."""
    begin = image.first_section
    return begin is not None and section.shift not in (0, begin.shift)


def _load_address(section: Section, symbol: Symbol) -> int:
    return symbol.address + section.shift


def _check_occupants(image: Image, label: str, section: Section, symbol: Symbol) -> Iterator[Finding]:
    """Nothing else is stored where they are stored, or lies where they lie."""
    for begin in dict.fromkeys((symbol.address, _load_address(section, symbol))):
        span = Span(begin, begin + symbol.size_bytes)
        others = [described(image, other, place) for other, place in foreign_sections(image, span, section)]
        others += reserved(image, span)
        others += stacks_in(image, span) if section.shift else []  # copied to RAM
        if others:
            yield Finding("MEM12", ERROR, f"{label} share their bytes at {span} with {', '.join(others)}")
