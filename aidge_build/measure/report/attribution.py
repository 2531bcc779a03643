# SPDX-License-Identifier: MIT
"""The use of each byte of each memory. Everything adds up: padding and free bytes are rows of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from aidge_build.boards import Region
from aidge_build.prove.elf import Claim, Image, Section, Symbol
from aidge_build.prove.elf.start_up import START_UP_NAMES

GROUPS = ("arena", "weights", "layer code", "kernels", "stack", "libc/libgcc", "other", "padding", "free")

# Padding is smaller than the alignment of variables, or of library functions, and consists of zeros, nop, nop.w, or mov r8, r8.
_ALIGNMENT, _CODE_ALIGNMENT = 16, 64
_FILLER = re.compile(rb"(\x00|\x00\xbf|\xaf\xf3\x00\x80|\xc0\x46)*")
_LIBRARY = re.compile(
    r"_.*|(mem|str|wcs)[a-z]+|(v?f?s?n?i?printf|puts|putchar|malloc|calloc|realloc|free|abort|exit|atexit|rand|srand|qsort|abs"
    r"|labs|div|errno)|(a?(sin|cos|tan)h?|atan2|exp|exp2|expm1|log|log2|log10|log1p|pow|sqrt|cbrt|erf|erfc|floor|ceil|trunc"
    r"|l?l?round|l?l?rint|nearbyint|fabs|fmod|fmin|fmax|fma|ldexp|scalbn|frexp|modf|copysign|hypot|remainder|roundeven|tgamma"
    r"|lgamma|isnan|finite|with_errno|checkint|specialcase)[fl]?|.*_data"
)


@dataclass(frozen=True)
class Item:
    """`size_bytes` of one symbol, or of bytes without one; `aliases` are further names of the same bytes."""

    name: str
    size_bytes: int
    section: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """Items of one purpose, the largest first; their sizes add up to `size_bytes`."""

    name: str
    size_bytes: int
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Memory:
    """One memory of the board; the groups, "free" included, add up to `length_bytes`, or to more if it overflows."""

    region: Region
    used_bytes: int
    groups: tuple[Group, ...]

    @property
    def total_bytes(self) -> int:
        """The bytes of the memory, or the used bytes if they are more."""
        return max(self.region.length_bytes, self.used_bytes)


def attribute(image: Image, claims: Sequence[Claim], regions: Sequence[Region]) -> tuple[Memory, ...]:
    """The use of each region, in their order."""
    owners = _Owners(claims)
    return tuple(_memory(image, owners, region) for region in regions)


def _memory(image: Image, owners: _Owners, region: Region) -> Memory:
    found: dict[str, list[Item]] = {name: [] for name in GROUPS}
    position = region.origin
    for begin, section, is_copy in sorted(_places(image, region), key=lambda place: (place[0], place[1].name)):
        if begin > position:
            found["padding"].append(Item(f"before {section.name}", begin - position, section.name))
        for group, item in _pieces(image, section, owners, skip=max(position - begin, 0)):
            name = f"{item.name} (initial value)" if is_copy else item.name
            found[group].append(Item(name, item.size_bytes, section.name, item.aliases))
        position = max(position, begin + section.size_bytes)
    used = position - region.origin
    if region.length_bytes > used:
        found["free"].append(Item("free", region.length_bytes - used, ""))
    return Memory(region, used, tuple(_group(name, items) for name, items in found.items() if items))


def _group(name: str, items: Sequence[Item]) -> Group:
    ordered = sorted(items, key=lambda item: (-item.size_bytes, item.name))
    return Group(name, sum(item.size_bytes for item in items), tuple(ordered))


def _places(image: Image, region: Region) -> Iterator[tuple[int, Section, bool]]:
    """Yields the addresses of the sections in the region; .data appears at its run address and again at its load address."""
    for section in image.sections:
        if section.size_bytes and region.origin <= section.address < region.end:
            yield section.address, section, False
        is_copied = section.size_bytes and section.load_address not in (None, section.address)
        if is_copied and region.origin <= section.load_address < region.end:
            yield section.load_address, section, True


def _symbols_in(image: Image, section: Section) -> list[Symbol]:
    return [
        symbol
        for symbol in image.symbols
        if symbol.section == section.name and symbol.kind != "absolute" and section.address <= symbol.address < section.end
    ]


def _pieces(image: Image, section: Section, owners: _Owners, skip: int) -> Iterator[tuple[str, Item]]:
    """Yields the section cut at its symbols: symbols that overlap share no byte, and the bytes between symbols are named, too."""
    position = section.address + skip
    symbols = _symbols_in(image, section)
    sized = [symbol for symbol in symbols if symbol.size_bytes]
    unsized = {symbol.address: symbol for symbol in reversed(symbols) if not symbol.size_bytes and symbol.kind != "object"}
    aliases: dict[tuple[int, int], list[str]] = {}
    for symbol in sized:
        aliases.setdefault((symbol.address, symbol.size_bytes), []).append(symbol.linked_name)
    for symbol in sized:
        end = min(symbol.end, section.end)
        if end <= position:
            continue
        if symbol.address > position:
            yield from _gaps(section, owners, position, symbol.address, unsized)
        names = aliases[symbol.address, symbol.size_bytes]
        chosen = owners.best(names)
        yield (
            owners.group(chosen, symbol, section),
            Item(chosen, end - max(position, symbol.address), section.name, tuple(name for name in names if name != chosen)),
        )
        position = end
    if position < section.end:
        yield from _gaps(section, owners, position, section.end, unsized)


def _gaps(section: Section, owners: _Owners, begin: int, end: int, unsized: Mapping[int, Symbol]) -> Iterator[tuple[str, Item]]:
    """Yields the bytes between two sized symbols, cut at the labels in them: assembler code often gives no size."""
    cuts = [begin, *(address for address in sorted(unsized) if begin < address < end), end]
    for first, last in zip(cuts, cuts[1:]):
        yield _gap(section, owners, first, last, unsized.get(first))


def _gap(section: Section, owners: _Owners, begin: int, end: int, label: Symbol | None) -> tuple[str, Item]:
    """Bytes without a sized symbol: alignment, assembler code, string literals, the stack."""
    content = section.content[begin - section.address : end - section.address]
    alignment = _CODE_ALIGNMENT if section.executable else _ALIGNMENT
    if label is None and end - begin < alignment and _FILLER.fullmatch(content):
        return "padding", Item(f"in {section.name}", end - begin, section.name)
    if section.name.lstrip("._").startswith(("stack", "heap", "user_heap_stack")):
        return "stack", Item(section.name, end - begin, section.name)
    if label is not None:
        return owners.group(label.name, label, section), Item(label.name, end - begin, section.name)
    return "other", Item(f"{section.name} without a name", end - begin, section.name)


class _Owners:
    """Which group a symbol belongs to."""

    def __init__(self, claims: Sequence[Claim]):
        self.groups: dict[str, str] = {}
        self.files = {f"{claim.model}{ending}" for claim in claims for ending in (".c", ".cpp")}
        for claim in claims:
            self.groups.update({name: "weights" for name in claim.weights})
            self.groups.update({name: "layer code" for name in (*claim.functions, *claim.layers)})
            self.groups.update({name: "arena" for name in claim.buffers})

    def best(self, names: Sequence[str]) -> str:
        """The most telling of several names of the same bytes."""
        return min(names, key=lambda name: (name not in self.groups, name.startswith("_"), name))

    def group(self, name: str, symbol: Symbol, section: Section) -> str:
        source = name if name in self.groups else symbol.name
        if source in self.groups:
            return self.groups[source]
        if source.startswith("aidge_") and not source.startswith(START_UP_NAMES):
            return "kernels"
        if symbol.file in self.files:
            return "layer code"
        # Local symbols of a user's file may be called anything.
        return "libc/libgcc" if _LIBRARY.fullmatch(source) and not self._is_users(symbol) else "other"

    def _is_users(self, symbol: Symbol) -> bool:
        return symbol.file.endswith((".cpp", ".cc", ".cxx")) or symbol.linked_name.startswith(("_Z", "__stack"))
