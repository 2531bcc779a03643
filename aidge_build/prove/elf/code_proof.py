# SPDX-License-Identifier: MIT
"""Compares the code and constants of a program with the object files that they were linked from, byte by byte.

The fields that a linker fills in are computed again from the object's relocations and compared: a branch must reach its function,
directly or through veneers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from aidge_build.prove.elf.claims import Claim
from aidge_build.prove.elf.code_places import find_places
from aidge_build.prove.elf.findings import ERROR, Finding
from aidge_build.prove.elf.image import Image, source_name
from aidge_build.prove.elf.instruction_sets import OBJECTS
from aidge_build.prove.elf.linked_object import Linked, LinkedObject, Placement, Reference
from aidge_build.prove.elf.objects import LinkedName, ObjectFile, ObjectSymbol, Part

_MOST_FINDINGS = 8  # of one object: with a wrong object, all of it differs


@dataclass(frozen=True)
class CodeProof:
    """The compared code: names of `objects`, numbers of functions and constants, and their bytes.

    `not_compared` says what was not compared and why. `referred` are the symbols that the compared code refers to. `unproved` are
    the models with a function that was not compared, None for all models.
    """

    findings: tuple[Finding, ...] = ()
    objects: tuple[str, ...] = ()
    functions: int = 0
    constants: int = 0
    size_bytes: int = 0
    not_compared: tuple[str, ...] = ()
    referred: frozenset[str] = frozenset()
    unproved: frozenset[str] | None = None  # all models

    def leaves_out(self, model: str, symbol: str) -> bool:
        """Whether it is proved that the code of a model does not refer to a symbol."""
        return self.unproved is not None and model not in self.unproved and symbol not in self.referred


NOT_COMPARED = CodeProof()


def check_code(
    image: Image, names: Mapping[str, Sequence[LinkedName]], objects: Sequence[ObjectFile], claims: Sequence[Claim]
) -> CodeProof:
    """Returns the comparison: COD01 for different bytes, COD02 for an address that leads elsewhere."""
    reason = _general_reason(image, objects)
    if reason and not objects and not claims:
        return NOT_COMPARED
    if reason:
        return CodeProof(not_compared=(reason,))
    linked, kind = Linked(image, names), OBJECTS[image.machine]
    comparisons = [_Comparison(kind(one, linked), _model_of(one, claims)) for one in objects]
    for comparison in comparisons:
        comparison.run()
    missing = _missing_functions(image, claims, comparisons)
    return CodeProof(
        tuple(chain.from_iterable(comparison.findings() for comparison in comparisons)),
        tuple(comparison.objects.name for comparison in comparisons if comparison.one.placements),
        sum(len(comparison.functions) for comparison in comparisons),
        sum(len(comparison.constants) for comparison in comparisons),
        sum(comparison.size_bytes for comparison in comparisons),
        tuple(_not_compared(comparisons, missing)),
        frozenset().union(*(comparison.referred for comparison in comparisons)),
        frozenset(missing),
    )


def _model_of(one: ObjectFile, claims: Sequence[Claim]) -> str:
    """Returns the model with functions or weights in this object; "" for any other object."""
    defined = {symbol.name for symbol in one.symbols if symbol.part is not None}
    return next((claim.model for claim in claims if not defined.isdisjoint((*claim.functions, *claim.weights))), "")


def _not_compared(comparisons: Sequence[_Comparison], missing: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yields what was not compared and why, for each object; and the `missing` functions of models, unless an object could not be
    read."""
    for comparison in comparisons:
        yield from comparison.not_compared
    if not any(comparison.refusal for comparison in comparisons):
        for model, functions in missing.items():
            yield f"{', '.join(functions)} of model {model}: in none of the objects, or not in the program"


def _missing_functions(image: Image, claims: Sequence[Claim], comparisons: Sequence[_Comparison]) -> dict[str, list[str]]:
    """Returns the functions that were not compared, by model."""
    found = set(chain.from_iterable(comparison.functions for comparison in comparisons))
    return {claim.model: functions for claim in claims if (functions := _missing(image, claim, found))}


def _missing(image: Image, claim: Claim, found: Collection[str]) -> list[str]:
    """Returns the functions of a model that were not compared. If some were compared, a function that is not in the program does
    not count: nothing calls it, and the linker omitted it."""
    is_partial = any(name in found for name in claim.functions)
    return [name for name in claim.functions if name not in found and not (is_partial and image.symbol(name) is None)]


