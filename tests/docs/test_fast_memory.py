# SPDX-License-Identifier: MIT
"""The line of docs/howto-fast-memory.md moves the arena of a model without a board into a memory of the linker script."""

from __future__ import annotations

import re
import subprocess

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


@needs_cross_compiler
def test_the_line_of_the_page_moves_the_arena_and_the_check_prints_its_memory(tmp_path):
    (line,) = [block.text for block in blocks("docs/howto-fast-memory.md") if ".bss.kws_arena" in block.text]
    model = ROOT / "examples" / "digits" / "digits.onnx"
    done = aidge_build("compile", model, "--name", "kws", "--cpu", "cortex-m4", "--fpu", "auto", "--out", tmp_path)
    assert done.exit_code == 0, done.stderr
    (tmp_path / "my.ld").write_text(SCRIPT.replace("LINE", line))
    (tmp_path / "main.c").write_text(MAIN)
    link = ["-nostartfiles", "-Wl,-e,main", "-T", "my.ld", "-Wl,-Map=app.map"]
    files = ["main.c", "kws.c", "kws_weights.c"]
    subprocess.run(["arm-none-eabi-gcc", *CPU, *link, *files, "-o", "app.elf"], cwd=tmp_path, check=True)
    checked = aidge_build("check", tmp_path / "app.elf", "--plan", tmp_path / "kws.plan.json")
    (arena,) = re.findall(r"arena kws +([\d,]+) B = plan", checked.stdout)
    assert checked.exit_code == 0 and re.search(rf"CCMRAM +{arena} / +65,536 B", checked.stdout), checked.stdout + checked.stderr
