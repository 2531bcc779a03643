# SPDX-License-Identifier: MIT
"""The targets of the addresses in linked code for RISC-V, whatever the linker made of the instructions that hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.linked_object import Linked, LinkedObject, Placement, number_at
from aidge_build.prove.elf.objects import ObjectFile, ObjectSymbol, Part, Relocation
from aidge_build.prove.elf.relocations import Field, signed
from aidge_build.prove.elf.riscv_relaxation import (
    FROM_GP,
    FROM_PC,
    GONE,
    LOWER,
    UPPER_FROM_PC,
    Change,
    Form,
    changes_of,
    form_of,
    most_removed,
    relaxed,
)
from aidge_build.prove.elf.riscv_relocations import (
    ADDED,
    CALLS,
    FIELDS,
    GOT_HI20,
    LOW_PARTS,
    PCREL_HI20,
    RELAX,
    SET,
    SUBTRACTED,
    TPREL_ADD,
    TPREL_HI20,
    UPPER_PARTS,
)

_WORD = 0xFFFFFFFF
_REACH = 2048  # of the signed number in a load, a store or addi
_NOWHERE = _WORD
_MOST_SEARCHES = 3  # for the begin of a part: several files may have a local symbol of a name
_OF_THREAD = {TPREL_ADD, *(kind for kind in FIELDS if TPREL_HI20 in (kind, LOW_PARTS.get(kind)))}
_HALVES = {*LOW_PARTS, *LOW_PARTS.values(), GOT_HI20}
_FROM_PLACE = (GOT_HI20, PCREL_HI20)
_SUMMANDS = {*ADDED, *SET, *SUBTRACTED}

Key = tuple[str, int, int]  # of the instructions that hold the parts of one address
Expects = Callable[[int], bool]  # whether the program has symbol + addend at an address


class RiscvReference(NamedTuple):
    """A relocation of a part in the program; `expects` says whether the linker fills in what was found for an address."""

    relocation: Relocation
    width: int
    symbol: ObjectSymbol
    addend: int
    leads_to: int | None
    expects: Expects

    @property
    def end(self) -> int | None:
        """The address for a message, None if it is not known."""
        return self.leads_to

    @property
    def is_partial(self) -> bool:
        """Whether another reference completes the number: never, as `leads_to` is completed here."""
        return False

    @property
    def is_call_of_nobody(self) -> bool:
        """Whether the linker took out a branch: never, calls of undefined weak functions lead to address 0."""
        return False

    def ends(self, linked: Linked) -> Sequence[int]:
        """Returns the number for symbol + addend, if it is known."""
        return [] if self.leads_to in (None, _NOWHERE) else [self.leads_to]

    def fits(self, address: int, thumb: int, linked: Linked) -> bool:
        """Whether the linker fills in what was found if the symbol has this address."""
        return self.expects(address + self.addend & _WORD)


class _Half(NamedTuple):
    """An instruction at `address` that holds a part of symbol + addend, or all of it after relaxation.

    If it `is_of_table`, it holds the place in the global offset table that holds symbol + addend."""

    form: Form
    address: int
    symbol: ObjectSymbol
    addend: int
    is_of_table: bool


class RiscvObject(LinkedObject):
    """An object file for RISC-V of 32 bits in its program. gp counts as `__global_pointer$`, which start-up code writes to it."""

    cores = "RISC-V"
    fields = FIELDS

    def __init__(self, objects: ObjectFile, linked: Linked):
        super().__init__(objects, linked)
        symbol = linked.image.symbol("__global_pointer$")
        self._gp = symbol.address if symbol else None
        self._changes: dict[int, Sequence[Change]] = {}
        self._searched: dict[int, list[int]] = {}
        self._indexed = 0
        self._halves: dict[tuple[int, Relocation], tuple[Key, _Half]] = {}
        self._uppers_in: dict[int, dict[int, Relocation]] = {}
        self._uppers: dict[Key, list[_Half]] = {}
        self._lowers: dict[Key, list[_Half]] = {}

    @staticmethod
    def refusal(image: Image) -> str:
        """Returns why the code of a program cannot be compared; "" if it can."""
        if image.has_64_bits or image.is_big_endian:
            return "the program is for another RISC-V than one of 32 bits that is little-endian"
        return ""

    def place(self, part: Part, base: int) -> Placement:
        """Returns the part as the program has it if it begins at `base`."""
        return relaxed(part, self._changes_of(part), base, self.linked.read(base, part.size_bytes))

    def bases(self, part: Part, offset: int, address: int) -> Sequence[int]:
        """Returns the addresses at which the part may begin: relaxation may have taken bytes out before the offset.

        A symbol before all of these bytes gives the address. Without one, a search finds the address with the most equal bytes.
        """
        lowest = address - offset
        within = range(lowest, lowest + most_removed(self._changes_of(part), offset) + 1, 2)
        firsts = sorted(base for base in self._begins(part) if base in within)
        if firsts or len(within) == 1:
            return firsts or [lowest]
        known = self._searched.setdefault(part.index, [])
        leading = [base for base in known if self.place(part, base).address(offset) == address]
        if not leading and len(known) < _MOST_SEARCHES:
            leading = self._search(part, offset, address, within)
            known += leading
        return leading

    def _changes_of(self, part: Part) -> Sequence[Change]:
        if part.index not in self._changes:
            self._changes[part.index] = tuple(changes_of(part))
        return self._changes[part.index]

    def _begins(self, part: Part) -> set[int]:
        """Returns the addresses of the part by its symbols before the first byte that the linker may take out."""
        end = next((change.offset for change in self._changes_of(part)), part.size_bytes)
        early = [symbol for symbol in self.objects.names_of(part.index) if symbol.value <= end]
        named = ((symbol, self.linked.named(symbol.name, symbol.binding)) for symbol in early)
        return {linked.address - symbol.value for symbol, found in named for linked in found}

    def _search(self, part: Part, offset: int, address: int, within: range) -> list[int]:
        placements = [self.place(part, base) for base in within]
        fitting = [placement for placement in placements if placement.address(offset) == address]
        return [min(fitting, key=self.differing).base] if fitting else []

    def unread(self, part: Part) -> set[str]:
        """Returns the names of the part's relocations with fields that are not compared."""
        odd = (group for group in _sums(part).values() if _summands(group) is None)
        return super().unread(part) | {FIELDS[one.kind].name for group in odd for one in group}

    def references(self, placement: Placement) -> Iterator[RiscvReference]:
        """Yields the references of a part; relocations of unknown kinds and beyond the content are omitted."""
        self._index()
        part = placement.part
        stored, sums = self.linked.read(placement.base, placement.size_bytes), _sums(part)
        for one in part.relocations:
            field = FIELDS.get(one.kind)
            if field is None or field.read is None or one.offset + field.width > min(len(placement.content), part.size_bytes):
                continue
            if one.kind in _HALVES:
                yield from self._of_half(part, one)
            elif one.kind in CALLS:
                yield from self._of_call(placement, one, stored)
            elif one.kind in _SUMMANDS:
                yield from self._of_sum(placement, one, sums[one.offset])
            else:
                yield self._plain(placement, one, field)

    def _made(self, one: Relocation, width: int, leads_to: int | None, expects: Expects | None = None) -> RiscvReference:
        leads_to = None if leads_to is None else leads_to & _WORD
        return RiscvReference(
            one, width, self.objects.symbols[one.symbol], one.addend or 0, leads_to, expects or partial(_equals, leads_to)
        )

    def _plain(self, placement: Placement, one: Relocation, field: Field) -> RiscvReference:
        number = signed(field.found(number_at(placement.content, one.offset, field)), field.bits)
        return self._made(one, field.width, number + placement.address(one.offset) if field.is_relative else number)

    def _of_call(self, placement: Placement, one: Relocation, stored: bytes) -> Iterator[RiscvReference]:
        form = self._form(placement, one, stored)
        if form is not None:
            number = form.number + (placement.address(one.offset) if form.base == FROM_PC else 0)
            yield self._made(one, FIELDS[one.kind].width, number)

    def _form(self, placement: Placement, one: Relocation, stored: bytes) -> Form | None:
        end = one.offset + FIELDS[one.kind].width
        begin, behind = (placement.address(offset) - placement.base for offset in (one.offset, end))
        return form_of(one.kind, placement.part.content[one.offset : end], stored[begin:behind])

    def _of_sum(self, placement: Placement, one: Relocation, group: Sequence[Relocation]) -> Iterator[RiscvReference]:
        """Yields a field that is a symbol minus another one, with the address of the second; and the second one."""
        pair = _summands(group)
        field = FIELDS[one.kind]
        if pair is None:
            return
        added, subtracted = pair
        known = self._addresses(subtracted)
        if one is subtracted:
            yield self._made(one, field.width, None, lambda address: True)
        elif known:
            number = number_at(placement.content, one.offset, field)
            if one.kind in ADDED:
                number -= number_at(placement.part.content, one.offset, field)
            possible = [number + address for address in known]
            leads_to = possible[0] if field.bits == 32 else None
            yield self._made(one, field.width, leads_to, partial(_equals_lowest, possible, field.mask))

    def _addresses(self, subtracted: Relocation | None) -> list[int]:
        """Returns the possible addresses of a subtracted symbol + addend; 0 without one."""
        if subtracted is None:
            return [0]
        symbol = self.objects.symbols[subtracted.symbol]
        found = [address + (subtracted.addend or 0) for address, _ in self.targets(symbol)]
        return found or ([subtracted.addend or 0] if symbol.binding == "weak" else [])

    def _of_half(self, part: Part, one: Relocation) -> Iterator[RiscvReference]:
        """Yields an instruction with a part of an address; its `leads_to` is completed by an instruction with the other part."""
        found = self._halves.get((part.index, one))
        if found is None:
            return
        key, half = found
        leads_to, expects = (self._of_lower if one.kind in LOW_PARTS else self._of_upper)(key, half)
        if half.is_of_table:
            leads_to = None if leads_to is None else self._in_table(leads_to)
            expects = partial(_equals, leads_to)
        if leads_to is not None:
            leads_to &= _WORD
        yield RiscvReference(one, FIELDS[one.kind].width, half.symbol, half.addend, leads_to, expects)

    def _of_upper(self, key: Key, half: _Half) -> tuple[int | None, Expects]:
        others = self._lowers.get(key, ())
        if half.form.base == GONE:
            known = next((other for other in others if other.form.base != LOWER), None)
            leads_to = self._whole(known) if known else None
            return _moved(leads_to, half, known), self._is_near
        number, base = half.form.number, half.address if half.form.base == UPPER_FROM_PC else 0
        known = next((other for other in others if other.form.base == LOWER), None)
        leads_to = base + number + known.form.number if known else None
        return _moved(leads_to, half, known), partial(_has_upper, number, base)

    def _of_lower(self, key: Key, half: _Half) -> tuple[int | None, Expects]:
        if half.form.base != LOWER:
            leads_to = self._whole(half)
            return leads_to, partial(_equals, leads_to)
        uppers = self._uppers.get(key, ())
        if any(upper.form.base == GONE for upper in uppers) or (key[0] == "place" and not uppers):
            return _NOWHERE, partial(_equals, None)  # nothing gives the upper bits
        upper = uppers[0] if uppers else None
        base = upper.address if upper and upper.form.base == UPPER_FROM_PC else 0
        leads_to = base + upper.form.number + half.form.number if upper else None
        return leads_to, partial(_has_lower, half.form.number, base)

    def _in_table(self, place: int) -> int | None:
        """Returns the word at a place in the global offset table; None if nothing is stored there."""
        word = self.linked.read(place & _WORD, 4)
        return int.from_bytes(word, "little") if len(word) == 4 else None

    def _whole(self, half: _Half) -> int | None:
        """Returns the address that an instruction has without another one; None for gp without a known number."""
        if half.form.base == FROM_GP:
            return None if self._gp is None else self._gp + half.form.number
        return half.form.number

    def _is_near(self, address: int) -> bool:
        """Whether an address is in reach of gp, or of the zero register."""
        return any(-_REACH <= signed(address - base & _WORD, 32) < _REACH for base in (0, self._gp or 0))

    def _index(self) -> None:
        """Collects the instructions with parts of addresses of all parts that were placed meanwhile."""
        placements = list(self.placements.values())[self._indexed :]
        self._indexed += len(placements)
        for placement in placements:
            stored = self.linked.read(placement.base, placement.size_bytes)
            relaxable = {one.offset for one in placement.part.relocations if one.kind == RELAX}
            for one in placement.part.relocations:
                is_half = one.kind in _HALVES or one.kind == TPREL_ADD
                found = self._half(placement, one, stored, one.offset in relaxable) if is_half else None
                if found and (one.kind != TPREL_ADD or found[1].form.base == GONE):
                    self._halves[placement.part.index, one] = found
                    index = self._lowers if one.kind in LOW_PARTS else self._uppers
                    index.setdefault(found[0], []).append(found[1])

    def _half(self, placement: Placement, one: Relocation, stored: bytes, is_relaxable: bool) -> tuple[Key, _Half] | None:
        """Returns an instruction with a part of an address, and the key of the address; None if it is no known form.

        Instructions without R_RISCV_RELAX keep their form, so the upper bits of their addresses are kept, too.
        """
        form, address = self._form(placement, one, stored), placement.address(one.offset)
        if form is None:
            return None
        symbol, addend, kind = self.objects.symbols[one.symbol], one.addend or 0, one.kind
        if LOW_PARTS.get(one.kind) == PCREL_HI20:  # names the instruction with the upper bits
            key = ("place", -1 if symbol.part is None else symbol.part, symbol.value)
            upper = self._uppers_of(key[1]).get(symbol.value)
            if upper is not None and upper.kind not in _FROM_PLACE:
                return None
            if upper is not None:
                symbol, addend, kind = self.objects.symbols[upper.symbol], addend + (upper.addend or 0), upper.kind
        elif one.kind in _FROM_PLACE:
            key = ("place", placement.part.index, one.offset)
        else:
            key = ("thread" if one.kind in _OF_THREAD else "symbol", one.symbol, int(is_relaxable))
        return key, _Half(form, address, symbol, addend, kind == GOT_HI20)

    def _uppers_of(self, index: int) -> dict[int, Relocation]:
        """Returns the relocations with upper bits relative to pc of a part, by their offsets."""
        if index not in self._uppers_in:
            relocations = self.objects.parts[index].relocations if index in self.objects.parts else ()
            self._uppers_in[index] = {one.offset: one for one in relocations if one.kind in UPPER_PARTS}
        return self._uppers_in[index]


