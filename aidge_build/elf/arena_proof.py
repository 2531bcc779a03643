# SPDX-License-Identifier: MIT
"""What must be true of the memory that a model writes: its bytes, its place, its alignment, and that nothing else has it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from aidge_build.boards import Region
from aidge_build.elf.claims import Claim, ClaimedArena
from aidge_build.elf.findings import ERROR, WARNING, Finding
from aidge_build.elf.image import Image, Section, Symbol
from aidge_build.elf.regions import places, region_at
from aidge_build.elf.reservations import HEAP_FIRSTS, reservations
from aidge_build.elf.vectors import find_tables

_SHOWN = 3


def check_buffers(image: Image, claim: Claim, claims: Sequence[Claim], regions: Sequence[Region]) -> Iterator[Finding]:
    """MEM02 and MEM12 about the arrays of a model's arena, and its state."""
    names = {name for other in claims for name in other.buffers}
    for part in claim.arenas:
        yield from _check(image, claim, f"arena {part.symbol}", part, names, regions)
    if claim.state_symbol is not None:
        state = ClaimedArena(claim.state_symbol, claim.state_bytes)
        yield from _check(image, claim, f"state {state.symbol}", state, names, regions)


def _check(
    image: Image, claim: Claim, label: str, part: ClaimedArena, names: Collection[str], regions: Sequence[Region]
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
    if symbol.address % max(part.alignment, 1):
        yield Finding(
            "MEM02",
            ERROR,
            f"{label} lies at 0x{symbol.address:08x}, which is no multiple of {part.alignment}",
            "the linker script must keep the alignment of input sections: no SUBALIGN, no address of its own",
        )
    yield from _check_region(label, symbol, part, regions)
    yield from _check_section(image, label, symbol, part)
    sharers = list(_sharers(image, symbol, part, names))
    if sharers:
        more = f" and {len(sharers) - _SHOWN} more" if len(sharers) > _SHOWN else ""
        yield Finding("MEM12", ERROR, f"{label} shares its bytes with {', '.join(sharers[:_SHOWN])}{more}")
    yield from _check_heap(image, label, symbol, part, regions)


def _check_region(label: str, symbol: Symbol, part: ClaimedArena, regions: Sequence[Region]) -> Iterator[Finding]:
    """In which memory it lies: by the board of the check, or else by what the claim says of the memory that was planned."""
    last = symbol.address + part.size_bytes - 1
    lies = region_at(symbol.address, regions)
    if lies is not None and lies.kind == "flash":
        yield Finding("MEM02", ERROR, f"{label} lies in {lies.name}, which cannot be written", script_line(part.region or "RAM"))
    planned = next((region for region in regions if region.name == part.region), None)
    span = (planned.origin, planned.length_bytes) if planned else part.memory
    if span is None or span[0] <= symbol.address and last < span[0] + span[1]:
        return
    where = f"in {lies.name}" if lies else "in no memory of the board" if regions else f"at 0x{symbol.address:08x}"
    if lies is not None and lies.name == part.region:
        where = f"in {lies.name} and beyond its end"
    yield Finding(
        "MEM02",
        ERROR,
        f"{label} lies {where}, the plan says {part.region} (0x{span[0]:08x} to 0x{span[0] + span[1] - 1:08x})",
        script_line(part.region),
    )


def script_line(region: str) -> str:
    """What a linker script lacks that brings an arena into its memory."""
    inputs = f".bss.aidge_{region} .bss.aidge_{region}.*" if region != "RAM" else ".bss.aidge_*"
    return f"the linker script needs, before .bss: .aidge_{region} (NOLOAD) : {{ *({inputs}) }} > {region}"


def _check_section(image: Image, label: str, symbol: Symbol, part: ClaimedArena) -> Iterator[Finding]:
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
            f"{label} lies in {section.name}, whose bytes are stored: its {part.size_bytes:,} zeros cost flash, too",
            script_line(part.region or "RAM"),
        )


def _check_heap(image: Image, label: str, symbol: Symbol, part: ClaimedArena, regions: Sequence[Region]) -> Iterator[Finding]:
    """A heap whose end no symbol says grows from its begin over all that lies above it in the same memory."""
    first = next(filter(None, map(image.symbol, HEAP_FIRSTS)), None)
    if first is None or first.address > symbol.address or not image.symbol("_sbrk"):
        return
    memory = region_at(symbol.address, regions)
    span = (memory.origin, memory.end) if memory else (part.memory[0], sum(part.memory)) if part.memory else (0, 0)
    ends = [item.end for item in reservations(image) if item.is_heap and item.end <= symbol.address]
    if span[0] <= first.address < span[1] and not ends:
        yield Finding(
            "MEM12",
            WARNING,
            f"{label} lies above 0x{first.address:08x} ({first.name}), where the heap begins: nothing says that it ends before",
            f"place .bss.aidge_* before `{first.name}` is defined",
        )


def _sharers(image: Image, symbol: Symbol, part: ClaimedArena, names: Collection[str]) -> Iterator[str]:
    """Other sections, variables, heap and stack that have bytes of the arena. A second name of the arena is none of them."""
    begin, end = symbol.address, symbol.address + part.size_bytes
    own = image.section_of(symbol)
    for section, first, last in places(image):
        if section is not own and first < end and begin < last:
            yield f"section {section.name} (0x{first:08x} to 0x{last - 1:08x}{_largest(image, section)})"
    for other in image.symbols:
        if other.section != symbol.section or not other.size_bytes or other.linked_name == symbol.linked_name:
            continue
        is_alias = (other.address, other.size_bytes) == (begin, symbol.size_bytes) and other.name not in names
        if not is_alias and other.address < end and begin < other.address + other.size_bytes:
            yield f"{other.linked_name} ({other.size_bytes:,} B at 0x{other.address:08x})"
    for reservation in reservations(image):
        if reservation.begin < end and begin < reservation.end:
            yield f"{reservation.what}, 0x{reservation.begin:08x} to 0x{reservation.end - 1:08x}"
    for table in find_tables(image) if image.machine == "ARM" else ():
        if begin < table.stack <= end:
            yield f"the stack, which grows down from 0x{table.stack:08x}"


def _largest(image: Image, section: Section) -> str:
    inside = [symbol for symbol in image.symbols if symbol.section == section.name and symbol.size_bytes]
    largest = min(inside, key=lambda symbol: (-symbol.size_bytes, symbol.linked_name), default=None)
    return f": {largest.linked_name}" if largest else ""
