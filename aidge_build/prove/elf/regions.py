# SPDX-License-Identifier: MIT
"""The bytes of each memory that an ELF file uses, as the linker counts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aidge_build.boards import Region
from aidge_build.prove.elf.image import Image, Section


@dataclass(frozen=True)
class RegionUse:
    """The use of a region. `used_bytes` counts from the region's origin to the end of its last section, alignment gaps
    included, with the sections at other addresses of the same memory."""

    region: Region
    used_bytes: int
    largest: tuple[tuple[str, int], ...]

    @property
    def is_shown(self) -> bool:
        """Whether it has bytes that no other region of the same memory counts."""
        return self.used_bytes > 0 and not self.region.same_as


def region_use(image: Image, regions: Sequence[Region]) -> tuple[tuple[RegionUse, ...], tuple[Section, ...]]:
    """Returns the use of each region, and the sections that run, or are stored, in none of them.

    A section occupies the memory where it runs, and the memory where its content is stored (.data in flash). Segments do not
    count: the first one may contain ELF headers, which are not loaded.
    """
    uses = [RegionUse(region, _used_bytes(image, region, regions), _largest(image, region)) for region in regions]
    return tuple(uses), tuple(section for section, begin, _ in places(image) if region_at(begin, regions) is None)


def _used_bytes(image: Image, region: Region, regions: Sequence[Region]) -> int:
    """Returns the used bytes of a region. A linker script may begin two regions of the same memory at one offset: contents then
    count as if they were placed one after the other."""
    same = [one for one in regions if region.name in (one.name, one.same_as)]
    inside = [
        (section, begin - one.origin, end - one.origin)
        for one in same
        for section, begin, end in places(image)
        if one.origin <= begin < one.end
    ]
    contents = sum(end - begin for section, begin, end in inside if section.content) if len(same) > 1 else 0
    return max(contents, *(end for _, _, end in inside), 0)


def twice_used(image: Image, regions: Sequence[Region]) -> Iterator[tuple[Section, Section, Region]]:
    """Yields sections that run in the same bytes of a RAM with two addresses. A section without contents and symbols keeps bytes
    free."""
    origins = {region.name: region.origin for region in regions}
    used = list(_with_bytes(image))
    for region in (one for one in regions if one.same_as and one.kind == "ram"):
        distance = region.origin - origins[region.same_as]
        for section in (one for one in used if region_at(one.address, [region])):
            begin, end = section.address - distance, section.end - distance
            yield from ((section, other, region) for other in used if other.address < end and begin < other.end)


def _with_bytes(image: Image) -> Iterator[Section]:
    """Yields the sections with contents or variables."""
    named = {symbol.section for symbol in image.symbols if symbol.size_bytes}
    yield from (one for one in image.sections if one.size_bytes and (one.content or one.name in named))


def places(image: Image) -> Iterator[tuple[Section, int, int]]:
    """Yields each section with its first address and its end: where it runs and, if the address differs, where it is stored."""
    for section in image.sections:
        if section.size_bytes:
            yield section, section.address, section.end
            if section.load_address not in (None, section.address):
                yield section, section.load_address, section.load_address + section.size_bytes


def region_at(address: int, regions: Sequence[Region]) -> Region | None:
    """Returns the memory that holds an address, or None."""
    return next((region for region in regions if region.origin <= address < region.end), None)


def _largest(image: Image, region: Region) -> tuple[tuple[str, int], ...]:
    """Returns (name, bytes) of the three largest objects of a region, for the message about an overflow; several names of the
    same bytes are one object."""
    inside = {
        (symbol.address, symbol.size_bytes): symbol.linked_name
        for symbol in reversed(image.symbols)
        if symbol.kind in ("object", "function") and region.origin <= symbol.address < region.end and symbol.size_bytes
    }
    named = ((name, size) for (_, size), name in inside.items())
    return tuple(sorted(named, key=lambda item: (-item[1], item[0]))[:3])
