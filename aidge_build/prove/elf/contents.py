# SPDX-License-Identifier: MIT
"""Findings about the whole program, not about a model: duplicates, headroom, heap, emulated arithmetic."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator, Sequence

from aidge_build.prove.elf.findings import ERROR, NOTE, WARNING, Finding, some_of
from aidge_build.prove.elf.image import Image, Section, Symbol
from aidge_build.prove.elf.occupants import Span
from aidge_build.prove.elf.regions import RegionUse

# Smaller duplicates are parameters and tables: removing them saves little.
_DUPLICATE_BYTES = 256
_SHOWN = 8
HEADROOM_PERCENT = 95.0
_HEAP = ("_malloc_r", "malloc", "_sbrk", "_sbrk_r", "_free_r", "free", "_Znwj", "_Znaj")
# Functions of libgcc: Arm's names of them, and libgcc's own names, which it has for other machines.
SOFT_DOUBLE = re.compile(r"__aeabi_(d(add|sub|rsub|mul|div|cmp\w+)|c[dr]\w*cmp\w*|d2\w+|[fil]2d|ui2d|ul2d)")
_SOFT_DOUBLE_ELSEWHERE = re.compile(
    r"__((add|sub|mul|div)df3|(neg|eq|ne|lt|le|gt|ge|unord)df2|extendsfdf2|truncdfsf2|fix(uns)?df[sd]i|float(un)?[sd]idf)"
)


def check_contents(image: Image, uses: Sequence[RegionUse], flash_budget_bytes: int | None) -> Iterator[Finding]:
    """Yields MEM05 duplicates, MEM06 headroom, MEM08 heap, MEM09 double arithmetic in software, MEM10 the budget of flash, MEM11
    headers, and MEM12 sections that are stored in the same bytes."""
    yield from _stored_twice(image)
    yield from _duplicates(image)
    yield from _headroom(image, uses)
    yield from _linked(image, "MEM08", NOTE, _HEAP.__contains__, "the heap is linked; generated code never uses it")
    yield from _linked(
        image,
        "MEM09",
        WARNING,
        lambda name: is_soft_double(image, name),
        "double arithmetic in software is linked: it costs flash, stack and time",
    )
    if image.machine in ("ARM", "RISCV") and not image.has_64_bits:
        yield from _headers(image)
    if flash_budget_bytes is not None:
        yield from _flash(uses, flash_budget_bytes)


def is_soft_double(image: Image, name: str) -> bool:
    """Whether a function is one of libgcc that computes in double precision without an FPU."""
    return bool(SOFT_DOUBLE.fullmatch(name) or (image.machine != "ARM" and _SOFT_DOUBLE_ELSEWHERE.fullmatch(name)))


def _stored_twice(image: Image) -> Iterator[Finding]:
    """Yields MEM12: sections may share the addresses at which they run, in overlays, but not the addresses at which they are
    stored."""
    stored = [
        (section.load_address, section.load_address + section.size_bytes, section.name)
        for section in image.sections
        if section.load_address is not None and section.is_loaded
    ]
    for (begin, end, one), (next_begin, next_end, other) in itertools.pairwise(sorted(stored)):
        if next_begin < end:
            yield Finding(
                "MEM12",
                ERROR,
                f"sections {one} ({Span(begin, end)}) and {other} ({Span(next_begin, next_end)}) are stored in the same bytes: "
                "one overwrites the other",
                "a load address of its own (`AT > FLASH`) for each section, and a link without --no-check-sections",
            )


def _duplicates(image: Image) -> Iterator[Finding]:
    """Yields MEM05 for equal contents at different addresses; symbols with one address are one object."""
    groups: dict[bytes, dict[int, Symbol]] = {}
    for symbol in image.symbols:
        content = image.content(symbol) if symbol.kind == "object" and symbol.size_bytes >= _DUPLICATE_BYTES else b""
        if any(content):
            groups.setdefault(hashlib.sha256(content).digest(), {}).setdefault(symbol.address, symbol)
    for group in groups.values():
        if len(group) > 1:
            members = list(group.values())
            places = ", ".join(f"{symbol.linked_name} ({symbol.section})" for symbol in members)
            yield Finding("MEM05", WARNING, f"the same {members[0].size_bytes:,} B are linked {len(members)} times: {places}")


def _headroom(image: Image, uses: Sequence[RegionUse]) -> Iterator[Finding]:
    """Yields MEM06 for an almost full memory; a section that takes the rest of a memory for a heap does not count."""
    for use in uses:
        if rest_of(image, use) is not None:
            continue
        share = 100 * use.used_bytes / use.region.length_bytes
        if HEADROOM_PERCENT < share <= 100:
            yield Finding(
                "MEM06",
                WARNING,
                f"memory {use.region.name} is {share:.1f} % full (limit {HEADROOM_PERCENT:g} %): "
                f"{use.region.length_bytes - use.used_bytes:,} B are free",
            )


def rest_of(image: Image, use: RegionUse) -> Section | None:
    """Returns the section without contents and symbols that takes the rest of a memory for a heap, or None."""
    named = {symbol.section for symbol in image.symbols if symbol.size_bytes}
    rests = (section for section in image.sections if not section.content and section.name not in named)
    return next((section for section in rests if section.size_bytes and section.end == use.region.end), None)


def _headers(image: Image) -> Iterator[Finding]:
    for address in image.headers_at:
        stored = [section.load_address for section in image.sections if section.load_address is not None]
        first = min((place for place in stored if place >= address), default=address)
        yield Finding(
            "MEM11",
            WARNING,
            f"the ELF file's own headers are part of a segment that loads at 0x{address:08x}, "
            f"{first - address:,} B before the first section: a loader of whole segments overwrites "
            "what is there",
        )


def _linked(image: Image, code: str, severity: str, wanted, text: str) -> Iterator[Finding]:
    found = sorted({symbol.linked_name for symbol in image.symbols if symbol.kind == "function" and wanted(symbol.linked_name)})
    if found:
        yield Finding(code, severity, f"{text}. Linked: {some_of(found, _SHOWN)}", of_firmware=True)


def _flash(uses: Sequence[RegionUse], budget_bytes: int) -> Iterator[Finding]:
    used = sum(use.used_bytes for use in uses if use.region.kind == "flash")
    if not any(use.region.kind == "flash" for use in uses):
        yield Finding(
            "MEM10",
            ERROR,
            "the budget of flash cannot be checked: no memory is known to be flash",
            "name the board, or each memory: --region FLASH=0x08000000,0x100000,flash",
        )
    elif used > budget_bytes:
        yield Finding(
            "MEM10", ERROR, f"{used:,} B of flash are used, the budget is {budget_bytes:,} B (+{used - budget_bytes:,} B)"
        )
