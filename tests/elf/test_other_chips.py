# SPDX-License-Identifier: MIT
"""A program is compared with the core, the FPU and the RAM of the board, and a model's FPU with that of the program."""

from __future__ import annotations

import subprocess

import pytest

from tests.command import aidge_build
from tests.elf.fault import check, memory_findings
from tests.elf.own_script import SCRIPT, claim, link, program
from tests.programs import needs_cross_compiler
from tests.small_model import small_model

pytestmark = needs_cross_compiler
WITH_FPU = claim(features=["dsp", "fpu", "thumb2"])
WITHOUT_FPU = claim(features=["dsp", "thumb2"])
M7, SOFT = ("-mcpu=cortex-m7", "-mthumb"), ("-mfloat-abi=soft",)
HARD, SOFTFP = (("-mfpu=fpv5-sp-d16", f"-mfloat-abi={abi}") for abi in ("hard", "softfp"))


@pytest.mark.parametrize(
    "says, flags, severity",
    [
        (WITH_FPU, SOFT, "error"),
        (WITH_FPU, HARD, ""),
        (WITH_FPU, SOFTFP, ""),
        (WITHOUT_FPU, SOFT, ""),
        (WITHOUT_FPU, SOFTFP, "note"),
        (claim(), HARD, ""),
    ],
)
def test_the_fpu_of_a_plan_is_compared_with_the_programs_build_attributes(tmp_path, says, flags, severity):
    result = check(link(tmp_path, program(says=says), cpu=(*M7, *flags)))
    found = memory_findings(result)
    assert [(one["code"], one["severity"]) for one in found] == ([("MEM13", severity)] if severity else [])
    assert result.exit_code == (severity == "error")
    assert severity != "error" or "generate kws with --cpu=cortex-m7 and without --fpu" in found[0]["hint"]


def test_code_for_an_fpu_is_refused_by_flags_that_use_none_and_the_error_says_what_to_type(tmp_path):
    (tmp_path / "net.onnx").write_bytes(small_model())
    for options, remedy in ((("--cpu=cortex-m4", "--fpu=auto"), "without --fpu"), (("--board=stm32f4",), "with --fpu=none")):
        made = aidge_build("compile", tmp_path / "net.onnx", "--name", "net", "--out", tmp_path, *options)
        assert made.exit_code == 0, made.stderr
        for abi, is_refused in (("soft", True), ("softfp", False), ("hard", False)):
            words = ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", f"-mfloat-abi={abi}", "-fsyntax-only", "net.c"]
            compiled = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
            assert (compiled.returncode != 0) == is_refused, compiled.stderr
            assert not is_refused or f"compile with -mfloat-abi=hard (or softfp), or generate net {remedy}" in compiled.stderr


@pytest.mark.parametrize(
    "cpu, fitting, lacking",
    [
        ("cortex-m55", ("cortex-m55",), ("cortex-m55+nomve", "cortex-m55+nomve.fp", "cortex-m33")),
        ("cortex-m4", ("cortex-m4", "cortex-m7", "cortex-m33"), ("cortex-m3", "cortex-m33+nodsp")),
        ("cortex-m3", ("cortex-m3", "cortex-m4"), ("cortex-m0plus", "cortex-m23")),
    ],
)
def test_code_for_instructions_that_the_flags_leave_out_is_refused_and_not_slow(tmp_path, cpu, fitting, lacking):
    (tmp_path / "net.onnx").write_bytes(small_model())
    made = aidge_build("compile", tmp_path / "net.onnx", "--name", "net", "--out", tmp_path, "--cpu", cpu)
    assert made.exit_code == 0, made.stderr
    for other in (*fitting, *lacking):
        abi = "softfp" if other.startswith("cortex-m55") else "soft"
        words = ["arm-none-eabi-gcc", f"-mcpu={other}", "-mthumb", f"-mfloat-abi={abi}", "-fsyntax-only", "net.c"]
        compiled = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert (compiled.returncode != 0) == (other in lacking), (other, compiled.stderr)
        assert other in fitting or f"compile for {cpu}" in compiled.stderr, compiled.stderr


@pytest.mark.parametrize(
    "board, flags, top, expected",
    [
        ("stm32f4", SOFT, "0x20004000", {"MEM13"}),
        ("stm32f4", HARD, "0x2004c000", {"MEM13", "STK03"}),
        ("stm32h563", SOFT, "0x20004000", {"MEM13"}),
        ("stm32h743", SOFT, "0x20004000", set()),
        ("stm32h743", HARD, "0x2004c000", {"STK03"}),
    ],
)
def test_a_program_of_a_cortex_m7_is_none_for_the_board_of_another_chip(tmp_path, board, flags, top, expected):
    script = SCRIPT.replace("AXI (rw) : ORIGIN = 0x24000000, LENGTH = 512K", "AXI (rw) : ORIGIN = 0x20008000, LENGTH = 16K")
    arena = {**claim()["arenas"][0], "region": None, "memory": None}
    code, script = program(says=claim(arenas=[arena])), script.replace("0x20010000", top)
    result = check(link(tmp_path, code, script, cpu=(*M7, *flags)), "--board", board)
    assert {one["code"] for one in result.json["findings"] if one["severity"] == "error"} == expected
    assert result.exit_code == bool(expected)
