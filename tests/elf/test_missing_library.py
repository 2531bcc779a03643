# SPDX-License-Identifier: MIT
"""A link that fails because the generated C calls a function of a library that is not there: named with file and remedy."""

from __future__ import annotations

import re
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from aidge_build.base.output import write_sources
from aidge_build.build.emit import emit
from aidge_build.measure.report.missing_library import missing_libraries
from aidge_build.prove.elf.undefined import Undefined
from tests.command import aidge_build
from tests.emitted import chain, float_sum
from tests.programs import needs_cross_compiler

SOFT = ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m3", "-O1", "-nostdlib"]


def objects(folder: Path, program, *flags: str) -> list[str]:
    """The model and a main function that calls it."""
    write_sources(emit(program), folder)
    name = program.name
    (folder / "main.c").write_text(
        f'#include "{name}.h"\nint main(void);\nint main(void) {{ return {name}_run(0, 0{", 0" if name == "sum" else ""}); }}\n'
    )
    for source in (f"{name}.c", f"{name}_weights.c", "main.c"):
        subprocess.run([*SOFT, *flags, "-c", source], cwd=folder, check=True)
    return [f"{name}.o", f"{name}_weights.o", "main.o"]


@needs_cross_compiler
@pytest.mark.parametrize("flags", [(), ("-g",)], ids=["plain", "debug"])
def test_a_model_of_floats_without_the_compilers_library_says_which_file_function_and_library(tmp_path, monkeypatch, flags):
    made = objects(tmp_path, float_sum(), *flags)
    monkeypatch.chdir(tmp_path)
    result = aidge_build("explain-link", "--hook", "--", *SOFT, "-Wl,-e,main", *made, "-o", "app.elf")
    assert result.stdout.splitlines()[:2] == [
        "app.elf: error LINK_LIBRARY: sum.c calls __aeabi_fadd, and nothing that is linked defines it",
        "       what helps:  link the compiler's library: LIBS=['gcc'] in SCons, -lgcc after sum.c elsewhere",
    ]
    assert aidge_build("explain-link", "--hook", "--", *SOFT, "-Wl,-e,main", *made, "-lgcc", "-o", "app.elf").stdout == ""


@needs_cross_compiler
@pytest.mark.parametrize("flags", [(), ("-flto",)], ids=["plain", "lto"])
def test_a_file_of_weights_that_was_forgotten_and_the_users_own_undefined_names_are_said_beside_a_small_memory(
    tmp_path, monkeypatch, flags
):
    code, weights, main = objects(tmp_path, chain(), *flags)
    monkeypatch.chdir(tmp_path)
    Path("own.c").write_text("extern int helper(void);\nint own(void) { return helper(); }\n")
    text = "SECTIONS { .text : { *(.text*) } > R .rest : { *(.rodata* .bss*) } > R }"
    Path("app.ld").write_text(f"MEMORY {{ R (rwx) : ORIGIN = 0x20000000, LENGTH = 16 }} {text}")
    linked = [*SOFT, *flags, "-Wl,-e,main", main, code, "own.c", "-Wl,-u,own", "-o", "app.elf"]
    done = aidge_build("explain-link", "--", *linked, "-T", "app.ld")
    assert done.exit_code == 1
    assert "app.elf: error LINK_LIBRARY: toy.c uses toy_" in done.stdout
    assert "what helps:  link the toy_weights.c that was generated together with toy.c\n" in done.stdout
    assert "app.elf: error LINK_UNDEFINED: nothing that is linked defines helper" in done.stdout
    assert "app.elf: error LINK_OVERFLOW: memory R is too small by " in done.stdout
    found = aidge_build("explain-link", "--json", "--", *linked, weights).json
    assert [one["symbol"] for one in found["undefined"]] == ["helper"]


@needs_cross_compiler
def test_the_header_says_all_that_the_code_asks_for(tmp_path):
    for program in (float_sum(), chain()):
        (tmp_path / program.name).mkdir()
        objects(tmp_path / program.name, program)
        head = (tmp_path / program.name / f"{program.name}.h").read_text().split("*/")[1]
        named = [*re.findall(r"__aeabi_\w+\*?", head), "memcpy", "memset"]
        command = ["arm-none-eabi-nm", "-u", tmp_path / program.name / f"{program.name}.o"]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        asked = {name for name in re.findall(r"U (\w+)", printed) if not name.startswith(program.name)}
        assert [name for name in asked if not any(fnmatchcase(name, pattern) for pattern in named)] == []
        assert ("-nostdlib" in head and "__aeabi" not in head) == (program.name == "toy")


def test_each_function_is_looked_for_in_its_library_and_only_where_a_models_code_calls_it():
    undefined = [
        Undefined("__aeabi_uldivmod", ("src/kws.c", "main.c")),
        Undefined("__clzdi2", ("kws.c",)),
        Undefined("arm_convolve_s8", ("kws.c",)),
        Undefined("expf", ("kws.c",)),
        Undefined("memset", ("kws.c",)),
        Undefined("sinf", ("main.c",)),
        Undefined("kws_run_0123456789ab", ("kws.c",)),
    ]
    found = {one.library: one.symbols for one in missing_libraries(undefined, ["kws", "vad"])}
    assert found == {"gcc": ("__aeabi_uldivmod", "__clzdi2"), "": ("arm_convolve_s8",), "m": ("expf",), "c": ("memset",)}
