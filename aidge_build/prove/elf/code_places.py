# SPDX-License-Identifier: MIT
"""The addresses of an object file's sections in a program: by the symbols of both, and for sections without symbols by references
to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from aidge_build.base.naming import split_second_name
from aidge_build.prove.elf.linked_object import LinkedObject, Reference
from aidge_build.prove.elf.objects import Part


def find_places(one: LinkedObject) -> list[str]:
    """Finds the parts of an object in the program (`placements`); a linker omits parts without references, and unites merged
    parts. Returns the weak functions and constants that another object defines instead.

    A global symbol gives the address of its part. A local name may belong to another file: it counts if a part with a known
    address refers to its part, and otherwise only if the bytes are equal.
    """
    placer = _Placer(one)
    placer.by_global_names()
    placer.by_weak_names()
    placer.by_references()
    placer.by_local_names()
    return placer.others


class _Placer:
    def __init__(self, one: LinkedObject):
        self.one = one
        self.objects = one.objects
        self.others: list[str] = []
        self.pending: list[int] = []
        self.elsewhere: set[int] = set()
        self.parts = {index: part for index, part in one.objects.parts.items() if part.size_bytes and not part.is_merged}

    def by_global_names(self) -> None:
        for index, part in sorted(self.parts.items()):
            bases = [] if part.is_shared else self._candidates(index, "global")
            if bases:
                self._put(index, self._best(part, bases))

    def by_weak_names(self) -> None:
        for index, part in sorted(self.parts.items()):
            bases = self._candidates(index, "weak", *(["global"] if part.is_shared else []))
            if bases and index not in self.one.placements:
                base = self._best(part, bases)
                if self._agrees(part, base) or self._is_same_everywhere(index):
                    self._put(index, base)
                else:
                    self.elsewhere.add(index)
                    self.others.append(next(one.name for one in self.objects.names_of(index) if one.binding != "local"))

    def _is_same_everywhere(self, index: int) -> bool:
        """Whether the name of a weak function ends in the digest of its text, as the names of kernels that models share."""
        weak = (symbol.name for symbol in self.objects.names_of(index) if symbol.binding == "weak")
        return any(split_second_name(name) for name in weak)

    def by_references(self) -> None:
        while self.pending:
            index = self.pending.pop(0)
            placement = self.one.placements[index]
            if not any(self._is_wanted(self.objects.symbols[one.symbol].part) for one in placement.part.relocations):
                continue
            for reference in self.one.references(placement):
                target = self.objects.part_of(reference.symbol)
                if target is not None and self._is_wanted(target.index):
                    bases = self._led_to(target, reference)
                    if bases:
                        self._put(target.index, self._best(target, bases))

    def _is_wanted(self, index: int | None) -> bool:
        return index in self.parts and index not in self.one.placements and index not in self.elsewhere

    def by_local_names(self) -> None:
        for index, part in sorted(self.parts.items()):
            for base in self._candidates(index, "local") if index not in self.one.placements else ():
                if index not in self.one.placements and self._agrees(part, base):
                    self._put(index, base)
            self.by_references()

    def _put(self, index: int, base: int) -> None:
        self.one.placements[index] = self.one.place(self.parts[index], base)
        self.pending.append(index)

    def _candidates(self, index: int, *bindings: str) -> list[int]:
        """Returns the base address of the part by each of its symbols, the address that most symbols agree on first."""
        counted = Counter(
            base
            for symbol in self.objects.names_of(index)
            if symbol.binding in bindings
            for linked in self.one.linked.named(symbol.name, symbol.binding)
            for base in self.one.bases(self.objects.parts[index], symbol.value, linked.address)
        )
        return [base for base, _ in sorted(counted.items(), key=lambda item: (-item[1], item[0]))]

    def _led_to(self, target: Part, reference: Reference) -> list[int]:
        """Returns the base addresses of a part by a reference to it, restricted to addresses that its local and weak symbols
        confirm, if it has any."""
        bases: list[int] = []
        for end in reference.ends(self.one.linked):
            address = (end & ~int(reference.symbol.is_thumb)) - reference.addend
            bases += self.one.bases(target, reference.symbol.value, address)
        named = self._candidates(target.index, "local", "weak")
        return [base for base in bases if base in named] or named or bases

    def _best(self, part: Part, bases: Sequence[int]) -> int:
        return next((base for base in bases if self._agrees(part, base)), bases[0])

    def _agrees(self, part: Part, base: int) -> bool:
        """Whether the bytes at `base` are the part's."""
        return self.one.agrees(self.one.place(part, base))
