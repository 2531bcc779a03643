# SPDX-License-Identifier: MIT
"""Checks the memory that a model writes: its size, its region, its alignment, and that nothing else uses it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from aidge_build.boards import Region
from aidge_build.prove.elf.claim import Claim, ClaimedArena
from aidge_build.prove.elf.findings import ERROR, WARNING, Finding, some_of
from aidge_build.prove.elf.image import Image, Symbol
from aidge_build.prove.elf.occupants import Span, described, foreign_sections, reserved, stacks_in
from aidge_build.prove.elf.regions import region_at
from aidge_build.prove.elf.reservations import HEAP_FIRSTS, reservations
from aidge_build.prove.elf.vectors import find_tables
from aidge_build.prove.elf.waivers import Waivers


@dataclass(frozen=True)
class _Others:
    """The names of the arrays of all models, and of the arrays that may share bytes with the checked arena."""

    names: Collection[str]
    allowed: Collection[str] = ()


def check_buffers(
    image: Image, claim: Claim, claims: Sequence[Claim], regions: Sequence[Region], waivers: Waivers
) -> Iterator[Finding]:
    """Yields MEM02 and MEM12 about the arrays of a model's arena, its state, and everything else that it keeps between calls. The
    state and kept arrays may never share their bytes."""
    names = {name for other in claims for name in other.buffers}
    friends = waivers.shares_with(claim.model)
    arenas = {part.symbol for other in claims if other.model in friends for part in other.arenas}
    for part in claim.arenas:
        yield from _check(image, claim, f"arena {part.symbol}", part, _Others(names, arenas), regions)
    if claim.state is not None:
        yield from _check(image, claim, f"state {claim.state.symbol}", claim.state, _Others(names), regions)
    for part in claim.kept:
        yield from _check(image, claim, f"{part.word} {part.symbol}", part, _Others(names), regions)


def check_reach(image: Image, claims: Sequence[Claim], begin: int | None, stack_bytes: int) -> Iterator[Finding]:
    """Yields MEM12 if an array of a model in RAM, or weights copied to RAM, overlap the `stack_bytes` below `begin`, where
    start-up code begins the stack, or below the initial stack pointer of a vector table. `stacks_in` finds a table's stack that
    begins in such an array."""
    in_tables = {table.stack for table in find_tables(image)}
    stacks = sorted(in_tables if begin is None else in_tables | {begin})
    for label, symbol in _occupied(image, claims):
        end = symbol.end
        for stack in stacks:
            if not Span(stack - stack_bytes, stack).meets(symbol.address, end):
                continue
            if end < stack:
                yield Finding(
                    "MEM12",
                    ERROR,
                    f"{label} {symbol.name} ends {stack - end:,} B below 0x{stack:08x}, "
                    f"where the stack begins, which needs {stack_bytes:,} B",
                    "more room between them: the linker script decides where the stack begins",
                )
            elif stack not in in_tables:
                what = f"{label} {symbol.name} shares its bytes with the stack, which grows down from 0x{stack:08x}"
                yield Finding("MEM12", ERROR, what)


def _occupied(image: Image, claims: Sequence[Claim]) -> Iterator[tuple[str, Symbol]]:
    """Yields the symbols of all models that occupy memory, each with a label such as "arena"."""
    for claim in claims:
        named = [("arena", part.symbol) for part in claim.arenas] + [(part.word, part.symbol) for part in claim.kept]
        named += [("state", claim.state.symbol)] if claim.state else []
        named += [("weights", constant.symbol) for constant in claim.constants]
        for label, name in named:
            symbol = image.symbol(name)
            if symbol and symbol.size_bytes:
                yield label, symbol


def _check(
    image: Image, claim: Claim, label: str, part: ClaimedArena, others: _Others, regions: Sequence[Region]
) -> Iterator[Finding]:
    if part.size_bytes == 0:
        return
    symbol = image.symbol(part.symbol)
    if symbol is None:
        yield Finding(
            "MEM02",
            ERROR,
            f"{label} of model {claim.model} is not in the program: cannot verify its {part.size_bytes:,} B",
            f"does the firmware call {claim.model}_run?",
        )
        return
    excess = symbol.size_bytes - part.size_bytes
    if excess:
        yield Finding("MEM02", ERROR, f"{label} is {symbol.size_bytes:,} B, the plan says {part.size_bytes:,} B ({excess:+,} B)")
    if symbol.address % part.alignment:
        yield Finding(
            "MEM02",
            ERROR,
            f"{label} is at 0x{symbol.address:08x}, which is no multiple of {part.alignment}",
            "the linker script must keep the alignment of input sections: no SUBALIGN, no address of its own",
        )
    yield from _check_region(label, symbol, part, regions)
    yield from _check_section(image, label, symbol, part, regions)
    sharers = list(_sharers(image, symbol, part, others))
    if sharers:
        yield Finding("MEM12", ERROR, f"{label} shares its bytes with {some_of(sharers)}")
    yield from _check_heap(image, label, symbol, part, regions)


def _check_region(label: str, symbol: Symbol, part: ClaimedArena, regions: Sequence[Region]) -> Iterator[Finding]:
    """Yields MEM02 if the array is not in its planned memory: the memory of that name in the check, and the address range in the
    claim.

    Both must contain the array: a linker script may declare only a part of the memory, and another chip may have a memory of the
    same name.
    """
    last = symbol.address + part.size_bytes - 1
    place = region_at(symbol.address, regions)
    if place is not None and place.kind == "flash":
        yield Finding("MEM02", ERROR, f"{label} is in {place.name}, which cannot be written", script_line(part, regions))
    named = [(region.origin, region.length_bytes) for region in regions if region.name == part.region]
    spans = [*named, *([part.memory] if part.memory else [])]
    missed = next((span for span in spans if not (span[0] <= symbol.address and last < span[0] + span[1])), None)
    if missed is None:
        return
    where = f"in {place.name}" if place else "in no memory of the board" if regions else f"at 0x{symbol.address:08x}"
    if place is not None and place.name == part.region:
        where = f"in {place.name} and beyond its end" if missed in named else f"at 0x{symbol.address:08x}"
    yield Finding(
        "MEM02",
        ERROR,
        f"{label} is {where}, the plan says {part.region} (0x{missed[0]:08x} to 0x{missed[0] + missed[1] - 1:08x})",
        script_line(part, regions),
    )


def script_line(part: ClaimedArena, regions: Sequence[Region]) -> str:
    """Returns the line that a linker script needs to place an arena in its memory. The line uses the script's own name for the
    memory."""
    region = part.region or "RAM"
    inputs = f".bss.aidge_{region} .bss.aidge_{region}.*" if region != "RAM" else ".bss.aidge_*"
    origin = part.memory[0] if part.memory else None
    named = [one for one in regions if one.name == region]
    found = next(iter(named or [one for one in regions if one.origin == origin]), None)
    name = (found.script_name or found.name) if found else region
    return f"the linker script needs, before .bss: .aidge_{region} (NOLOAD) : {{ *({inputs}) }} > {name}"


def _check_section(image: Image, label: str, symbol: Symbol, part: ClaimedArena, regions: Sequence[Region]) -> Iterator[Finding]:
    section = image.section_of(symbol)
    end = symbol.address + part.size_bytes
    if section is None:
        yield Finding("MEM02", ERROR, f"{label} is a number without a section: nothing reserves its bytes")
    elif symbol.address < section.address or end > section.end:
        yield Finding(
            "MEM02",
            ERROR,
            f"{label} (0x{symbol.address:08x} to 0x{end - 1:08x}) is not inside of its section {section.name} "
            f"(0x{section.address:08x} to 0x{section.end - 1:08x})",
        )
    elif section.content:
        yield Finding(
            "MEM02",
            WARNING,
            f"{label} is in {section.name}, and the ELF file stores its bytes: {part.size_bytes:,} zeros cost flash, too",
            script_line(part, regions),
        )


def _check_heap(image: Image, label: str, symbol: Symbol, part: ClaimedArena, regions: Sequence[Region]) -> Iterator[Finding]:
    """Yields MEM12 for a heap without a symbol for its end: it may grow over everything above its start in the same memory."""
    first = next(filter(None, map(image.symbol, HEAP_FIRSTS)), None)
    if first is None or first.address > symbol.address or not image.symbol("_sbrk"):
        return
    memory = region_at(symbol.address, regions)
    begin = memory.origin if memory else part.memory[0] if part.memory else None
    ends = [item.end for item in reservations(image) if item.is_heap and item.end <= symbol.address]
    if begin is not None and begin <= first.address and not ends:
        yield Finding(
            "MEM12",
            WARNING,
            f"{label} is above 0x{first.address:08x} ({first.name}), where the heap begins: the heap may grow into it",
            f"place .bss.aidge_* before `{first.name}` is defined",
        )


def _sharers(image: Image, symbol: Symbol, part: ClaimedArena, others: _Others) -> Iterator[str]:
    """Yields the other sections, variables, heap and stack that overlap the arena. An alias of the arena does not count."""
    span, own = Span(symbol.address, symbol.address + part.size_bytes), image.section_of(symbol)
    allowed = _spans(image, others.allowed)
    foreign = list(foreign_sections(image, span, own, allowed))
    for section, place in foreign:
        yield described(image, section, place)
    told = {section.name for section, _ in foreign}
    for other in image.symbols:
        if other is symbol or not other.size_bytes or other.section in told or other.linked_name in others.allowed:
            continue
        is_alias = (other.address, other.size_bytes) == (symbol.address, symbol.size_bytes) and other.name not in others.names
        if not is_alias and span.meets(other.address, other.end):
            yield f"{other.linked_name} ({other.size_bytes:,} B at 0x{other.address:08x})"
    yield from reserved(image, span)
    yield from stacks_in(image, span)


def _spans(image: Image, names: Collection[str]) -> list[Span]:
    symbols = filter(None, (image.symbol(name) for name in sorted(names)))
    return [Span(symbol.address, symbol.end) for symbol in symbols]
