# SPDX-License-Identifier: MIT
"""The check looks whether a model that may read words at any address has its memory in a Device range of the architecture."""

from __future__ import annotations

import re

import pytest

from tests.elf.fault import check, memory_findings
from tests.elf.own_script import ARENA, IN_AXI, REGIONS, SCRIPT, WEIGHTS, claim, link, program
from tests.programs import CLAIM, needs_cross_compiler

pytestmark = needs_cross_compiler
SDRAM, PSRAM = 0xC0000000, 0x60000000  # of STM32F7 and H7 chips; PSRAM is in a range of Normal memory
M0PLUS = ("-mcpu=cortex-m0plus", "-mthumb")


def at(origin: int, **says) -> dict:
    """The claim of a model whose arena was planned for a memory there."""
    memory = {"origin": origin, "length_bytes": 0x80000}
    return claim(arenas=[{**CLAIM["arenas"][0], **IN_AXI, "memory": memory}], **says)


def found(folder, origin: int, *, kind: str = "ram", board: str = "", cpu: tuple[str, ...] = (), code: str = "", **says):
    """What the check says of a program whose AXI memory begins at `origin`."""
    script = SCRIPT.replace("0x24000000", hex(origin))
    elf = link(folder, code or program(says=at(origin, **says)), script, **({"cpu": cpu} if cpu else {}))
    regions = [word.replace("0x24000000", hex(origin)).replace("0x80000,ram", f"0x80000,{kind}") for word in REGIONS]
    result = check(elf, *([f"--board={board}", f"--board-path={folder}"] if board else regions))
    return result, [finding for finding in memory_findings(result) if finding["code"] == "MEM15"]


@pytest.mark.parametrize("origin", [SDRAM, 0xDFF80000, 0x50000000])
def test_an_arena_in_a_device_range_fails_the_check_with_both_ways_out(origin, tmp_path):
    result, (finding,) = found(tmp_path, origin, unaligned=True)
    assert result.exit_code == 1 and finding["severity"] == "error"
    assert f"kws_arena (0x{origin:08x}) is in a Device range (AXI)" in finding["text"]
    assert 'memory = "normal" in regions.AXI of the board file, or --region AXI=...,normal' in finding["hint"]
    assert "--unaligned off, compile with -mno-unaligned-access" in finding["hint"]


def test_a_claim_that_does_not_say_how_words_are_read_counts_as_one_that_reads_them_anywhere(tmp_path):
    assert found(tmp_path, SDRAM)[0].exit_code == 1


@pytest.mark.parametrize(
    "origin, how",
    [
        (SDRAM, {"unaligned": False}),
        (SDRAM, {"kind": "ram,normal"}),
        (SDRAM, {"kind": "normal"}),
        (PSRAM, {"unaligned": True}),
        (SDRAM, {"cpu": M0PLUS}),
    ],
    ids=["aligned words alone", "RAM that is said to be Normal", "said to be Normal", "a Normal range", "a core that never does"],
)
def test_no_finding_where_no_word_can_be_a_fault(origin, how, tmp_path):
    says = {"cpu": "cortex-m0plus"} if "cpu" in how else {}
    code = program(says=at(origin, **says)) if says else ""
    result, findings = found(tmp_path, origin, **how, code=code)
    assert findings == [] and result.exit_code == 0, result.stdout


def test_code_for_any_core_counts_by_the_architecture_of_the_program(tmp_path):
    assert found(tmp_path, SDRAM, cpu=M0PLUS, code=program(says=at(SDRAM, cpu="")))[0].exit_code == 0
    assert found(tmp_path, SDRAM, code=program(says=at(SDRAM, cpu="")))[0].exit_code == 1


