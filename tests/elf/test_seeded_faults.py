# SPDX-License-Identifier: MIT
"""Twelve faults, each put into an otherwise good program: the check finds every one and calls it by its code."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field

import pytest

from aidge_build.boards import load_board
from aidge_build.elf import read_image, region_use
from aidge_build.toolchain import build_program
from tests.command import aidge_build
from tests.programs import SHA256, build, model, needs_cross_compiler

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
    objcopy: tuple[str, ...] = ()


GOOD = model("DTCM")
BIG_TWINS = "const int {0}[80] = {{{1}}}; const int {2}[80] = {{{1}}}; volatile int which;\n"
FAULTS = {
    "weights that are not const": Fault("MEM03", "error", model("DTCM", weights="volatile")),
    "an arena that is too large": Fault("MEM02", "error", model("DTCM", arena_bytes=528)),
    "a stale model": Fault("MEM04", "error", GOOD, plan={"model_sha256": SHA256.replace("ab", "ba", 1)}),
    "duplicated weights": Fault("MEM05", "warning", BIG_TWINS.format("one", ",".join(map(str, range(80))), "two") + GOOD.replace(
        MAIN, f"{MAIN} if (which > 1) return (&one[0])[which] + (&two[0])[which];")),
    "a layer that is missing": Fault("MEM07", "warning", model("DTCM", claim={"layers": ["kws_conv", "kws_dense", "kws_fc"]})),
    "a memory that overflows": Fault("MEM01", "error", GOOD, options=("--region", "FLASH=0x08000000,512,flash", "--region", "RAM=0x20000000,0x50000")),
    "a stack that is too small": Fault("STK01", "error", GOOD.replace(MAIN, f"{MAIN} volatile char b[4000]; b[0] = 1;")),
    "recursion": Fault("STK02", "warning", "volatile int n; int rec(int k) { return k ? n * rec(k - 1) + 1 : 0; }\n" + GOOD.replace(
        MAIN, f"{MAIN} n = rec(n);"), ("-fno-optimize-sibling-calls",)),
    "double arithmetic in software": Fault("MEM09", "warning", "volatile float x = 1.0f;\n" + GOOD.replace(MAIN, f"{MAIN} x = x * 1.7;")),
    "headers in a segment": Fault("MEM11", "warning", GOOD, ("-Wl,-z,max-page-size=0x10000",)),
    "a layer that link-time optimisation removed": Fault("MEM07", "warning", GOOD.replace("__attribute__((noinline, noclone)) static void kws_conv", (
        "static inline __attribute__((always_inline)) void kws_conv")), ("-O2", "-flto")),
    "a note that was discarded": Fault("MEM04", "warning", GOOD, objcopy=("--remove-section=.note.aidge",), plan={"model": "kws"}),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_seeded_fault_is_found(tmp_path, name):
    fault = FAULTS[name]
    elf = offset_build(fault.program, tmp_path, fault.flags) if fault.code == "MEM11" else build("stm32f7", fault.program, tmp_path, flags=fault.flags)
    if fault.objcopy:
        subprocess.run(["arm-none-eabi-objcopy", *fault.objcopy, str(elf)], check=True)
    options = list(fault.options) or ["--board", "stm32f7"]
    if fault.plan:
        (tmp_path / "kws.plan.json").write_text(json.dumps({"model": "kws", "model_sha256": SHA256, "arena_bytes": 512, **fault.plan}))
        options += ["--plan", tmp_path / "kws.plan.json"]
    result = aidge_build("check", elf, *options, "--json")
    found = {(finding["code"], finding["severity"]) for finding in result.json["findings"]}
    assert (fault.code, fault.severity) in found
    assert result.exit_code == (1 if fault.severity == "error" else 0)
    assert {code for code, severity in found if severity != "note"} == {fault.code}


def test_without_a_fault_nothing_is_found(tmp_path):
    for flags in ((), ("-Os", "-flto"), ("-O0",)):
        result = aidge_build("check", build("stm32f7", GOOD, tmp_path, flags=flags), "--board", "stm32f7", "--json")
        assert result.exit_code == 0 and result.json["findings"] == []


def offset_build(program: str, folder, flags=()):
    """A program behind a boot loader of 16 KB."""
    (folder / "behind.toml").write_text(
        'extends = "stm32f7"\n[regions.FLASH]\norigin = 0x08004000\nlength = "1008K"\nkind = "flash"\n')
    (folder / "app.c").write_text(program)
    return build_program(load_board("behind", [folder]), [folder / "app.c"], folder / "app.elf", work_folder=folder / "objects", extra_flags=flags)


def test_headers_in_a_segment_are_no_part_of_the_figures(tmp_path):
    elf = offset_build(GOOD, tmp_path, ("-Wl,-z,max-page-size=0x10000",))
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", str(elf), str(tmp_path / "image")], check=True)
    uses, homeless = region_use(read_image(elf), load_board("behind", [tmp_path]).regions)
    assert uses[0].used_bytes == (tmp_path / "image").stat().st_size and homeless == ()


def test_a_clone_that_link_time_optimisation_renamed_is_the_layer(tmp_path):
    elf = build("stm32f7", GOOD, tmp_path)
    subprocess.run(["arm-none-eabi-objcopy", "--redefine-sym=kws_conv=kws_conv.constprop.0.isra.0", str(elf)], check=True)
    assert aidge_build("check", elf, "--board", "stm32f7", "--json").json["findings"] == []


def test_the_heap_and_a_nearly_full_memory_are_mentioned(tmp_path):
    code = "#include <stdlib.h>\nvoid *_sbrk(int n) { static char pool[4000]; return pool + n; } void *volatile p;\n"
    elf = build("stm32f7", code + GOOD.replace(MAIN, f"{MAIN} p = malloc(8);"), tmp_path)
    used = aidge_build("check", elf, "--board", "stm32f7", "--json").json["regions"][0]["used_bytes"]
    result = aidge_build("check", elf, "--region", f"FLASH=0x08000000,{used + 20},flash", "--region", "RAM=0x20000000,0x50000", "--json")
    found = {finding["code"]: finding["text"] for finding in result.json["findings"]}
    assert "malloc" in found["MEM08"] and found["MEM06"].endswith(": 20 B are free")
