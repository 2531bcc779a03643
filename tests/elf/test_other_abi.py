# SPDX-License-Identifier: MIT
"""Files that no linker joins, since other flags compiled them: which ones, in which way, and what helps."""

from __future__ import annotations

import subprocess

import pytest

from aidge_build.prove.elf.other_abi import read_other_abis
from tests.command import aidge_build
from tests.programs import needs_cross_compiler

M4 = ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16")
HARD, SOFTFP = (*M4, "-mfloat-abi=hard"), (*M4, "-mfloat-abi=softfp")
MODEL = "float kws_run(float x) { return x + x; }\n"
MAIN = "float kws_run(float x);\nint main(void) { return (int)kws_run(1.0f); }\n"


@needs_cross_compiler
@pytest.mark.parametrize(
    "of_model, of_main, how",
    [
        (SOFTFP, HARD, "passes floats in registers of the core, the files before it in the link in those of the FPU"),
        (HARD, SOFTFP, "passes floats in registers of the FPU, the files before it in the link in those of the core"),
        (("-mcpu=cortex-r5", "-mthumb", "-mfloat-abi=soft"), SOFTFP, "is for another core than the files before it in the link"),
    ],
    ids=["softfp", "hard", "core"],
)
def test_an_archive_of_a_model_that_was_compiled_with_other_flags_is_named_and_the_flags_too(
    tmp_path, monkeypatch, of_model, of_main, how
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kws.c").write_text(MODEL)
    (tmp_path / "main.c").write_text(MAIN)
    subprocess.run(["arm-none-eabi-gcc", *of_model, "-c", "kws.c"], check=True)
    subprocess.run(["arm-none-eabi-gcc", *of_main, "-c", "main.c"], check=True)
    subprocess.run(["arm-none-eabi-ar", "rcs", "libkws.a", "kws.o"], check=True)
    link = ["arm-none-eabi-gcc", *of_main, "-nostdlib", "-Wl,-e,main", "main.o", "libkws.a", "-lgcc", "-o", "fw.elf"]
    first, second, *_ = aidge_build("explain-link", "--hook", "--", *link).stdout.splitlines()
    assert first == f"fw.elf: error LINK_ABI: libkws.a(kws.o): {how} (main.o)"
    assert "what helps:  compile and link everything with the same -mcpu, -mfpu and -mfloat-abi: in CMake" in second
    asked = aidge_build("explain-link", "--json", "--", *link)
    assert asked.exit_code == 1 and asked.json["abis"] == [{"files": ["libkws.a(kws.o)"], "how": how, "before": ["main.o"]}]


def test_the_messages_of_llvms_linker_are_read_and_many_files_are_counted():
    messages = "".join(f"ld.lld: error: {name}.o: incompatible Tag_ABI_VFP_args\n" for name in "abcdef")
    (one,) = read_other_abis(messages, "app")
    assert one.fact == "a.o, b.o, c.o, d.o and 2 more: passes floats otherwise than the files before it in the link"
    (one,) = read_other_abis(messages, "app", ("/lib/crt0.o", "main.o", "start.o", "a.o", "b.o"))
    assert one.fact.endswith("otherwise than the files before it in the link (main.o, start.o)")
    assert read_other_abis("ld: main.o: undefined reference to `f'", "app") == ()