def _general_reason(image: Image, objects: Sequence[ObjectFile]) -> str:
    kind = OBJECTS.get(image.machine)
    if kind is None:
        known = " and ".join(one.cores for one in OBJECTS.values())
        return f"the program is for {image.machine}, code is read for {known} alone"
    if kind.refusal(image):
        return kind.refusal(image)
    if not objects:
        return "no objects were given (--objects)"
    if not image.symbols:
        return "the program has no symbols"
    return ""


def _other_machine(one: LinkedObject) -> str:
    mine, theirs = one.objects.machine, one.linked.image.machine
    return f"it is for {mine}, the program is for {theirs}" if mine != theirs else ""


def _first_names(symbols: Sequence[ObjectSymbol]) -> list[ObjectSymbol]:
    """Returns one symbol for each address: a model's functions have a second name."""
    first: dict[int, ObjectSymbol] = {}
    for symbol in symbols:
        if symbol.kind in ("function", "object"):
            first.setdefault(symbol.value, symbol)
    return list(first.values())


class _Comparison:
    def __init__(self, one: LinkedObject, model: str):
        self.one = one
        self.objects = one.objects
        self.linked = one.linked
        self.model = model
        self.refusal = one.objects.refusal or _other_machine(one)
        self.functions: list[str] = []
        self.constants: list[str] = []
        self.size_bytes = 0
        self.not_compared: list[str] = []
        self._found: list[Finding] = []
        self._names: dict[int, list[ObjectSymbol]] = {}
        self._unknown: set[str] = set()
        self._absent: set[str] = set()
        self.referred: set[str] = set()

    def run(self) -> None:
        if self.refusal:
            self._leave_out(self.refusal)
            return
        for name in find_places(self.one):
            self._leave_out(f"{name} is weak, and another object defines it")
        for index, placement in sorted(self.one.placements.items()):
            part = placement.part
            self._names[index] = _first_names(self.objects.names_of(index))
            if part.content and part.is_of_thread:
                self._leave_out(f"initial values of thread-local variables in {part.name}")
            elif part.content and not (part.is_zero and self.linked.section(placement.base) is None):
                self._compare(placement)
            self._found += self._misplaced(placement)
        if not self.functions and not self.constants:
            self._leave_out("nothing of it is in the program")
        if self._absent:
            self._found.append(
                Finding(
                    "COD02",
                    ERROR,
                    f"{self.objects.name} refers to {', '.join(sorted(self._absent))}, which the program does not have",
                    "link again from these objects, and let no tool after the link drop or rename symbols",
                )
            )
        if self._unknown:
            self._leave_out(f"addresses of {', '.join(sorted(self._unknown))}, which the program's symbols do not name")

    def findings(self) -> Iterator[Finding]:
        """Yields the first `_MOST_FINDINGS` findings and the number of the others: everything differs from a wrong object."""
        found = self._found[:_MOST_FINDINGS]
        more = len(self._found) - _MOST_FINDINGS
        if more > 0:
            found.append(Finding("COD01", ERROR, f"{self.objects.name}: {more} more differences"))
        yield from (replace(one, differing=self.model) for one in found)

    def _leave_out(self, reason: str) -> None:
        self.not_compared.append(f"{self.objects.name}: {reason}")

    def _compare(self, placement: Placement) -> None:
        part = placement.part
        met = list(self.one.references(placement))
        spared = [one for one in met if one.is_call_of_nobody and not self.one.targets(one.symbol)]
        self._compare_bytes(placement, spared)
        self.referred.update(self.objects.symbols[one.symbol].name for one in part.relocations)
        for reference in met:
            self._found += self._astray(placement, reference) if reference not in spared else ()
        for name in sorted(self.one.unread(part)):
            self._leave_out(f"fields of relocation {name} in {part.name}")
        symbols = [symbol for symbol in self._names[part.index] if symbol.size_bytes]
        self.functions += [source_name(symbol.name) for symbol in symbols if symbol.kind == "function"]
        self.constants += [symbol.name for symbol in symbols if symbol.kind == "object"]
        self.size_bytes += placement.size_bytes

    def _compare_bytes(self, placement: Placement, spared: Sequence[Reference]) -> None:
        """Compares all bytes except for the fields that the linker fills in, the fields of `spared` references, and instructions
        that the linker replaced."""
        part, replaced = placement.part, placement.replaced
        if replaced:
            self._leave_out(f"{len(replaced)} instructions of {part.name} that the linker replaced for an erratum of the core")
        spans = [*replaced, *((one.relocation.offset, one.width) for one in spared)]
        mine, theirs = (self.one.without_fields(part, each, spans) for each in (part.content, placement.content))
        self._found += self._differences(placement, mine, theirs) if mine != theirs else ()

    def _differences(self, placement: Placement, mine: bytes, theirs: bytes) -> Iterator[Finding]:
        part = placement.part
        if len(theirs) < len(mine):
            yield self._other(
                f"{self._owner(part, len(theirs))[0]} is cut off: {len(theirs):,} of {len(mine):,} B of {part.name} are stored"
            )
            return
        counts: dict[str, list[int]] = {}
        for at in (at for at in range(len(mine)) if mine[at] != theirs[at]):
            counts.setdefault(self._owner(part, at)[0], []).append(at)
        for owner, places in counts.items():
            yield self._other(f"{owner} differs in {len(places):,} B, first at {self._place(placement, places[0])}")

    def _other(self, text: str) -> Finding:
        return Finding("COD01", ERROR, f"{text}: it is not what {self.objects.name} holds")

    def _misplaced(self, placement: Placement) -> Iterator[Finding]:
        """Yields COD02 for each global symbol with an address in the program that does not fit the address of its part."""
        for symbol in self.objects.names_of(placement.part.index):
            addresses = [linked.address for linked in self.linked.named(symbol.name)]
            place = placement.address(symbol.value)
            if symbol.binding == "global" and addresses and place not in addresses:
                yield Finding(
                    "COD02",
                    ERROR,
                    f"{symbol.name} is at 0x{addresses[0]:08x}, but the rest of {self.objects.name} puts it at 0x{place:08x}",
                )

    def _astray(self, placement: Placement, reference: Reference) -> Iterator[Finding]:
        symbol = reference.symbol
        own = self.objects.part_of(symbol)
        if own is not None and own.is_merged:
            yield from self._astray_constant(placement, reference, own)
            return
        targets = self.one.targets(symbol)
        if not targets and symbol.binding != "weak":
            if own is None:
                self._absent.add(symbol.name)
            else:
                self._unknown.add(symbol.name or own.name)
            return
        if not any(reference.fits(address, thumb, self.linked) for address, thumb in targets or [(0, 0)]):
            yield self._wrong(placement, reference, symbol.name or f"{own.name if own else '?'}{reference.addend:+#x}")

    def _astray_constant(self, placement: Placement, reference: Reference, merged: Part) -> Iterator[Finding]:
        is_known = reference.leads_to is not None or reference.is_partial
        if not is_known or not 0 <= reference.symbol.value + reference.addend < len(merged.content):
            self._unknown.add(merged.name)  # such as the end of an array of constants that the linker may have placed one by one
        elif not self._holds(merged, reference):
            yield self._wrong(placement, reference, f"a constant of {merged.name}")

    def _holds(self, merged: Part, reference: Reference) -> bool:
        """Whether the constant has the same bytes in the program as in the object, wherever the linker put it."""
        begin = reference.symbol.value + reference.addend
        if reference.leads_to is None:
            return True
        unit = merged.entry_bytes
        end = begin - begin % unit + unit
        while merged.is_text and any(merged.content[end - unit : end]) and end < len(merged.content):
            end += unit
        return self.linked.read(reference.leads_to, end - begin) == merged.content[begin:end]

    def _wrong(self, placement: Placement, reference: Reference, name: str) -> Finding:
        where = self._place(placement, reference.relocation.offset)
        leads = "another address" if reference.end is None else self.linked.image.describe(reference.end & ~1)
        return Finding("COD02", ERROR, f"{where} leads to {leads}; {self.objects.name} says {name}")

    def _owner(self, part: Part, offset: int) -> tuple[str, int]:
        """Returns the symbol that holds an offset of the part, and where it begins; before the first symbol, the part itself."""
        symbols = self._names[part.index]
        index = bisect_right([symbol.value for symbol in symbols], offset)
        return (symbols[index - 1].name, symbols[index - 1].value) if index else (part.name, 0)

    def _place(self, placement: Placement, offset: int) -> str:
        """Returns the place for a message, `kws_run+0x12 (0x08000412)`."""
        name, begin = self._owner(placement.part, offset)
        address = placement.address(offset)
        return f"{name}+0x{address - placement.address(begin):x} (0x{address:08x})"
