# SPDX-License-Identifier: MIT
"""A model and what calls it, compiled one by one and linked with a script of its own: objects and program."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from aidge_build.prove.elf import read_claims, read_image
from aidge_build.prove.elf.code_proof import CodeProof, check_code
from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.objects import read_names, read_object
from tests.programs import CLAIM, note

# A switch, strings and numbers that linkers unite, a function in RAM that is too far away for a branch, a tail call, a table of
# functions, a function that need not exist, and calls of another file.
MODEL = f"""
{note({**CLAIM, "layers": ["kws_conv"]})}
extern void *memcpy(void *, const void *, unsigned);
extern int other(int);
__attribute__((weak)) void hook(void);
volatile unsigned char kws_arena[512];
const signed char kws_fc_weights[64] = {{{",".join(["3"] * 64)}}};
static const float kws_scales[3] = {{1.0f, 2.0f, 3.0f}};
const char *kws_names[] = {{"abc", "zabc", "hello"}};
__attribute__((section(".ramfunc"), noinline)) int kws_far(int x) {{ return other(x) + 1; }}
__attribute__((noinline)) static int kws_conv(int x)
{{
    switch (x) {{
    case 0: return 3; case 1: return 9; case 2: return 77; case 3: return -4; case 4: return 1000; case 5: hook(); return 6;
    default: return (int)(kws_scales[x % 3] * 3.5f);
    }}
}}
__attribute__((noinline)) int kws_tail(int x) {{ return other(x + 1); }}
int (*const kws_table[])(int) = {{kws_conv, kws_tail}};
int kws_run(char *data, int n)
{{
    const char *text = "direct";
    kws_arena[n] = 1;
    memcpy(data, kws_names[n & 1], 3);
    if (hook) hook();
    return kws_conv(n) + data[3] + kws_far(n) + text[n & 3] + kws_tail(n) + kws_fc_weights[n & 63];
}}
"""
CALLER = """
int kws_run(char *data, int n);
extern int (*const kws_table[])(int);
char data[20];
const char *twin = "hello";
int other(int x) { return x * 3; }
void *memcpy(void *to, const void *from, unsigned n) { char *a = to; const char *b = from; while (n--) *a++ = *b++; return to; }
int main(void) { return kws_run(data, 3) + kws_table[data[1]](2) + twin[data[2]]; }
void Reset_Handler(void) { main(); for (;;); }
"""
SCRIPT = """
MEMORY
{
    FLASH (rx) : ORIGIN = 0x08000000, LENGTH = 64K
    RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 64K
}
ENTRY(Reset_Handler)
SECTIONS
{
    .text : { *(.text*) *(.rodata* .srodata*) *(.ARM.ex*) } > FLASH
    .data : { *(.data*) *(.ramfunc) *(.got*) __global_pointer$ = .; *(.sdata*) } > RAM AT > FLASH
    .bss : { *(.sbss* .bss*) } > RAM
    .note.aidge 0 : { KEEP(*(.note.aidge)) }
}
"""


def _target(cpu: str) -> tuple[str, list[str]]:
    """The prefix of the compiler's name, and the options for a core of Arm or an instruction set of RISC-V."""
    if cpu.startswith("rv32"):
        return "riscv64-unknown-elf", [f"-march={cpu}", "-mabi=ilp32"]
    return "arm-none-eabi", [f"-mcpu={cpu}", "-mthumb"]


def compile_parts(folder: Path, cpu: str = "cortex-m4", *flags: str, compiler: str = "gcc", **sources: str) -> list[Path]:
    """The objects of `sources` by their names (default: kws and caller), with as many warnings off as they need."""
    objects = []
    prefix, options = _target(cpu)
    for name, text in (sources or {"kws": MODEL, "caller": CALLER}).items():
        suffix = "cpp" if compiler == "g++" else "c"
        (folder / f"{name}.{suffix}").write_text(text)
        words = [*options, "-ffreestanding", "-w", *flags, "-c", f"{name}.{suffix}", "-o", f"{name}.o"]
        run(folder, compiler, *words, prefix=prefix)
        objects.append(folder / f"{name}.o")
    return objects


def link_parts(folder: Path, objects: list[Path], *options: str, cpu: str = "cortex-m4", script: str = SCRIPT) -> Path:
    """The program of these objects and the compiler's own library."""
    (folder / "app.ld").write_text(script)
    prefix, words = _target(cpu)
    words += ["-nostdlib", "-T", "app.ld", *map(str, objects), "-lgcc", "-Wl,--no-warn-rwx-segments"]
    run(folder, "gcc", *words, *options, "-o", "app.elf", prefix=prefix)
    return folder / "app.elf"


def run(folder: Path, tool: str, *words: str, prefix: str = "arm-none-eabi") -> None:
    done = subprocess.run([f"{prefix}-{tool}", *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def proof_of(elf: Path, *objects: Path) -> CodeProof:
    image = read_image(elf)
    return check_code(image, read_names(elf), [read_object(path) for path in objects], read_claims(image))


def patched(elf: Path, address: int, change: Callable[[bytes], bytes] | bytes) -> Path:
    """The program with other bytes at an address."""
    section = next(part for part in read_image(elf).sections if part.content and part.address <= address < part.end)
    content = elf.read_bytes()
    begin = content.index(section.content) + address - section.address
    new = change if isinstance(change, bytes) else change(content[begin : begin + 4])
    elf.write_bytes(content[:begin] + new + content[begin + len(new) :])
    return elf


def addresses(elf: Path) -> Mapping[str, int]:
    """Where the functions and constants of a program are."""
    return {symbol.name: symbol.address for symbol in read_image(elf).symbols}


def stored(image: Image, address: int, count: int) -> bytes:
    """The bytes of a program from an address on."""
    section = next(one for one in image.sections if one.content and one.holds(address))
    return section.content[address - section.address :][:count]


def changed(image: Image, address: int, new: bytes) -> Image:
    """The program with other bytes from an address on, in memory."""
    sections = []
    for section in image.sections:
        if section.content and section.holds(address):
            at = address - section.address
            content = section.content[:at] + new + section.content[at + len(new) :]
            section = dataclasses.replace(section, content=content)
        sections.append(section)
    return dataclasses.replace(image, sections=tuple(sections))


def turned(image: Image, address: int, bit: int) -> Image:
    """The program with one bit turned over."""
    return changed(image, address, bytes([stored(image, address, 1)[0] ^ 1 << bit]))
