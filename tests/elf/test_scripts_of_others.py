# SPDX-License-Identifier: MIT
"""What linker scripts of public projects do that ours don't raises no alarm."""

from __future__ import annotations

from pathlib import Path

import pytest

from aidge_build.prove.elf.link_map import read_memories
from tests.command import aidge_build
from tests.elf.own_script import SCRIPT, link, program
from tests.programs import needs_cross_compiler

pytestmark = needs_cross_compiler
ENTRY = "    stack_top ="
AXI = "    AXI (rw) :"
# As in ChibiOS: one script for many chips names memories that this one lacks, and halves of one; the heap takes what is left.
MANY = SCRIPT.replace(AXI, f"    NONE (rw) : ORIGIN = 0, LENGTH = 0\n    HALF (rw) : ORIGIN = 0x20000000, LENGTH = 1K\n{AXI}")
REST = "    .heap (NOLOAD) : { heap = .; . = ORIGIN(DTCM) + LENGTH(DTCM) - heap; } > DTCM\n"
VARIABLES = "volatile int more[300]; void extra(void) { more[2] = 1; }"


def found(folder: Path, script: str, *options: str) -> list[tuple[str, str]]:
    elf = link(folder, program(VARIABLES), script, f"-Wl,-Map={folder / 'app.map'}", *options)
    findings = aidge_build("check", elf, "--json").json["findings"]
    return [(finding["code"], finding["text"]) for finding in findings if finding["code"].startswith("MEM")]


def test_memories_that_a_chip_lacks_and_parts_of_others_are_left_out(tmp_path):
    assert found(tmp_path, MANY) == []
    names = [region.name for region in read_memories((tmp_path / "app.map").read_text())]
    assert names == ["FLASH", "DTCM", "AXI"]


def test_a_heap_that_takes_what_is_left_does_not_fill_the_memory(tmp_path):
    assert found(tmp_path, SCRIPT.replace(ENTRY, REST + ENTRY)) == []


@pytest.mark.requirement("MEM06")
def test_a_memory_that_variables_fill_is_full(tmp_path):
    ((code, text),) = found(tmp_path, SCRIPT.replace("0x20000000, LENGTH = 64K", "0x20000000, LENGTH = 1220"))
    assert code == "MEM06" and "memory DTCM is 98.4 % full" in text


@pytest.mark.parametrize("flags, codes", [("6", []), ("4", ["MEM11"])])
def test_headers_in_front_of_zeroed_variables_do_no_harm(tmp_path, flags, codes):
    headers = f"PHDRS {{ zeros PT_LOAD FILEHDR PHDRS FLAGS({flags}); all PT_LOAD; }}\n"
    parts = SCRIPT.replace(".bss : { *(.bss*) } > DTCM", ".bss 0x20000400 : { *(.bss*) } > DTCM :zeros").replace(
        "> FLASH\n    .text", "> FLASH :all\n    .text"
    )
    parts = parts.replace(".data : { *(.data*) } > DTCM AT > FLASH", ".data : { *(.data*) } > DTCM AT > FLASH :all")
    lines = parts.replace("SECTIONS", headers + "SECTIONS")
    assert [code for code, _ in found(tmp_path, lines)] == codes
