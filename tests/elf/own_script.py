# SPDX-License-Identifier: MIT
"""Firmware with a linker script of its own: a model, a vector table and what a test adds to them, linked by GNU ld."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from elftools.elf.elffile import ELFFile

from aidge_build.base.version import CLAIM_VERSION
from tests.programs import CLAIM, constant, note

CPU = ("-mcpu=cortex-m7", "-mthumb")
RISCV = ("-march=rv32imafc_zicsr", "-mabi=ilp32f", "-msmall-data-limit=0")
FLAGS = ("-O1", "-ffunction-sections", "-fdata-sections", "-nostdlib", "-ffreestanding")
AXI = {"origin": 0x24000000, "length_bytes": 0x80000}
IN_AXI = {"region": "AXI", "memory": AXI, "alignment": 16}
SCRIPT = """
MEMORY
{
    FLASH (rx) : ORIGIN = 0x08000000, LENGTH = 64K
    DTCM (rw) : ORIGIN = 0x20000000, LENGTH = 64K
    AXI (rw) : ORIGIN = 0x24000000, LENGTH = 512K
}
ENTRY(Reset_Handler)
SECTIONS
{
    .isr_vector : { KEEP(*(.isr_vector)) } > FLASH
    .text : { *(.text*) } > FLASH
    .rodata : { *(.rodata*) } > FLASH
    .arenas (NOLOAD) : { *(.bss.aidge_AXI .bss.aidge_AXI.*) } > AXI
    .data : { *(.data*) } > DTCM AT > FLASH
    .bss : { *(.bss*) } > DTCM
    stack_top = 0x20010000;
    .note.aidge 0 : { KEEP(*(.note.aidge)) }
}
"""
REGIONS = (
    "--region=FLASH=0x08000000,0x10000,flash",
    "--region=DTCM=0x20000000,0x10000,ram",
    "--region=AXI=0x24000000,0x80000,ram",
)
ARENA = '__attribute__((section(".bss.aidge_AXI.kws"), aligned(16), used)) uint8_t kws_arena[512];'
WEIGHTS = "const int8_t kws_fc_weights[64] __attribute__((aligned(4))) = {3, 1};"
STORED = bytes([3, 1]) + bytes(62)


BEGIN = """void Reset_Handler(void) { main(); for (;;); }
void Fault_Handler(void) { for (;;); }
extern char stack_top[];
__attribute__((section(".isr_vector"), used)) void *const vectors[4] = {
    stack_top, Reset_Handler, Fault_Handler, Fault_Handler };
"""
BEGIN_OF_RISCV = """__attribute__((section(".isr_vector"), naked, used)) void Reset_Handler(void)
{ __asm__("la sp, stack_top\\n call main\\n 1: j 1b"); }
"""
# The claims in notes are numbers; the core's name keeps its length.
_OF_RISCV = {BEGIN: BEGIN_OF_RISCV, **{text: text.replace("%", "@") for text in ("%note", "%function", "%object")}}
_OF_RISCV |= {"thumb_set": "set", ",".join(map(str, b"cortex-m7")): ",".join(map(str, b"rv32imafc"))}


def for_riscv(text: str) -> str:
    """The C text of a program as one for RISC-V."""
    for arm, riscv in _OF_RISCV.items():
        text = text.replace(arm, riscv)
    return text


def claim(**changes) -> dict:
    """The claim of a model whose arena was planned for AXI."""
    arena = {**CLAIM["arenas"][0], **IN_AXI}
    return {**CLAIM, "cpu": "cortex-m7", "arenas": [arena], "weights": [constant(content=STORED, alignment=4)], **changes}


def program(
    more: str = "", *, says: dict | None = None, arena: str = ARENA, weights: str = WEIGHTS, version: int = CLAIM_VERSION
) -> str:
    """The C text: the model writes its arena from its weights; `more` stands before main, which calls `extra`."""
    return f"""
#include <stdint.h>
{note(says or claim(), version)}
{arena}
{weights}
__attribute__((weak)) void extra(void);
__attribute__((noinline)) static void kws_conv(void) {{ kws_arena[3] = (uint8_t)kws_fc_weights[kws_arena[5] & 63]; }}
__attribute__((noinline)) static int kws_fc(void) {{ return kws_arena[3] + kws_fc_weights[1]; }}
__attribute__((noinline)) int kws_run(void) {{ kws_conv(); return kws_fc(); }}
{more}
int main(void) {{ if (extra) extra(); return kws_run(); }}
{BEGIN}"""


def link(folder: Path, code: str, script: str = SCRIPT, *options: str, cpu: tuple[str, ...] = CPU) -> Path:
    """The linked ELF."""
    is_riscv = cpu == RISCV
    compiler = "riscv64-unknown-elf-gcc" if is_riscv else "arm-none-eabi-gcc"
    (folder / "app.c").write_text(for_riscv(code) if is_riscv else code)
    (folder / "app.ld").write_text(script)
    elf = folder / "app.elf"
    words = [*cpu, *FLAGS, "-T", str(folder / "app.ld"), "-Wl,--no-warn-rwx-segments", *options, str(folder / "app.c")]
    linked = subprocess.run([compiler, *words, "-o", str(elf)], capture_output=True, text=True)
    assert linked.returncode == 0, linked.stderr
    return elf


def edited(elf: Path, change: Callable[[bytearray, ELFFile], None]) -> Path:
    """The ELF with bytes changed after the link."""
    content = bytearray(elf.read_bytes())
    with open(elf, "rb") as stream:
        change(content, ELFFile(stream))
    elf.write_bytes(content)
    return elf
