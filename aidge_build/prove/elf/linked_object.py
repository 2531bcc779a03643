# SPDX-License-Identifier: MIT
"""An object file and the program that it was linked into. A subclass for each instruction set knows what the linker fills in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from typing import ClassVar, Protocol

from aidge_build.prove.elf.image import Image, Section
from aidge_build.prove.elf.objects import LinkedName, ObjectFile, ObjectSymbol, Part, Relocation
from aidge_build.prove.elf.relocations import Field

_WORD = 0xFFFFFFFF
_UNKNOWN = Field("", 4, _WORD)


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

    def named(self, name: str, binding: str = "global") -> Sequence[LinkedName]:
        """Returns the symbols of a name: the global symbols, or without any the local symbols, which include symbols that the
        linker made local.

        With `binding` "local" only the local symbols.
        """
        found = self.names.get(name, ())
        if binding == "local":
            return [linked for linked in found if linked.is_local]
        return [linked for linked in found if not linked.is_local] or found


@dataclass(frozen=True)
class Placement:
    """A part of an object in the program.

    `content` are the bytes of the program as the object has them, before the linker shortened instructions; it is shorter than
    the part if the program stores less. `steps` are (offset in the part, address) pairs: the first byte, and each place before
    which the linker may have taken bytes out. `replaced` are the (offset, bytes) of instructions that the linker replaced by
    others.
    """

    part: Part
    content: bytes
    steps: tuple[tuple[int, int], ...]
    replaced: tuple[tuple[int, int], ...] = ()

    @property
    def base(self) -> int:
        """The address of the first byte."""
        return self.steps[0][1]

    @property
    def size_bytes(self) -> int:
        """The bytes that the part has in the program."""
        return self.address(self.part.size_bytes) - self.base

    def address(self, offset: int) -> int:
        """Returns the address of an offset in the part."""
        at, address = self.steps[max(bisect_right(self.steps, (offset, _WORD)) - 1, 0)]
        return address + offset - at


class Reference(Protocol):
    """A relocation of a part in the program: `leads_to` is the number that the program has for symbol + addend, None if it is not
    known; `is_partial` says that another relocation of the same symbol completes it."""

    @property
    def relocation(self) -> Relocation:
        """The relocation of the object."""

    @property
    def width(self) -> int:
        """The bytes of its field in the object."""

    @property
    def symbol(self) -> ObjectSymbol:
        """The symbol of the object that it refers to."""

    @property
    def addend(self) -> int:
        """The distance from the symbol."""

    @property
    def leads_to(self) -> int | None:
        """The number in the program."""

    @property
    def end(self) -> int | None:
        """The address for a message, None if it is not known."""

    @property
    def is_partial(self) -> bool:
        """Whether another reference completes the number."""

    @property
    def is_call_of_nobody(self) -> bool:
        """Whether the linker took out a branch to a symbol that need not exist."""

    def ends(self, linked: Linked) -> Sequence[int]:
        """Returns the numbers for symbol + addend that the program may mean: its own, and the targets of veneers."""

    def fits(self, address: int, thumb: int, linked: Linked) -> bool:
        """Whether the linker fills in what was found if the symbol has this address, and this bit 0 in a pointer to it."""


class LinkedObject:
    """An object file in a program. `placements` are the parts with a known place, by their numbers.

    `fields` are the relocations of the instruction set, `cores` names it.
    """

    cores: ClassVar[str] = ""
    fields: ClassVar[Mapping[int, Field]] = {}

    def __init__(self, objects: ObjectFile, linked: Linked):
        self.objects = objects
        self.linked = linked
        self.placements: dict[int, Placement] = {}

    @staticmethod
    def refusal(image: Image) -> str:
        """Returns why the code of a program cannot be compared; "" if it can."""
        return ""

    def place(self, part: Part, base: int) -> Placement:
        """Returns the part as the program has it if it begins at `base`."""
        return Placement(part, self.linked.read(base, part.size_bytes), ((0, base),))

    def bases(self, part: Part, offset: int, address: int) -> Sequence[int]:
        """Returns the addresses at which the part may begin if the program has its byte `offset` at `address`."""
        return [address - offset]

    def references(self, placement: Placement) -> Iterator[Reference]:
        """Yields the references of a part; relocations of unknown kinds and beyond the content are omitted."""
        raise NotImplementedError

    def targets(self, symbol: ObjectSymbol) -> list[tuple[int, int]]:
        """Returns the (address, Thumb bit) pairs that a reference to the symbol may mean."""
        if symbol.kind == "absolute":
            return [(symbol.value, 0)]
        named = [] if symbol.binding == "local" else [*self.linked.named(symbol.name)]
        if symbol.part is None and not named:  # as the linker's --wrap renames them
            named = [*self.linked.named(f"__wrap_{symbol.name}"), *self.linked.named(symbol.name.removeprefix("__real_"))]
        elif symbol.part is None:
            named += self.linked.named(f"__wrap_{symbol.name}")
        own = self.objects.part_of(symbol)
        placement = self.placements.get(own.index) if own else None
        if placement is not None and (symbol.binding != "weak" or not named):
            return [(placement.address(symbol.value), int(symbol.is_thumb))]
        return [(linked.address, linked.thumb) for linked in named]

    def unread(self, part: Part) -> set[str]:
        """Returns the names of the part's relocations with fields that are not compared."""
        return {_unread(self.fields.get(one.kind), one.kind) for one in part.relocations} - {""}

    def agrees(self, placement: Placement) -> bool:
        """Whether the bytes of the program equal the part's bytes, except for the fields that the linker fills in."""
        return self.differing(placement) == 0

    def differing(self, placement: Placement) -> int:
        """Returns the number of bytes in the program that differ from the part's, missing ones included."""
        part = placement.part
        if not part.content:
            return 0
        mine, theirs = (self.without_fields(part, content) for content in (part.content, placement.content))
        return 0 if mine == theirs else len(mine) - sum(map(eq, mine, theirs))

    def without_fields(self, part: Part, content: bytes, spared: Sequence[tuple[int, int]] = ()) -> bytes:
        """Returns `content` with zeros for all bits that the linker fills in, and for the `spared` (offset, bytes)."""
        cleared = bytearray(content)
        fields = [(one.offset, self.fields.get(one.kind, _UNKNOWN)) for one in part.relocations]
        spans = [(at, kind.width, kind.mask) for at, kind in fields]
        spans += [(at, width, _WORD) for at, width in spared]
        for at, width, mask in spans:
            kept = int.from_bytes(cleared[at : at + width], "little") & ~mask
            if at + width <= len(cleared):
                cleared[at : at + width] = kept.to_bytes(width, "little")
        return bytes(cleared)


def number_at(content: bytes, offset: int, field: Field) -> int:
    """Returns the bytes of a field as a number."""
    return int.from_bytes(content[offset : offset + field.width], "little")


def _unread(known: Field | None, kind: int) -> str:
    """Returns the name of a relocation if its field is not compared; "" if it is compared, or if the linker fills in nothing."""
    return str(kind) if known is None else known.name if known.mask and known.read is None else ""
