# SPDX-License-Identifier: MIT
"""The targets of the addresses in linked Thumb code, read with the relocations of the object that the code came from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from aidge_build.prove.elf.linked_object import Linked, LinkedObject, Placement, number_at
from aidge_build.prove.elf.objects import ObjectFile, ObjectSymbol, Part, Relocation
from aidge_build.prove.elf.relocations import FIELDS, Field, addend_of, signed
from aidge_build.prove.elf.veneers import branch_target, reached

_WORD = 0xFFFFFFFF
_ERRATUM = re.compile(r"__stm32l4xx_veneer_[0-9a-f]+_r")
# GNU ld replaces a call of an undefined weak function by nop.w, or for Thumb-1 by a jump over the second half, a nop.
_CALLS_OF_NOBODY = (0x8000F3AF, 0xBF00E000)


class ThumbReference(NamedTuple):
    """A relocation of a part of the program: `leads_to` is the number that the program has for symbol + addend, None if the field
    holds only a part of it; `branch_to` is the address that a branch reaches."""

    relocation: Relocation
    field: Field
    place: int
    symbol: ObjectSymbol
    addend: int
    found: int
    leads_to: int | None
    stored: int

    @property
    def width(self) -> int:
        """The bytes of its field."""
        return self.field.width

    @property
    def branch_to(self) -> int | None:
        """The address that a branch jumps to: its field counts from 4 bytes after the branch."""
        return (self.leads_to + 4) & _WORD if self.field.is_branch and self.leads_to is not None else None

    @property
    def end(self) -> int | None:
        """The address for a message, None if it is not known."""
        return self.branch_to if self.branch_to is not None else self.leads_to

    @property
    def is_partial(self) -> bool:
        """Whether another relocation completes the number, or the number is small data."""
        return self.leads_to is None

    @property
    def is_call_of_nobody(self) -> bool:
        """Whether the linker took out a branch to a symbol that need not exist."""
        return self.symbol.binding == "weak" and self.field.is_branch and self.stored in _CALLS_OF_NOBODY

    def ends(self, linked: Linked) -> list[int]:
        """Returns the numbers for symbol + addend that the program may mean: its own, and the targets of veneers."""
        if self.leads_to is None:
            return []
        through = reached(self.branch_to, linked.read) if self.branch_to is not None else ()
        return [self.leads_to, *((end - 4) & _WORD for end in through)]

    def fits(self, address: int, thumb: int, linked: Linked) -> bool:
        """Whether the linker filled in this address, or a branch reaches it through veneers."""
        if self.found == self.field.number(self.place, address, thumb, self.addend):
            return True
        return (address + self.addend) & _WORD in self.ends(linked)[1:]


class ThumbObject(LinkedObject):
    """An object file for Cortex-M in its program."""

    cores = "Cortex-M"
    fields = FIELDS

    def place(self, part: Part, base: int) -> Placement:
        """Returns the part as the program has it if it begins at `base`."""
        content = self.linked.read(base, part.size_bytes)
        return Placement(part, content, ((0, base),), tuple(self._replaced(base, content)))

    def _replaced(self, base: int, content: bytes) -> Iterator[tuple[int, int]]:
        """Yields (offset, bytes) of the instructions that `ld --fix-stm32l4xx-629360` replaced by a branch to a veneer."""
        for place, veneer in self._errata:
            if place in range(base, base + len(content)) and branch_target(place, content[place - base :]) == veneer:
                yield place - base, 4

    @cached_property
    def _errata(self) -> Sequence[tuple[int, int]]:
        """(address, veneer) of each instruction that `ld --fix-stm32l4xx-629360` replaced by a branch to a veneer."""
        names = self.linked.names
        behind = [name for name in names if _ERRATUM.fullmatch(name)]
        return [(names[name][0].address - 4, names[name.removesuffix("_r")][0].address) for name in behind]

    def references(self, placement: Placement) -> Iterator[ThumbReference]:
        """Yields the references of a part; relocations of unknown kinds and beyond the content are omitted."""
        return references(self.objects, placement.part, placement.base, placement.content)


def references(objects: ObjectFile, part: Part, base: int, content: bytes) -> Iterator[ThumbReference]:
    """Yields the references of a part at `base` with the linked bytes `content`."""
    pieces: dict[tuple[str, int, int], dict[int, int]] = {}
    for relocation in part.relocations:
        kind = FIELDS.get(relocation.kind)
        if kind is None or kind.read is None or relocation.offset + kind.width > min(len(content), part.size_bytes):
            continue
        stored = number_at(content, relocation.offset, kind)
        addend = relocation.addend
        if addend is None:
            addend = addend_of(kind, number_at(part.content, relocation.offset, kind))
        found, place = kind.found(stored), base + relocation.offset
        seen_from = addend - relocation.offset if kind.is_relative else addend
        leads_to = _whole(kind, found, pieces.setdefault((kind.group, relocation.symbol, seen_from), {}))
        if leads_to is not None and kind.is_relative:
            leads_to += place
        yield ThumbReference(
            relocation,
            kind,
            place,
            objects.symbols[relocation.symbol],
            addend,
            found,
            None if leads_to is None else leads_to & _WORD,
            stored,
        )


def _whole(kind: Field, found: int, pieces: dict[int, int]) -> int | None:
    """Returns the number in a field, or the number that the last of several fields completes; None if a part of it is missing."""
    if not kind.group:
        return signed(found, kind.bits) if kind.is_whole else None
    pieces[kind.shift] = found
    complete = len(pieces) * kind.bits == 32
    return sum(number << shift for shift, number in pieces.items()) if complete else None
