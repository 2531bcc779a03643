# SPDX-License-Identifier: MIT
"""Checks the bytes that DMA accesses in memory with a data cache: nothing else shares their cache lines, and the hooks are
defined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Region
from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.findings import ERROR, WARNING, Finding, some_of
from aidge_build.prove.elf.image import Image, Symbol
from aidge_build.prove.elf.occupants import Span, described, foreign_sections, reserved
from aidge_build.prove.elf.regions import region_at


def check_dma(
    image: Image, claims: Sequence[Claim], named: Sequence[str], line: int | None, regions: Sequence[Region]
) -> Iterator[Finding]:
    """Yields DMA01 about the inputs and outputs in arenas and the arrays `named` by the user, and DMA02 and DMA03 about the hooks
    of the models.

    `line` is the length in bytes of a line of the board's data cache, 0 if it has none; None if no board is named: then the
    claims give it. Memories that are not cached are skipped. AidgeError (USAGE) for an unknown name, or if the length is unknown.
    """
    for claim in claims:
        for part in claim.ports:
            symbol = image.symbol(part.symbol)
            if symbol is not None:  # otherwise MEM02 says so
                begin = symbol.address + part.offset_bytes
                label = f"{part.label} of model {claim.model}"
                yield from _check_lines(image, label, Span(begin, begin + part.size_bytes), symbol, claim.dma_line, regions)
        yield from _check_hooks(image, claim)
        yield from _check_copy_hooks(image, claim)
    is_known = line is not None
    line = line or max((claim.dma_line for claim in claims), default=0)
    for name in named:
        symbol = image.symbol(name)
        if symbol is None or not symbol.size_bytes:
            raise AidgeError(
                f"the program has no array '{name}'",
                where="--dma-arrays",
                hint="name variables by their symbols, as nm prints them",
                code="USAGE",
            )
        if not line and is_known:
            continue
        if not line:
            raise AidgeError(
                "the length of a line of the data cache is not known",
                where="--dma-arrays",
                hint="name a board with dma_line, or generate the model with --dma on",
                code="USAGE",
            )
        span = Span(symbol.address, symbol.end)
        yield from _check_lines(image, f"array {symbol.name} ({symbol.size_bytes:,} B)", span, symbol, line, regions)


def _check_lines(image: Image, label: str, span: Span, own: Symbol, line: int, regions: Sequence[Region]) -> Iterator[Finding]:
    memory = region_at(span.begin, regions)
    if memory is not None and not memory.cached:
        return
    lines = Span(span.begin // line * line, -(-span.end // line) * line)
    others = dict.fromkeys(name for rest in lines.without([span]) for name in _occupants(image, rest, own))
    if others:
        yield Finding("DMA01", ERROR, f"{label} shares a line of the data cache with {some_of([*others])}")


def _occupants(image: Image, span: Span, own: Symbol) -> Iterator[str]:
    """Yields variables, sections, stack and heap that overlap the span, except for the checked array and its aliases."""
    home = image.section_of(own)
    foreign = list(foreign_sections(image, span, home))
    for section, place in foreign:
        yield described(image, section, place)
    told = {section.name for section, _ in foreign}
    for other in image.symbols:
        if (other.address, other.size_bytes) == (own.address, own.size_bytes) or other.section in told:
            continue
        if other.size_bytes and other.kind != "absolute" and span.meets(other.address, other.end):
            yield f"{other.linked_name} ({other.size_bytes:,} B at 0x{other.address:08x})"
    yield from reserved(image, span)


def _check_hooks(image: Image, claim: Claim) -> Iterator[Finding]:
    for name in claim.hooks:
        symbol = image.symbol(name)
        if symbol is not None and symbol.is_weak:
            yield Finding("DMA02", WARNING, f"hook {name} is the empty one of model {claim.model}: no object defines another")


def _check_copy_hooks(image: Image, claim: Claim) -> Iterator[Finding]:
    """Yields DMA03 unless both hooks are the model's or both are the firmware's."""
    linked = [symbol for name in claim.copy_hooks if (symbol := image.symbol(name)) is not None]
    if len({symbol.is_weak for symbol in linked}) > 1:
        other, own = sorted(linked, key=lambda symbol: symbol.is_weak)
        yield Finding("DMA03", ERROR, f"hook {other.name} is the firmware's, but {own.name} the one of model {claim.model}")
