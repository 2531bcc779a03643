# SPDX-License-Identifier: MIT
"""Linker scripts that put code, constants and variables into one output section, and programs without our note."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from own_script import REGIONS, SCRIPT, claim, link, program

from tests.command import aidge_build
from tests.programs import SHA256, needs_cross_compiler

pytestmark = needs_cross_compiler
MEMORY = SCRIPT[: SCRIPT.index("SECTIONS")]
CODE = "KEEP(*(.isr_vector)) *(.text*) *(.rodata*)"
ARENAS = ".arenas (NOLOAD) : { *(.bss.aidge_AXI .bss.aidge_AXI.*) } > AXI\n"
BSS = ".bss : { *(.bss*) } > DTCM\nstack_top = 0x20010000;\n"
NOTE = ".note.aidge 0 : { KEEP(*(.note.aidge)) }\n"
DISCARDED = "/DISCARD/ : { *(.note.aidge) }\n"
MERGED = {
    "code and constants": f".all : {{ {CODE} }} > FLASH\n{ARENAS}.data : {{ *(.data*) }} > DTCM AT > FLASH\n{BSS}",
    "all that is stored": f".image : {{ {CODE} *(.data*) }} > FLASH\n{ARENAS}{BSS}",
    "all that is stored, copied": f".image : {{ {CODE} *(.data*) }} > DTCM AT > FLASH\n{ARENAS}{BSS}",
    "all variables": f".text : {{ {CODE} }} > FLASH\n{ARENAS}.ram : {{ *(.data*) *(.bss*) }} > DTCM AT > FLASH\n"
    "stack_top = 0x20010000;\n",
}
MORE = "int counter = 3; int other; void extra(void) { counter++; other++; }"
COPIED = ("--weights-in", "DTCM")
WRITABLE = "note STK02: handlers of interrupts that no vector table of the ELF names are not seen: vectors, a vector table, is "


def linked(folder, sections: str, code: str = "", note: str = NOTE):
    return link(folder, code or program(MORE), f"{MEMORY}SECTIONS\n{{\n{sections}{note}}}\n")


def plan(folder, **changes):
    path = folder / "kws.plan.json"
    fields = {"model": "kws", "model_sha256": SHA256, "arena_bytes": 512, "claim": claim(), **changes}
    path.write_text(json.dumps(fields))
    return f"--plan={path}"


def findings(text: str) -> list[str]:
    return re.findall(r"(?:error|warning|note) (?:MEM|COD|STK)\d\d: .*", text)


@pytest.mark.parametrize("name", MERGED)
def test_everything_is_compared_whatever_lies_in_one_section(tmp_path, name):
    elf = linked(tmp_path, MERGED[name])
    subprocess.run(
        ["arm-none-eabi-gcc", "-mcpu=cortex-m7", "-mthumb", "-O1", "-ffunction-sections", "-fdata-sections", "-ffreestanding"]
        + ["-c", tmp_path / "app.c", "-o", tmp_path / "app.o"],
        check=True,
    )
    agreed = COPIED if "copied" in name else ()
    done = aidge_build("check", elf, *REGIONS, *agreed, "--objects", tmp_path / "app.o")
    assert done.exit_code == 0, done.stdout
    assert "arena kws   512 B = plan" in done.stdout and re.search(r"code = \S*app.o   \d+ functions, 3 constants", done.stdout)
    merged = "stored" in name
    assert [finding.startswith(WRITABLE) for finding in findings(done.stdout)] == [True] * merged
    by_table = f"by the vector table at 0x{0x20000000 if agreed else 0x08000000:08x}, others are not seen" if merged else ""
    assert re.search(rf"\(\+ \d+ B for an interrupt ?{by_table}\)", done.stdout)


@pytest.mark.requirement("MEM14")
@pytest.mark.parametrize("name", MERGED)
def test_faults_are_found_in_merged_sections(tmp_path, name):
    agreed = COPIED if "copied" in name else ()
    damaged = program(MORE, weights="const int8_t kws_fc_weights[64] __attribute__((aligned(4))) = {3, 2};")
    done = aidge_build("check", linked(tmp_path, MERGED[name], damaged), *REGIONS, *agreed)
    assert done.exit_code == 1 and "error MEM14: weights kws_fc_weights (64 B)" in done.stdout
    larger = program(MORE, arena='__attribute__((section(".bss.aidge_AXI.kws"), aligned(16), used)) uint8_t kws_arena[520];')
    done = aidge_build("check", linked(tmp_path, MERGED[name], larger), *REGIONS, *agreed)
    assert done.exit_code == 1 and "error MEM02" in done.stdout


def test_weights_that_are_copied_with_their_code_are_the_users_to_allow(tmp_path):
    done = aidge_build("check", linked(tmp_path, MERGED["all that is stored, copied"]), *REGIONS)
    assert done.exit_code == 1
    assert "are in writable .image: they cost flash and RAM. Hint: --weights-in DTCM, if code and constants are" in done.stdout


def test_weights_among_variables_are_to_be_const(tmp_path):
    code = program(MORE, weights="int8_t kws_fc_weights[64] __attribute__((aligned(4))) = {3, 1};")
    done = aidge_build("check", linked(tmp_path, MERGED["all variables"], code), *REGIONS)
    assert done.exit_code == 1 and "are in writable .ram: they cost flash and RAM. Hint: declare them const" in done.stdout


def test_without_memories_nobody_knows_whether_a_section_of_code_and_variables_is_flash(tmp_path):
    done = aidge_build("check", linked(tmp_path, MERGED["all that is stored"]))
    assert done.exit_code == 0, done.stdout
    (found, _) = findings(done.stdout)
    assert found.startswith("warning MEM03: weights kws_fc_weights (64 B) are in .image, which holds code and variables, too")
    assert "--region" in found
    code = program(MORE, weights="int8_t kws_fc_weights[64] __attribute__((aligned(4))) = {3, 1};")
    done = aidge_build("check", linked(tmp_path, MERGED["all variables"], code))
    assert done.exit_code == 1 and "error MEM03" in done.stdout


def test_a_program_without_a_note_is_compared_with_its_plan(tmp_path):
    elf = linked(tmp_path, MERGED["all that is stored"], note=DISCARDED)
    alone = aidge_build("check", elf, *REGIONS)
    assert (
        alone.exit_code == 0
        and "its weights and their bytes, and the memory and alignment of its arena are unknown" in alone.stdout
    )
    done = aidge_build("check", elf, *REGIONS, plan(tmp_path))
    assert done.exit_code == 0, done.stdout
    (found, _) = findings(done.stdout)
    assert "warning MEM04: the program has no note of model kws: it is compared with what kws.plan.json says" in found
    damaged = program(MORE, weights="const int8_t kws_fc_weights[64] __attribute__((aligned(4))) = {3, 2};")
    done = aidge_build("check", linked(tmp_path, MERGED["all that is stored"], damaged, DISCARDED), *REGIONS, plan(tmp_path))
    assert done.exit_code == 1 and "error MEM14: weights kws_fc_weights (64 B)" in done.stdout


def without_claim(code: str) -> str:
    """What a compiler makes that knows no GNU assembler: neither a note nor absolute symbols."""
    return re.sub(r'__asm__\(".pushsection .note.aidge.*?\);', "", code, flags=re.S)


def test_a_program_without_note_and_symbols_of_it_is_compared_with_its_plan(tmp_path):
    elf = linked(tmp_path, MERGED["code and constants"], without_claim(program(MORE)))
    assert "no aidge note: planner comparison skipped" in aidge_build("check", elf, *REGIONS).stdout
    done = aidge_build("check", elf, *REGIONS, plan(tmp_path))
    assert done.exit_code == 0 and "arena kws   512 B = plan" in done.stdout, done.stdout
    assert [finding.split(":")[0] for finding in findings(done.stdout)] == ["warning MEM04"]
    arenas = [{**claim()["arenas"][0], "size_bytes": 528}]
    wrong = plan(tmp_path, arena_bytes=528, claim=claim(arena_bytes=528, arenas=arenas))
    done = aidge_build("check", elf, *REGIONS, wrong)
    assert done.exit_code == 1 and "error MEM02: arena kws_arena" in done.stdout


def test_where_the_symbols_say_other_bytes_than_the_plan_it_is_no_plan_of_the_program(tmp_path):
    elf = linked(tmp_path, MERGED["code and constants"], note=DISCARDED)
    arenas = [{**claim()["arenas"][0], "size_bytes": 528}]
    done = aidge_build("check", elf, *REGIONS, plan(tmp_path, arena_bytes=528, claim=claim(arena_bytes=528, arenas=arenas)))
    assert done.exit_code == 1
    assert "error MEM02: the arena of model kws claims 512 B, kws.plan.json says 528 B" in done.stdout


@pytest.mark.requirement("MEM04")
def test_a_note_comes_before_the_plan_which_must_say_the_same(tmp_path):
    elf = linked(tmp_path, MERGED["code and constants"])
    done = aidge_build("check", elf, *REGIONS, plan(tmp_path, claim=claim(layers=["kws_other"])))
    (found,) = findings(done.stdout)
    assert done.exit_code == 1 and "MEM04" in found and "says of it: layers. Hint" in found


def test_a_plan_of_a_model_that_is_not_in_the_program_proves_nothing(tmp_path):
    other = claim(model="vad", functions=["vad_run"], layers=[], weights=[], weights_bytes=0)
    other["arenas"] = [{**other["arenas"][0], "symbol": "vad_arena"}]
    elf = linked(tmp_path, MERGED["code and constants"])
    done = aidge_build("check", elf, *REGIONS, plan(tmp_path, model="vad", claim=other))
    assert done.exit_code == 1
    assert "kws.plan.json plans model vad, but the program holds no claim of it: cannot verify it" in done.stdout


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"claim": {}}, "model is missing"),
        ({"claim": claim(arena_bytes=1)}, "not the whole"),
        ({"model": "vad"}, "it is of model kws"),
    ],
)
def test_a_damaged_claim_in_a_plan_is_refused_in_one_line(tmp_path, changes, said):
    done = aidge_build("check", linked(tmp_path, MERGED["code and constants"]), *REGIONS, plan(tmp_path, **changes))
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
    assert "kws.plan.json: its claim is damaged" in done.stderr and said in done.stderr
