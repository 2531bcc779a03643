# SPDX-License-Identifier: MIT
"""Faults, each put into an otherwise good program: the check finds every one and calls it by its code."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from aidge_build.boards import load_board
from aidge_build.prove.elf import read_image, region_use
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.programs import ROOT, SHA256, build, model, needs_cross_compiler, needs_riscv

pytestmark = needs_cross_compiler
MAIN = "int main(void) {"


@dataclass(frozen=True)
class Fault:
    """A program, how it is built and checked, and what must be said about it."""

    code: str
    severity: str
    program: str
    flags: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    plan: dict = field(default_factory=dict)
    boot_loader: bool = False
    link_script: tuple[str, str] = ("", "")  # what stands there instead of what


@dataclass(frozen=True)
class Chip:
    """A board, the names of its flash and of the RAM that holds the arena, and the addresses of flash and RAM."""

    board: str
    flash: str
    ram: str
    begins: tuple[str, str]


STM32 = Chip("stm32f7", "FLASH", "DTCM", ("0x08000000", "0x20000000"))
RISCV = Chip("qemu_riscv32", "CODE", "RAM", ("0x80000000", "0x81000000"))
GOOD = model("DTCM")
BIG_TWINS = "const int {0}[80] = {{{1}}}; const int {2}[80] = {{{1}}}; volatile int which;\n"
FAULTS = {
    "weights that are not const": Fault("MEM03", "error", model("DTCM", weights="volatile")),
    "an arena that is too large": Fault("MEM02", "error", model("DTCM", arena_bytes=528)),
    "an arena that is too small": Fault("MEM02", "error", model("DTCM", arena_bytes=496)),
    "a stale model": Fault("MEM04", "error", GOOD, plan={"model_sha256": SHA256.replace("ab", "ba", 1)}),
    "duplicated weights": Fault(
        "MEM05",
        "warning",
        BIG_TWINS.format("one", ",".join(map(str, range(80))), "two")
        + GOOD.replace(MAIN, f"{MAIN} if (which > 1) return (&one[0])[which] + (&two[0])[which];"),
    ),
    "a layer that is missing": Fault("MEM07", "warning", model("DTCM", claim={"layers": ["kws_conv", "kws_dense", "kws_fc"]})),
    "a memory that overflows": Fault(
        "MEM01", "error", GOOD, options=("--region", "FLASH=0x08000000,512,flash", "--region", "RAM=0x20000000,0x50000")
    ),
    "a stack that is too small": Fault("STK01", "error", GOOD.replace(MAIN, f"{MAIN} volatile char b[4000]; b[0] = 1;")),
    "recursion": Fault(
        "STK02",
        "warning",
        "volatile int n; int rec(int k) { return k ? n * rec(k - 1) + 1 : 0; }\n" + GOOD.replace(MAIN, f"{MAIN} n = rec(n);"),
        ("-fno-optimize-sibling-calls",),
    ),
    "double arithmetic in software": Fault(
        "MEM09", "warning", "volatile float x = 1.0f;\n" + GOOD.replace(MAIN, f"{MAIN} x = x * 1.7;")
    ),
    "headers in a segment": Fault("MEM11", "warning", GOOD, ("-Wl,-z,max-page-size=0x10000",), boot_loader=True),
    "a layer that link-time optimisation removed": Fault(
        "MEM07",
        "warning",
        GOOD.replace(
            "__attribute__((noinline, noclone)) static void kws_conv",
            ("static inline __attribute__((always_inline)) void kws_conv"),
        ),
        ("-O2", "-flto"),
    ),
    "a note that was discarded": Fault(
        "MEM04",
        "warning",
        GOOD,
        link_script=("    .note.aidge 0 : { KEEP(*(.note.aidge .aidge.note)) }", "    /DISCARD/ : { *(.note*) *(.aidge*) }"),
    ),
}

# The faults that the check finds in another way there; all of them with AIDGE_STRESS=1 (`./sconsw stress`).
OTHERWISE_ON_RISCV = (
    "an arena that is too large",
    "a stack that is too small",
    "double arithmetic in software",
    "headers in a segment",
)


@pytest.mark.requirement("MEM01", "MEM02", "MEM03", "MEM04", "MEM05", "MEM07", "MEM09", "MEM11", "STK01", "STK02")
@pytest.mark.parametrize("name", FAULTS)
def test_a_seeded_fault_is_found(tmp_path, name):
    require_found(FAULTS[name], tmp_path, STM32)


@needs_riscv
@pytest.mark.parametrize("name", FAULTS if os.environ.get("AIDGE_STRESS") else OTHERWISE_ON_RISCV)
def test_a_seeded_fault_of_a_program_for_riscv_is_found(tmp_path, name):
    require_found(FAULTS[name], tmp_path, RISCV)


def require_found(fault: Fault, folder: Path, chip: Chip) -> None:
    """The check calls the fault by its code and severity, with a hint, and finds nothing else."""
    program = fault.program.replace("DTCM", chip.ram)
    elf = own_build(program, folder, fault.flags, fault.boot_loader, fault.link_script, chip)
    options = [option.replace("0x08000000", chip.begins[0]).replace("0x20000000", chip.begins[1]) for option in fault.options]
    options = options or ["--board", chip.board]
    if fault.plan:
        (folder / "kws.plan.json").write_text(
            json.dumps({"model": "kws", "model_sha256": SHA256, "arena_bytes": 512, **fault.plan})
        )
        options += ["--plan", str(folder / "kws.plan.json")]
    result = aidge_build("check", elf, *options, "--json")
    found = {(finding["code"], finding["severity"]) for finding in result.json["findings"]}
    assert (fault.code, fault.severity) in found
    assert result.exit_code == (1 if fault.severity == "error" else 0)
    assert {code for code, severity in found if severity != "note"} == {fault.code}
    assert all(finding["hint"] and "Hint" not in finding["text"] for finding in result.json["findings"])


def test_without_a_fault_nothing_is_found(tmp_path):
    for flags in ((), ("-Os", "-flto"), ("-O0",)):
        result = aidge_build("check", build("stm32f7", GOOD, tmp_path, flags=flags), "--board", "stm32f7", "--json")
        assert result.exit_code == 0 and result.json["findings"] == []


def own_build(program: str, folder, flags=(), boot_loader=True, link_script=("", ""), chip=STM32):
    """A program of a chip, behind a boot loader of 16 KB or not, with a linker script that differs in a line."""
    script = (ROOT / "boards" / "link.ld.j2").read_text()
    assert link_script[0] in script
    (folder / "own.ld.j2").write_text(script.replace(*link_script) if link_script[0] else script)
    behind = f"0x{int(chip.begins[0], 0) + 0x4000:08x}"
    flash = f'[regions.{chip.flash}]\norigin = {behind}\nlength = "1008K"\nkind = "flash"\n' if boot_loader else ""
    (folder / "own.toml").write_text(f'extends = "{chip.board}"\nlink_script = "own.ld.j2"\n{flash}')
    (folder / "app.c").write_text(program)
    return build_program(
        load_board("own", [folder]), [folder / "app.c"], folder / "app.elf", work_folder=folder / "objects", extra_flags=flags
    )


def test_a_program_without_symbols_is_not_proved_and_the_reason_is_said_once(tmp_path):
    elf = build("stm32f7", GOOD, tmp_path)
    subprocess.run(["arm-none-eabi-strip", str(elf)], check=True)
    result = aidge_build("check", elf, "--board", "stm32f7")
    assert result.exit_code == 1 and [
        line.split(": ")[1] for line in result.stdout.splitlines() if line.startswith(str(elf))
    ] == ["error MEM02", "warning STK02", "note STK02"]
    assert "the program has no symbols: cannot verify the 512 B of model kws. Hint: check before `strip`" in result.stdout


def test_headers_in_a_segment_are_no_part_of_the_figures(tmp_path):
    elf = own_build(GOOD, tmp_path, ("-Wl,-z,max-page-size=0x10000",))
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", str(elf), str(tmp_path / "image")], check=True)
    uses, homeless = region_use(read_image(elf), load_board("own", [tmp_path]).regions)
    assert uses[0].used_bytes == (tmp_path / "image").stat().st_size and homeless == ()


def test_a_clone_that_link_time_optimisation_renamed_is_the_layer(tmp_path):
    code = GOOD.replace(
        "__attribute__((noinline, noclone)) static void kws_conv(void) { kernel(kws_arena, 1);",
        "__attribute__((noinline)) static void kws_conv(int step) { kernel(kws_arena, step);",
    ).replace("kws_conv();", "kws_conv(1);")
    elf = build("stm32f7", code, tmp_path, flags=("-O3", "-flto"))
    assert read_image(elf).symbol("kws_conv").linked_name.startswith("kws_conv.constprop")
    assert aidge_build("check", elf, "--board", "stm32f7", "--json").json["findings"] == []


@pytest.mark.requirement("MEM06", "MEM08")
def test_the_heap_and_a_nearly_full_memory_are_mentioned(tmp_path):
    code = "#include <stdlib.h>\nvoid *_sbrk(int n) { static char pool[4000]; return pool + n; } void *volatile p;\n"
    elf = build("stm32f7", code + GOOD.replace(MAIN, f"{MAIN} p = malloc(8);"), tmp_path)
    used = aidge_build("check", elf, "--board", "stm32f7", "--json").json["regions"][0]["used_bytes"]

    def found(flash_bytes: int) -> dict[str, str]:
        regions = ("--region", f"FLASH=0x08000000,{flash_bytes},flash", "--region", "RAM=0x20000000,0x50000")
        return {item["code"]: item["text"] for item in aidge_build("check", elf, *regions, "--json").json["findings"]}

    assert "malloc" in found(used + 20)["MEM08"] and found(used + 20)["MEM06"].endswith(": 20 B are free")
    # 95 % is the limit: a byte less of flash, and the memory is fuller.
    assert "MEM06" not in found(-(-used * 100 // 95)) and "(limit 95 %)" in found(used * 100 // 95 - 1)["MEM06"]
    assert found(used)["MEM06"].endswith(": 0 B are free") and "MEM06" not in found(used - 1)
