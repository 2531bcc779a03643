# SPDX-License-Identifier: MIT
"""Firmware of a model whose weights can be replaced: the check fails if it is proved that the program binds none, as every
inference is refused then."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from aidge_build.base.output import write_sources
from aidge_build.build.emit import emit
from aidge_build.plan.options import Options
from tests.command import aidge_build
from tests.emitted import chain
from tests.programs import needs_cross_compiler, needs_riscv

pytestmark = needs_cross_compiler
GCC = ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-Os", "-ffunction-sections", "-fdata-sections")
CALLS = {
    "none": ("", ""),
    "by name": ("", "toy_bind(toy_weights, toy_weights_bytes);"),
    "by pointer": ("int (*volatile bind)(const void *, uint32_t) = toy_bind;", "bind(toy_weights, toy_weights_bytes);"),
    "in a slot": ("static uint64_t slot[64];", "toy_bind(slot, sizeof slot);"),
    "by a constructor": ("__attribute__((constructor)) void first(void) { toy_bind(toy_weights, toy_weights_bytes); }", ""),
    "by an interrupt": (
        "void tick(void) { toy_bind(toy_weights, toy_weights_bytes); }\n"
        'void (*const handlers[16])(void) __attribute__((section(".isr_vector"))) = { [15] = tick };',
        "",
    ),
}
DEAD = {
    "by name": "void old(void) { toy_bind(toy_weights, toy_weights_bytes); }",
    "by a caller's caller": "__attribute__((noinline)) int older(void) { return toy_bind(toy_weights, toy_weights_bytes); }\n"
    "int old(void) { return older() + 1; }",
    "by a pointer of its own": "int old(void) { int (*volatile bind)(const void *, uint32_t) = toy_bind; "
    "return bind(toy_weights, toy_weights_bytes); }",
}
# A table of offsets, as position-independent code has it; its code adds the begin of the table.
OFFSETS = {
    "from the table": ("toy_bind - offsets", "offsets"),
    "from each entry": ("toy_bind - .", "offsets"),
    "from a table without a symbol": ("toy_bind - .Loffsets", ".Loffsets"),
}
OF_TABLE = r"""
__asm__(".section .rodata.offsets, \"a\"\n.balign 4\n%s:\n.word %s\n.text\n");
__attribute__((naked)) int bound(const void *weights, uint32_t bytes) {
    __asm__("push {r4, lr}\nldr r3, =%s\nldr r4, [r3]\nadd r4, r4, r3\norr r4, r4, #1\nblx r4\npop {r4, pc}\n.ltorg");
}
"""
COMPUTED = "volatile int step; uintptr_t (*volatile other)(const void *, uint32_t) = (void *)_exit;"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("bound")
    write_sources(emit(chain(options=Options(update="weights"))), made)
    subprocess.run([*GCC, "-c", "toy.c", "toy_weights.c"], cwd=made, check=True)
    return made


def found(folder: Path, call: str, *flags: str) -> list[dict]:
    return findings(folder, *CALLS[call], *flags)


def findings(
    folder: Path, declared: str, called: str, *flags: str, returned: str = "toy_run(x, y)", objects=("toy.o", "toy_weights.o")
) -> list[dict]:
    (folder / "main.c").write_text(
        f'#include "toy.h"\n{declared}\nstatic int8_t x[6], y[6];\n'
        f"int main(void) {{ {called} return {returned}; }}\nvoid _exit(int code) {{ (void)code; for (;;); }}\n"
    )
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


@pytest.mark.parametrize("way", DEAD)
def test_a_call_in_code_that_nothing_reaches_binds_no_weights(folder, way):
    (finding,) = findings(folder, DEAD[way], "", *(("-fno-inline",) if "caller" in way else ()))
    assert (finding["code"], finding["severity"]) == ("MEM07", "error")
    callers = "old, older" if "caller" in way else "old"
    assert f"only code that nothing reaches ({callers}) calls toy_bind, so toy_run returns TOY_WEIGHTS (4)" in finding["text"]


@pytest.mark.parametrize("way", OFFSETS)
def test_a_table_of_offsets_leaves_open_whether_weights_are_bound(folder, way):
    offset, label = OFFSETS[way]
    (finding,) = findings(folder, OF_TABLE % (label, offset, label), "bound(toy_weights, toy_weights_bytes);")
    assert (finding["code"], finding["severity"]) == ("MEM07", "note")
    assert "not proved that the program calls toy_bind: a table may hold the offset of toy_bind" in finding["text"]


def test_code_that_computes_what_it_calls_leaves_open_whether_weights_are_bound(folder):
    called = "((int (*)(const void *, uint32_t))((uintptr_t)other + step))(toy_weights, toy_weights_bytes);"
    (finding,) = findings(folder, f"void _exit(int code);\n{COMPUTED}", called)
    assert (finding["code"], finding["severity"]) == ("MEM07", "note")
    assert finding["text"].endswith("calls toy_bind: code of the program computes addresses of functions")


def test_a_caller_whose_address_is_computed_leaves_open_whether_weights_are_bound(folder):
    """As position-independent code does for a handler that it registers."""
    declared = "void tick(void) { toy_bind(toy_weights, toy_weights_bytes); }\nvoid (**volatile table)(void);"
    (finding,) = findings(folder, declared, "table[3] = tick;", "-fPIE", "-msingle-pic-base", "-mpic-register=r9")
    assert (finding["code"], finding["severity"]) == ("MEM07", "note")
    assert finding["text"].endswith("calls toy_bind: a table may hold the offset of tick")


def test_code_that_sets_the_bound_weights_itself_may_be_an_inlined_bind(folder):
    (finding,) = findings(folder, "extern const void *volatile toy_bound;", "toy_bound = toy_weights;")
    assert (finding["code"], finding["severity"]) == ("MEM07", "note")
    assert finding["text"].endswith("calls toy_bind: link-time optimisation may have put it into a caller")


def test_an_image_that_calls_no_function_of_the_model_may_leave_binding_to_its_users(folder):
    (finding,) = findings(folder, "", "", returned="x[0] + y[0]")
    assert (finding["code"], finding["severity"]) == ("MEM07", "note")
    assert "toy_bind: nothing in it calls a function that computes, either" in finding["text"]


@pytest.mark.parametrize("call", sorted(set(CALLS) - {"none"}))
def test_a_program_that_binds_weights_in_any_way_has_no_finding(folder, call):
    assert found(folder, call, "-Wl,--gc-sections,-u,handlers") == []


@needs_riscv
@pytest.mark.parametrize("call, wanted", [("none", ["note"]), ("by name", []), ("by pointer", [])])
def test_in_a_program_for_riscv_code_that_runs_is_what_a_bound_of_the_stack_has_followed(tmp_path, call, wanted):
    write_sources(emit(chain(options=Options(update="weights"))), tmp_path)
    declared, called = CALLS[call]
    begin = '__attribute__((naked)) void begin(void) { __asm__("la sp, 0x20001000\\n j main"); }'
    text = f"static int8_t x[6], y[6];\nint main(void) {{ {called} toy_run(x, y); for (;;) {{}} }}\n{begin}\n"
    (tmp_path / "main.c").write_text(f'#include "toy.h"\n{declared}\n{text}')
    words = ["-march=rv32imc", "-mabi=ilp32", "-Os", "-nostartfiles", "--specs=picolibc.specs", "-Wl,-e,begin"]
    sources = ["main.c", "toy.c", "toy_weights.c"]
    subprocess.run(["riscv64-unknown-elf-gcc", *words, *sources, "-o", "app.elf"], cwd=tmp_path, check=True)
    checked = aidge_build("check", tmp_path / "app.elf", "--plan", tmp_path / "toy.plan.json", "--json").json["findings"]
    found = [one for one in checked if "the program calls toy_bind" in one["text"]]
    assert [one["severity"] for one in found] == wanted and all("no code that runs calls it" in one["text"] for one in found)


@pytest.mark.requirement("MEM04")
def test_a_program_without_the_file_of_the_weights_has_no_claim_and_nothing_of_it_is_verified(folder):
    (finding,) = findings(folder, *CALLS["in a slot"], objects=("toy.o",))
    assert (finding["code"], finding["severity"]) == ("MEM04", "error") and "toy_run is generated code" in finding["text"]
    assert not [one for one in found(folder, "in a slot") if one["code"] == "MEM04"]
