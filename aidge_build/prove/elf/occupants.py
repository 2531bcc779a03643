# SPDX-License-Identifier: MIT
"""Who has bytes of the address space: what an arena or weights must not meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aidge_build.prove.elf.image import Image, Section
from aidge_build.prove.elf.regions import places
from aidge_build.prove.elf.reservations import reservations
from aidge_build.prove.elf.vectors import find_tables

# Between arrays of one section that are allowed to lie there: an arena's alignment leaves fewer bytes than these.
_PADDING = 16


@dataclass(frozen=True)
class Span:
    """The bytes from `begin` to before `end`."""

    begin: int
    end: int

    def meets(self, begin: int, end: int) -> bool:
        """Whether both have a byte."""
        return begin < self.end and self.begin < end

    def without(self, others: Sequence[Span]) -> list[Span]:
        """What is left of it."""
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
    """Other sections that have bytes of `span`, where they run or where they are stored, unless only `allowed` ones."""
    for section, begin, end in places(image):
        if section is own or not span.meets(begin, end):
            continue
        common = Span(max(begin, span.begin), min(end, span.end))
        if not allowed or any(left.end - left.begin >= _PADDING for left in common.without(allowed)):
            yield section, Span(begin, end)


def described(image: Image, section: Section, span: Span) -> str:
    """A section for a message, with the largest thing in it."""
    inside = [symbol for symbol in image.symbols if symbol.section == section.name and symbol.size_bytes]
    largest = min(inside, key=lambda symbol: (-symbol.size_bytes, symbol.linked_name), default=None)
    return f"section {section.name} ({span}{f': {largest.linked_name}' if largest else ''})"


def stacks_in(image: Image, span: Span) -> Iterator[str]:
    """The stack, where a vector table lets it begin there."""
    for table in find_tables(image) if image.machine == "ARM" else ():
        if span.begin < table.stack <= span.end:
            yield f"the stack, which grows down from 0x{table.stack:08x}"


def reserved(image: Image, span: Span) -> Iterator[str]:
    """Stack and heap that a linker script keeps by symbols."""
    for reservation in reservations(image):
        if span.meets(reservation.begin, reservation.end):
            yield f"{reservation.what}, {Span(reservation.begin, reservation.end)}"
