# SPDX-License-Identifier: MIT
"""Faults that tools behind the link make, as somebody thought of them who had not seen the check: objcopy, changed headers."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from tests.elf.fault import check, memory_findings
from tests.elf.own_script import REGIONS, edited, link, program
from tests.programs import needs_cross_compiler

pytestmark = needs_cross_compiler
# Fields of program headers and of section headers, by their number.
PADDR, FILESZ, TYPE = 3, 4, 0
SECTION_TYPE, FLAGS, ADDRESS, OFFSET = 1, 2, 3, 4
FLASH, DTCM = 0x08000000, 0x20000000
Change = Callable[[Path], object]


def objcopy(*words: str) -> Change:
    return lambda elf: subprocess.run(["arm-none-eabi-objcopy", *words, str(elf)], check=True, capture_output=True)


def in_segments(memory: int, field: int, change: Callable[[int], int]) -> Change:
    """A field of the segments that begin in a memory."""

    def edit(content: bytearray, image: ELFFile) -> None:
        for index, segment in enumerate(image.iter_segments()):
            at = image["e_phoff"] + index * image["e_phentsize"] + 4 * field
            if segment["p_type"] == "PT_LOAD" and segment["p_vaddr"] >> 24 == memory >> 24:
                struct.pack_into("<I", content, at, change(struct.unpack_from("<I", content, at)[0]))

    return lambda elf: edited(elf, edit)


def in_section(name: str, field: int, change: Callable[[int], int]) -> Change:
    def edit(content: bytearray, image: ELFFile) -> None:
        at = image["e_shoff"] + image.get_section_index(name) * image["e_shentsize"] + 4 * field
        struct.pack_into("<I", content, at, change(struct.unpack_from("<I", content, at)[0]))

    return lambda elf: edited(elf, edit)


def zeroed(elf: Path) -> None:
    content = elf.with_suffix(".zeros")
    content.write_bytes(bytes(64))
    objcopy("--update-section", f".rodata={content}")(elf)


CHANGES = {
    "other contents": (zeroed, {"MEM14"}),
    "stored elsewhere in the same flash": (objcopy("--change-section-lma", ".rodata+0x2000"), {"MEM03"}),
    "stored behind the flash": (objcopy("--change-section-lma", ".rodata+0x20000"), {"MEM01"}),
    "run elsewhere": (objcopy("--change-section-vma", ".rodata+0x2000"), {"MEM03"}),
    "an arena in another memory": (objcopy("--change-section-address", ".arenas-0x4000000"), {"MEM02"}),
    "an arena of another name": (objcopy("--redefine-sym", "kws_arena=another"), {"MEM02"}),
    "no symbols": (objcopy("--strip-unneeded"), {"MEM02"}),
    "variables stored over the weights": (in_segments(DTCM, PADDR, lambda _: FLASH + 0x60), {"MEM12"}),
    "a segment that is cut off": (in_segments(FLASH, FILESZ, lambda size: size - 32), {"MEM03"}),
    "a segment of no kind": (in_segments(FLASH, TYPE, lambda _: 0), {"MEM03"}),
    "a section that says it holds nothing": (in_section(".rodata", SECTION_TYPE, lambda _: 8), {"MEM03"}),
    "a section that says nobody needs it": (in_section(".rodata", FLAGS, lambda _: 0), {"MEM03"}),
    "a section that says it is elsewhere": (in_section(".rodata", ADDRESS, lambda address: address + 0x100), {"MEM03"}),
    "a section from another place of the file": (in_section(".rodata", OFFSET, lambda at: at + 16), {"MEM03", "MEM14"}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_tool_changed_behind_the_link_is_found(tmp_path, name):
    change, codes = CHANGES[name]
    elf = link(tmp_path, program("volatile int mine[20] = {5, 6, 7};"))
    assert memory_findings(check(elf)) == []
    change(elf)
    found = memory_findings(check(elf, *REGIONS))
    assert codes <= {finding["code"] for finding in found if finding["severity"] == "error"}, found
