# SPDX-License-Identifier: MIT
"""The line of docs/howto-fast-memory.md moves the arena of a model without a board into a memory of the linker script."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.command import aidge_build
from tests.docs.blocks import blocks
from tests.programs import ROOT, needs_cross_compiler

CPU = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-Os", "-fdata-sections"]
SCRIPT = """
MEMORY {
    FLASH (rx) : ORIGIN = 0x08000000, LENGTH = 1M
    RAM (rw) : ORIGIN = 0x20000000, LENGTH = 128K
    CCMRAM (rw) : ORIGIN = 0x10000000, LENGTH = 64K
}
SECTIONS {
    .text : { *(.text*) *(.rodata*) } > FLASH
    LINE
    .bss : { *(.bss*) } > RAM
    .note.aidge 0 : { KEEP(*(.note.aidge)) }
}
"""
MAIN = """#include "kws.h"
static int8_t features[KWS_INPUT_SIZE], scores[KWS_OUTPUT_SIZE];
int main(void) { return kws_run(features, scores); }
"""


LINK = ["arm-none-eabi-gcc", *CPU, "-nostartfiles", "-Wl,-e,main", "-T", "my.ld", "-Wl,-Map=app.map"]
FILES = ["main.c", "kws.c", "kws_weights.c", "-o", "app.elf"]


@pytest.fixture(scope="module")
def generated(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("fast")
    model = ROOT / "examples" / "digits" / "digits.onnx"
    done = aidge_build("compile", model, "--name", "kws", "--cpu", "cortex-m4", "--fpu", "auto", "--out", made)
    assert done.exit_code == 0, done.stderr
    (made / "main.c").write_text(MAIN)
    return made


@pytest.fixture
def folder(generated, monkeypatch) -> Path:
    monkeypatch.chdir(generated)
    return generated


@needs_cross_compiler
def test_the_line_of_the_page_moves_the_arena_and_the_check_prints_its_memory(folder):
    (line,) = [block.text for block in blocks("docs/howto-fast-memory.md") if ".bss.kws_arena" in block.text]
    (folder / "my.ld").write_text(SCRIPT.replace("LINE", line))
    subprocess.run([*LINK, *FILES], check=True)
    checked = aidge_build("check", "app.elf", "--plan", "kws.plan.json")
    (arena,) = re.findall(r"arena kws +([\d,]+) B = plan", checked.stdout)
    assert checked.exit_code == 0 and re.search(rf"CCMRAM +{arena} / +65,536 B", checked.stdout), checked.stdout + checked.stderr


@needs_cross_compiler
def test_a_link_that_fails_for_want_of_ram_prints_the_line_that_mends_it(folder):
    script = SCRIPT.replace("LENGTH = 128K", "LENGTH = 1K")
    (folder / "my.ld").write_text(script.replace("LINE", ""))
    said = aidge_build("explain", "--link", "--", *LINK, *FILES).stdout
    arena, line = re.findall(r"the arena of kws there saves ([\d,]+) B of RAM: .*? `(.*?)` before .bss", said)[0]
    assert f"kws_arena {arena} B" in said and "CCMRAM has 65,536 B free" in said
    (typed,) = re.findall(r"`(aidge-build explain --plan MODEL .*?)`", said)
    model = str(ROOT / "examples" / "digits" / "digits.onnx")
    assert aidge_build(*typed.replace("MODEL", model).split()[1:]).exit_code == 0, typed
    (folder / "my.ld").write_text(script.replace("LINE", line))
    subprocess.run([*LINK, *FILES], check=True)
    (folder / "my.ld").write_text(script.replace("LINE", line.replace("CCMRAM", "RAM")))
    assert (
        "`> CCMRAM` at the end of the linker script's section .aidge_arena\n"
        in aidge_build("explain", "--link", "--", *LINK, *FILES).stdout
    )
