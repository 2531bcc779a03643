# SPDX-License-Identifier: MIT
"""Checks the start of the stack, and that the bytes that it may use are RAM that nothing else occupies."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from aidge_build.boards import Region
from aidge_build.prove.elf.findings import ERROR, Finding, some_of
from aidge_build.prove.elf.frames import Refusal, given_to_stack
from aidge_build.prove.elf.image import Image, Symbol
from aidge_build.prove.elf.linear_sweep import linear_sweep
from aidge_build.prove.elf.occupants import Span
from aidge_build.prove.elf.program_code import Code
from aidge_build.prove.elf.regions import region_at
from aidge_build.prove.elf.vectors import VectorTable, find_tables

# The bytes that the core pushes for an interrupt: the least stack of a program without a bound.
LEAST_BYTES = 32
# An array for the stack may end fewer bytes than this above the start of the stack: for alignment, a seal or a canary.
_SEAL_BYTES = 32


def stack_begin(image: Image, code: Code | None = None) -> int | None:
    """Returns the address where the stack begins: the constant that the reset handler writes to the stack pointer before it uses
    the stack, or otherwise the first word of the vector table. None without a vector table that leads to code of the program."""
    table = next(iter(find_tables(image)), None)
    if table is None or not _is_of_program(image, table):
        return None
    chosen = _set_by_code(code, table.reset) if code else None
    return table.stack if chosen is None else chosen


def _is_of_program(image: Image, table: VectorTable) -> bool:
    """Whether the reset handler is code of the program: a core of another profile has instructions in a section of this name."""
    return table.reset == image.entry & ~1 or any(
        symbol.address == table.reset for symbol in image.symbols if symbol.kind == "function"
    )


def _set_by_code(code: Code, reset: int) -> int | None:
    for guess in linear_sweep(code, reset):
        if guess.name in ("push", "bl", "blx"):
            return None
        with suppress(Refusal):
            chosen = given_to_stack(guess.state, guess.instruction, guess.name, code.word)
            if chosen is not None:
                return chosen
    return None


def check_stack_place(
    image: Image, begin: int, size_bytes: int, regions: Sequence[Region], of_models: Collection[str] = ()
) -> Iterator[Finding]:
    """Yields STK03 if the `size_bytes` below `begin` are not in one RAM of `regions`, or belong to something else.

    Adjacent RAMs count as one. Linker scripts reserve the stack in a section without symbols for its bytes, or firmware in an
    array that ends where the stack begins. The arrays `of_models` are left to MEM12."""
    span = Span(begin - size_bytes, begin)
    outside = _outside(span, regions)
    if outside:
        yield Finding("STK03", ERROR, outside)
        return
    array = _own_array(image, span)
    if array is not None:
        span = Span(span.begin, array.address)
    met = [] if span.begin >= span.end else [*_constants_in(image, span), *_objects_in(image, span, of_models)]
    if met:
        name = f" in {array.linked_name} ({array.size_bytes:,} B)" if array else ""
        what = f"the stack begins at 0x{begin:08x}{name} and may use {size_bytes:,} B, among them bytes of "
        yield Finding("STK03", ERROR, f"{what}{some_of(met)}")


def _outside(span: Span, regions: Sequence[Region]) -> str:
    """Returns why the bytes are not in one RAM; "" if they are, or if no RAM is known."""
    memories = sorted((region for region in regions if region.kind != "flash"), key=lambda region: region.origin)
    where = f"the stack begins at 0x{span.end:08x}"
    holding = region_at(span.end - 1, memories)
    if holding is None and regions:
        flash = region_at(span.end - 1, regions)
        known = ", ".join(f"{region.name} 0x{region.origin:08x} to 0x{region.end - 1:08x}" for region in memories)
        return f"{where}, in {f'{flash.name}, which cannot be written' if flash else 'no RAM'}. RAM: {known or 'none is known'}"
    if holding is None:
        return ""
    lowest = holding.origin
    for region in reversed(memories):
        if region.origin < lowest <= region.end:
            lowest = region.origin
    if span.begin < lowest:
        return f"{where} and may use {span.end - span.begin:,} B, but {holding.name} has {span.end - lowest:,} B below"
    return ""


def _own_array(image: Image, span: Span) -> Symbol | None:
    """Returns the array that the firmware reserves for the stack, or None."""
    around = (symbol for symbol in image.symbols if symbol.address < span.end <= symbol.end)
    return next((symbol for symbol in around if symbol.kind != "function" and _is_stack(symbol, span.end)), None)


def _is_stack(symbol: Symbol, begin: int) -> bool:
    return symbol.end - begin < _SEAL_BYTES or "stack" in symbol.linked_name.lower()


def _constants_in(image: Image, span: Span) -> Iterator[str]:
    for section in image.sections:
        if section.content and not section.writable and span.meets(section.address, section.end):
            yield f"section {section.name}"


def _objects_in(image: Image, span: Span, of_models: Collection[str]) -> Iterator[str]:
    for symbol in image.symbols:
        if not symbol.size_bytes or symbol.kind == "absolute" or symbol.name in of_models:
            continue
        if span.meets(symbol.address, symbol.end):
            yield f"{symbol.linked_name} ({symbol.size_bytes:,} B at 0x{symbol.address:08x})"
