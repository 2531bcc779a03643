# SPDX-License-Identifier: MIT
"""The targets of the addresses in linked code, read with the relocations of the object that the code came from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from aidge_build.prove.elf.image import Image, Section
from aidge_build.prove.elf.objects import LinkedName, ObjectFile, ObjectSymbol, Part, Relocation
from aidge_build.prove.elf.relocations import FIELDS, Field, addend_of, signed

_WORD = 0xFFFFFFFF
_ERRATUM = re.compile(r"__stm32l4xx_veneer_[0-9a-f]+_r")
_UNKNOWN = Field("", 4, _WORD)
# GNU ld replaces a call of an undefined weak function by nop.w, or for Thumb-1 by a jump over the second half, a nop.
_CALLS_OF_NOBODY = (0x8000F3AF, 0xBF00E000)


@dataclass(frozen=True)
class Linked:
    """The program: its memory, and its symbols by name."""

    image: Image
    names: Mapping[str, Sequence[LinkedName]]

    def read(self, address: int, count: int) -> bytes:
        """Returns the bytes that are stored for an address; fewer bytes, or none, if the program stores less."""
        section = self.section(address)
        if section is None:
            return b""
        offset = address - section.address
        return section.content[offset : offset + count]

    def section(self, address: int) -> Section | None:
        """Returns the section that stores the content of an address, or None."""
        return next((part for part in self.image.sections if part.content and part.holds(address)), None)

    @cached_property
    def errata(self) -> Sequence[tuple[int, int]]:
        """(address, veneer) of each instruction that `ld --fix-stm32l4xx-629360` replaced by a branch to a veneer."""
        behind = [name for name in self.names if _ERRATUM.fullmatch(name)]
        return [(self.names[name][0].address - 4, self.names[name.removesuffix("_r")][0].address) for name in behind]

    def named(self, name: str, binding: str = "global") -> Sequence[LinkedName]:
        """Returns the symbols of a name: the global symbols, or without any the local symbols, which include symbols that the
        linker made local.

        With `binding` "local" only the local symbols.
        """
        found = self.names.get(name, ())
        if binding == "local":
            return [linked for linked in found if linked.is_local]
        return [linked for linked in found if not linked.is_local] or found


class Reference(NamedTuple):
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
    def branch_to(self) -> int | None:
        """The address that a branch jumps to: its field counts from 4 bytes after the branch."""
        return (self.leads_to + 4) & _WORD if self.field.is_branch and self.leads_to is not None else None

    @property
    def is_call_of_nobody(self) -> bool:
        """Whether the linker took out a branch to a symbol that need not exist."""
        return self.symbol.binding == "weak" and self.field.is_branch and self.stored in _CALLS_OF_NOBODY


def references(objects: ObjectFile, part: Part, base: int, content: bytes) -> Iterator[Reference]:
    """Yields the references of a part at `base` with the linked bytes `content`; relocations of unknown kinds and beyond the
    content are omitted."""
    pieces: dict[tuple[str, int, int], dict[int, int]] = {}
    for relocation in part.relocations:
        kind = FIELDS.get(relocation.kind)
        if kind is None or kind.read is None or relocation.offset + kind.width > min(len(content), part.size_bytes):
            continue
        stored = _number(content, relocation.offset, kind)
        addend = relocation.addend
        if addend is None:
            addend = addend_of(kind, _number(part.content, relocation.offset, kind))
        found, place = kind.found(stored), base + relocation.offset
        seen_from = addend - relocation.offset if kind.is_relative else addend
        leads_to = _whole(kind, found, pieces.setdefault((kind.group, relocation.symbol, seen_from), {}))
        if leads_to is not None and kind.is_relative:
            leads_to += place
        yield Reference(
            relocation,
            kind,
            place,
            objects.symbols[relocation.symbol],
            addend,
            found,
            None if leads_to is None else leads_to & _WORD,
            stored,
        )


def _number(content: bytes, offset: int, kind: Field) -> int:
    return int.from_bytes(content[offset : offset + kind.width], "little")


def _whole(kind: Field, found: int, pieces: dict[int, int]) -> int | None:
    """Returns the number in a field, or the number that the last of several fields completes; None if a part of it is missing."""
    if not kind.group:
        return signed(found, kind.bits) if kind.is_whole else None
    pieces[kind.shift] = found
    complete = len(pieces) * kind.bits == 32
    return sum(number << shift for shift, number in pieces.items()) if complete else None


def without_fields(part: Part, content: bytes, spared: Sequence[tuple[int, int]] = ()) -> bytes:
    """Returns `content` with zeros for all bits that the linker fills in, and for the `spared` (offset, bytes)."""
    cleared = bytearray(content)
    fields = [(one.offset, FIELDS.get(one.kind, _UNKNOWN)) for one in part.relocations]
    spans = [(at, kind.width, kind.mask) for at, kind in fields]
    spans += [(at, width, _WORD) for at, width in spared]
    for at, width, mask in spans:
        kept = int.from_bytes(cleared[at : at + width], "little") & ~mask
        if at + width <= len(cleared):
            cleared[at : at + width] = kept.to_bytes(width, "little")
    return bytes(cleared)