def test_a_board_file_says_that_the_mpu_makes_a_memory_normal(tmp_path):
    memories = {"FLASH": (0x08000000, "64K", "flash"), "DTCM": (0x20000000, "64K", "ram"), "AXI": (SDRAM, "512K", "ram")}
    text = 'extends = "cortex-m7"\ntitle = "own"\ncode = "FLASH"\ndata = "DTCM"\narena = ["AXI"]\n'
    for name, (origin, length, kind) in memories.items():
        text += f'[regions.{name}]\norigin = {origin:#x}\nlength = "{length}"\nkind = "{kind}"\n'
    (tmp_path / "own.toml").write_text(text)
    assert found(tmp_path, SDRAM, board="own")[0].exit_code == 1
    (tmp_path / "own.toml").write_text(text + 'memory = "normal"\n')
    assert found(tmp_path, SDRAM, board="own")[0].exit_code == 0
    (tmp_path / "own.toml").write_text(text + 'memory = "fast"\n')
    refused = check(tmp_path / "app.elf", "--board=own", f"--board-path={tmp_path}")
    assert "key 'regions.AXI.memory': 'fast' is not valid. Hint: valid: default, normal" in refused.stderr


@pytest.mark.requirement("MEM15")
def test_constants_in_a_device_range_fail_the_check(tmp_path):
    weights = WEIGHTS.replace("const int8_t", '__attribute__((section(".qspi"), used)) const int8_t')
    script = SCRIPT.replace("0x24000000", hex(SDRAM)).replace(
        "AXI (rw)", "QSPI (rx) : ORIGIN = 0xA0000000, LENGTH = 64K\n    AXI (rw)"
    )
    script = script.replace("    .text :", "    .qspi : { *(.qspi*) } > QSPI\n    .text :")
    elf = link(tmp_path, program(says=at(SDRAM), weights=weights), script)
    regions = [word.replace("0x24000000", hex(SDRAM)).replace("0x80000,ram", "0x80000,ram,normal") for word in REGIONS]
    (finding,) = memory_findings(check(elf, *regions, "--region=QSPI=0xA0000000,0x10000,flash"))
    assert finding["code"] == "MEM15" and "kws_fc_weights (0xa0000000) is in a Device range (QSPI)" in finding["text"]


def test_an_array_of_the_firmware_in_a_device_range_is_a_warning_as_it_may_be_an_input(tmp_path):
    picture = '__attribute__((section(".bss.aidge_AXI.own"), used)) char picture[64];'
    says = claim(arenas=[{**CLAIM["arenas"][0], "alignment": 16}])
    code = program(picture, says=says, arena=ARENA.replace(".bss.aidge_AXI.kws", ".bss.kws"))
    result, (finding,) = found(tmp_path, SDRAM, code=code)
    assert finding["severity"] == "warning" and result.exit_code == 0
    assert "inputs" in finding["text"] and "picture (0xc0000000) is in a Device range (AXI)" in finding["text"]


@pytest.mark.requirement("MEM15")
def test_an_array_of_the_firmware_in_a_device_range_that_it_passes_to_a_model_fails_the_check(tmp_path):
    """It alone is named: an array that the firmware passes to another function is not."""
    picture = """__attribute__((section(".bss.aidge_AXI.own"), used)) char picture[64], screen[64];
    __attribute__((noinline)) void show(int n, char *on) { *(volatile char *)on = (char)n; }"""
    says = claim(arenas=[{**CLAIM["arenas"][0], "alignment": 16}], functions=["kws_run"])
    code = program(picture, says=says, arena=ARENA.replace(".bss.aidge_AXI.kws", ".bss.kws"))
    code = code.replace("int kws_run(void) {", "int kws_run(int n, const char *in) { kws_arena[0] = (uint8_t)in[n];")
    code = code.replace("return kws_run();", "show(2, screen); return kws_run(1, picture + 8);")
    result, (finding,) = found(tmp_path, SDRAM, code=code)
    assert finding["severity"] == "error" and result.exit_code == 1
    assert re.search(r" picture \(0xc00000\d0\) is in a Device range \(AXI\)", finding["text"]), finding["text"]
