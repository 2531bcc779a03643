# SPDX-License-Identifier: MIT
"""What a check prints: what is about a model line by line, what is about the firmware alone in one line."""

from __future__ import annotations

import pytest

from tests.command import aidge_build
from tests.elf.fault import check, memory_findings
from tests.elf.own_script import REGIONS, SCRIPT, link, program
from tests.programs import needs_cross_compiler

pytestmark = needs_cross_compiler
# Double arithmetic by many functions, a heap and recursion of the firmware's own; the names are all that is asked.
NAMES = [f"__aeabi_{name}" for name in ("dadd", "dsub", "drsub", "dmul", "ddiv", "d2f", "d2iz", "d2uiz", "f2d", "i2d", "ui2d")]
NOISE = f"""
volatile int n; void *volatile kept;
{" ".join(f"void {name}(void) {{}}" for name in NAMES)}
void *malloc(unsigned count) {{ return (void *)count; }}
__attribute__((noinline)) int again(int k) {{ return k ? again(k - 1) + n : 0; }}
void extra(void) {{ kept = malloc(9); n = again(n); }}
"""
SHARED = "warning MEM08,MEM09,STK02: of the firmware, not of its models: "


def test_what_is_about_the_firmware_and_not_a_model_is_one_line(tmp_path):
    elf = link(tmp_path, program(NOISE), SCRIPT, "-fno-optimize-sibling-calls", "-fno-builtin")
    text = aidge_build("check", elf, *REGIONS).stdout
    (line,) = (line for line in text.splitlines() if "warning" in line or "note" in line)
    assert line.startswith(f"{elf}: {SHARED}MEM09 double arithmetic in software is linked: it costs flash, stack and time; ")
    for fact in ("MEM08 the heap is linked", "STK02 no stack bound: recursion"):
        assert fact in line
    assert len(line) < 700 and "--quiet MEM08,MEM09,STK02" in line and "stack kws_run <= " in text
    alone = aidge_build("check", elf, *REGIONS, "--quiet", "MEM08,STK02").stdout.splitlines()[-1]
    assert f"{elf}: warning MEM09: " in alone and "__aeabi_d2f, " in alone and alone.count("__aeabi") == 8 and "3 more" in alone
    assert {finding["code"] for finding in check(elf).json["findings"]} == {"MEM08", "MEM09", "STK02"}


def test_a_model_that_nobody_calls_is_one_error_and_no_more(tmp_path):
    code = program(weights="", arena="extern uint8_t kws_arena[]; extern const int8_t kws_fc_weights[];")
    code = code.replace("return kws_run();", "return 0;")
    elf = link(tmp_path, code, SCRIPT, "-Wl,--gc-sections")
    (finding,) = check(elf).json["findings"]
    assert (finding["code"], finding["severity"]) == ("MEM02", "error")
    assert (
        finding["text"].startswith("model kws is not in the program: ") and finding["hint"] == "does the firmware call kws_run?"
    )


def test_a_model_of_which_something_is_linked_is_looked_at(tmp_path):
    elf = link(tmp_path, program().replace("return kws_run()", "return 0"))
    assert not [finding for finding in memory_findings(check(elf)) if "is not in the program: none" in finding["text"]]


def test_a_section_that_takes_the_rest_of_a_memory_is_named_beside_its_figure(tmp_path):
    heap = "    .heap (NOLOAD) : { . = 0x8000; } > DTCM\n    .note.aidge"
    elf = link(
        tmp_path, program(), SCRIPT.replace("    .note.aidge", heap).replace("0x8000;", "ORIGIN(DTCM) + LENGTH(DTCM) - .;")
    )
    text = aidge_build("check", elf, *REGIONS).stdout
    line = next(line for line in text.splitlines() if line.strip().startswith("DTCM"))
    assert line.endswith("B that were left") and "100.0 %   with .heap, " in line and "MEM06" not in text


@pytest.mark.parametrize("is_given", [False, True])
def test_a_map_that_names_no_memories_is_said_to_name_none(tmp_path, is_given):
    script = (
        SCRIPT[SCRIPT.index("ENTRY") :].replace("> FLASH", "").replace("> AXI", "").replace("> DTCM AT", "").replace("> DTCM", "")
    )
    script = script.replace("SECTIONS\n{", "SECTIONS\n{\n    . = 0x8000;").replace(".data :", ".data 0x20000000 :")
    elf = link(tmp_path, program(), script, f"-Wl,-Map={tmp_path / 'app.map'}")
    result = aidge_build("check", elf, *(["--map", tmp_path / "app.map"] if is_given else []))
    if is_given:
        assert result.exit_code == 2 and "its linker script names no memories" in result.stderr and "--region" in result.stderr
    else:
        assert "memories not known: app.map names none, as its linker script has no MEMORY: name --board or" in result.stdout
