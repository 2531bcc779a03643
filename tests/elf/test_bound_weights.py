# SPDX-License-Identifier: MIT
"""Firmware of a model whose weights can be replaced, and that binds none: every inference is refused, and the check fails."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from aidge_build.emit import emit
from aidge_build.output import write_sources
from aidge_build.program import Options
from tests.command import aidge_build
from tests.emitted import chain
from tests.programs import needs_cross_compiler

pytestmark = needs_cross_compiler
GCC = ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-Os", "-ffunction-sections", "-fdata-sections")
CALLS = {
    "none": ("", ""),
    "by name": ("", "toy_bind(toy_weights, toy_weights_bytes);"),
    "by pointer": ("int (*volatile bind)(const void *, uint32_t) = toy_bind;", "bind(toy_weights, toy_weights_bytes);"),
    "in a slot": ("static uint64_t slot[64];", "toy_bind(slot, sizeof slot);"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("bound")
    write_sources(emit(chain(options=Options(update="weights"))), made)
    subprocess.run([*GCC, "-c", "toy.c", "toy_weights.c"], cwd=made, check=True)
    return made


def found(folder: Path, call: str, *flags: str) -> list[dict]:
    declared, called = CALLS[call]
    (folder / "main.c").write_text(
        f'#include "toy.h"\n{declared}\nstatic int8_t x[6], y[6];\n'
        f"int main(void) {{ {called} return toy_run(x, y); }}\nvoid _exit(int code) {{ (void)code; for (;;); }}\n"
    )
    objects = ("toy.o", "toy_weights.o")
    subprocess.run([*GCC, "-nostartfiles", "-Wl,-e,main", *flags, "main.c", *objects, "-o", "app.elf"], cwd=folder, check=True)
    checked = aidge_build("check", folder / "app.elf", "--objects", *(folder / name for name in objects), "--json")
    memory = [one for one in checked.json["findings"] if one["code"].startswith("MEM")]
    assert checked.exit_code == any(one["severity"] == "error" for one in memory)
    assert not any("toy_newer" in reason for reason in checked.json["code"]["not_compared"])
    return memory


@pytest.mark.parametrize("flags", [("-Wl,--gc-sections",), ()], ids=["dropped", "linked"])
def test_a_program_that_binds_no_weights_is_an_error_with_the_call_to_type(folder, flags):
    (finding,) = found(folder, "none", *flags)
    assert (finding["code"], finding["severity"]) == ("MEM07", "error")
    assert "nothing calls toy_bind, so toy_run returns TOY_WEIGHTS (4) and computes nothing" in finding["text"]
    assert "if (toy_bind(toy_weights, toy_weights_bytes) != TOY_OK) { ... }" in finding["hint"]


@pytest.mark.parametrize("call", ["by name", "by pointer", "in a slot"])
def test_a_program_that_binds_weights_in_any_way_has_no_finding(folder, call):
    assert found(folder, call, "-Wl,--gc-sections") == []
