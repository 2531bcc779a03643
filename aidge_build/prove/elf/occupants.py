# SPDX-License-Identifier: MIT
"""The sections, stacks and heaps that occupy addresses: an arena or weights must not overlap them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aidge_build.prove.elf.image import Image, Section
from aidge_build.prove.elf.regions import places
from aidge_build.prove.elf.reservations import reservations
from aidge_build.prove.elf.vectors import find_tables

# An overlap of fewer bytes is alignment between allowed arrays of one section.
_PADDING = 16


@dataclass(frozen=True)
class Span:
    """The bytes from `begin` to before `end`."""

    begin: int
    end: int

    def meets(self, begin: int, end: int) -> bool:
        """Whether the spans overlap."""
        return begin < self.end and self.begin < end

    def without(self, others: Sequence[Span]) -> list[Span]:
        """Returns the parts of this span outside the others."""
        left = [self]
        for other in others:
            parts = [(Span(span.begin, min(span.end, other.begin)), Span(max(span.begin, other.end), span.end)) for span in left]
            left = [span for pair in parts for span in pair if span.begin < span.end]
        return left

    def __str__(self) -> str:
        return f"0x{self.begin:08x} to 0x{self.end - 1:08x}"


def foreign_sections(
    image: Image, span: Span, own: Section | None, allowed: Sequence[Span] = ()
) -> Iterator[tuple[Section, Span]]:
    """Yields other sections that overlap `span`, at the address where they run or are stored, unless only `allowed` spans overlap
    it."""
    for section, begin, end in places(image):
        if section is own or not span.meets(begin, end):
            continue
        common = Span(max(begin, span.begin), min(end, span.end))
        if not allowed or any(left.end - left.begin >= _PADDING for left in common.without(allowed)):
            yield section, Span(begin, end)


def described(image: Image, section: Section, span: Span) -> str:
    """Returns the section for a message, with the largest symbol in it."""
    inside = [symbol for symbol in image.symbols if symbol.section == section.name and symbol.size_bytes]
    largest = min(inside, key=lambda symbol: (-symbol.size_bytes, symbol.linked_name), default=None)
    return f"section {section.name} ({span}{f': {largest.linked_name}' if largest else ''})"


def stacks_in(image: Image, span: Span) -> Iterator[str]:
    """Yields the stack if the initial stack pointer of a vector table is in the span."""
    for table in find_tables(image):
        if span.begin < table.stack <= span.end:
            yield f"the stack, which grows down from 0x{table.stack:08x}"


def reserved(image: Image, span: Span) -> Iterator[str]:
    """Yields the stack and heap that a linker script reserves by symbols."""
    for reservation in reservations(image):
        if span.meets(reservation.begin, reservation.end):
            yield f"{reservation.what}, {Span(reservation.begin, reservation.end)}"