def _equals(leads_to: int | None, address: int) -> bool:
    return leads_to is not None and leads_to & _WORD == address


def _equals_lowest(possible: Sequence[int], mask: int, address: int) -> bool:
    return any((number - address) & mask == 0 for number in possible)


def _has_upper(number: int, base: int, address: int) -> bool:
    return (address - base + _REACH & _WORD) >> 12 == number >> 12 & 0xFFFFF


def _has_lower(number: int, base: int, address: int) -> bool:
    return (address - base - number) & 0xFFF == 0


def _moved(leads_to: int | None, half: _Half, other: _Half | None) -> int | None:
    """Returns the address of one addend by the address of another one."""
    return None if leads_to is None or other is None else leads_to + half.addend - other.addend


def _sums(part: Part) -> dict[int, list[Relocation]]:
    """Returns the relocations that add or subtract a symbol, by their offsets."""
    found: dict[int, list[Relocation]] = {}
    for one in part.relocations:
        if one.kind in _SUMMANDS:
            found.setdefault(one.offset, []).append(one)
    return found


def _summands(group: Sequence[Relocation]) -> tuple[Relocation, Relocation | None] | None:
    """Returns the symbol and the subtracted symbol that a field is the sum of; None for other sums."""
    added = [one for one in group if one.kind not in SUBTRACTED]
    subtracted = [one for one in group if one.kind in SUBTRACTED]
    if len(added) != 1 or len(subtracted) > 1 or len({FIELDS[one.kind].bits for one in group}) != 1:
        return None
    return added[0], next(iter(subtracted), None)
