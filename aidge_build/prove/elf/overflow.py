# SPDX-License-Identifier: MIT
"""A program that does not fit: the memories that the linker reports as too small, and their contents."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from aidge_build.boards import Region
from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.regions import places

# GNU ld: "region `FLASH' overflowed by 12 bytes"; LLVM's: "section '.bss' will not fit in region 'RAM': overflowed by 12 bytes".
_OVERFLOW = re.compile(r"region [`']([^`']+)':? overflowed by (\d+) bytes?")
# The largest alignment gap in bytes between two sections of one memory.
LARGEST_GAP = 64


@dataclass(frozen=True)
class Overflow:
    """A memory of the linker script that is `missing_bytes` too small."""

    region: str
    missing_bytes: int


def read_overflows(messages: str) -> tuple[Overflow, ...]:
    """Returns the memories that a linker's messages call too small, by name; the largest of several numbers counts."""
    found: dict[str, int] = {}
    for name, count in _OVERFLOW.findall(messages):
        found[name] = max(int(count), found.get(name, 0))
    return tuple(Overflow(name, count) for name, count in sorted(found.items()))


def overfull(image: Image, region: Region, missing_bytes: int) -> tuple[Image, Region]:
    """Returns an image with only the sections that the linker put into `region`, and the region with the size that it would need.

    Another memory may begin at its end: a section there belongs to `region` if it follows the last section without a gap.
    """
    chosen, position, wanted = set(), region.origin, replace(region, length_bytes=region.length_bytes + missing_bytes)
    for section, begin, end in sorted(places(image), key=lambda place: (place[1], place[0].name)):
        goes_on = position >= region.end and position <= begin < min(position + LARGEST_GAP, wanted.end)
        if region.origin <= begin < region.end or goes_on:
            chosen.add(section.name)
            position = max(position, end)
    return replace(image, sections=tuple(section for section in image.sections if section.name in chosen)), wanted
