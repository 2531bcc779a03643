# SPDX-License-Identifier: MIT
"""A core whose code nobody reads and for which no kernel is made: models run on it, and its programs' memory is proved."""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy
import pytest

from aidge_build.base import machine
from aidge_build.base.errors import CheckFailed
from aidge_build.boards import load_board
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.prove.elf import read_claims, read_image
from aidge_build.run.emulate import Counted, run_program
from aidge_build.run.emulate.estimate import program_timing
from aidge_build.run.toolchain import build_program
from aidge_build.run.toolchain.other_compiler import COMPILER_VARIABLE
from aidge_build.run.verify.firmware import execute
from tests.command import aidge_build
from tests.compiled import program_of
from tests.dialects import quantized
from tests.elf.own_script import edited
from tests.programs import EXAMPLE_MODELS, build, build_model, constant, model, needs_riscv
from tests.random_models import RandomNetwork
from tests.small_model import small_model

pytestmark = needs_riscv
BOARD = "qemu_riscv32"
HOWTO = Path(__file__).resolve().parents[2] / "docs/howto-board.md"
PICOLIBC = "/usr/lib/picolibc/riscv64-unknown-elf/include"
DIGITS = EXAMPLE_MODELS["digits.onnx"]
STRESS = bool(os.environ.get("AIDGE_STRESS"))
SEEDS = list(itertools.product(("float", "quantized"), range(40))) if STRESS else [("quantized", 7)]
# `twice` is called by a compressed jump and by one through a register.
COUNTED = """
#include "semihosting.h"
void twice(void);
int kws_run(void);
__asm__(".text\\n.globl twice\\n.type twice,@function\\n"
        "twice: li t0, 50\\n1: addi t0, t0, -1\\nbnez t0, 1b\\nret\\n.size twice,.-twice\\n"
        ".globl kws_run\\n.type kws_run,@function\\n"
        "kws_run: mv t1, ra\\njal twice\\nla t2, twice\\njalr t2\\nmv ra, t1\\nli a0, 0\\nret\\n.size kws_run,.-kws_run");
int main(void) { return kws_run() + kws_run(); }
"""


@pytest.fixture(scope="module")
def digits(tmp_path_factory) -> Path:
    """The folder of a program for the example's model."""
    folder = tmp_path_factory.mktemp("digits")
    build_model("digits.onnx", load_board(BOARD), folder)
    return folder


@pytest.fixture(scope="module")
def digits_for_products(tmp_path_factory) -> Path:
    """The folder of the example's code, as a build with -march=rv32imac_zicsr generates it."""
    folder = tmp_path_factory.mktemp("generated")
    assert aidge_build("compile", DIGITS, "--cpu", "rv32imac_zicsr+ilp32", "--out", folder).exit_code == 0
    return folder


def read_by_compiler(folder: Path, *flags: str) -> subprocess.CompletedProcess:
    command = [f"{load_board(BOARD).core.prefix}gcc", *flags, "--specs=picolibc.specs", "-fsyntax-only", folder / "digits.c"]
    return subprocess.run(command, capture_output=True, text=True)


def check(folder: Path, *words: object):
    return aidge_build("check", folder / "model.elf", "--board", BOARD, "--plan", folder / "model.plan.json", *words)


def test_the_example_computes_what_the_reference_computes_and_is_counted(tmp_path):
    images = numpy.load(DIGITS.parent / "test_images.npz")["x"][:3]
    numpy.savez(tmp_path / "io.npz", x=images[:, None])
    result = aidge_build("verify", DIGITS, "--board", BOARD, "--io-data", tmp_path / "io.npz", "--layers", "--json")
    assert result.exit_code == 0, result.stderr
    (port,) = result.json["outputs"]
    assert port["values"] == 30 and port["differing_values"] == 0
    layers = [layer["instructions"] for layer in result.json["layers"]]
    assert all(layers) and 0.99 * result.json["instructions_per_inference"] < sum(layers)


@pytest.mark.parametrize("kind, seed", SEEDS)
def test_a_network_computes_what_the_reference_computes(kind, seed, tmp_path):
    made = RandomNetwork(seed, nodes=8, groups=seed % 2 == 1)
    inputs, path = made.inputs(2), tmp_path / "float.onnx"
    path.write_bytes(made.model().SerializeToString())
    if kind == "quantized":
        pytest.importorskip("onnxruntime")
        path = quantized(path, tmp_path / "q.onnx", "QDQ-QInt8-per_channel", inputs)
    program = program_of(path.read_bytes(), path.name, load_board(BOARD))
    (given,), (wanted,) = program.view.inputs, program.view.outputs
    inputs = inputs.astype(program.view.tensor(given).dtype.numpy)
    found = execute(program, load_board(BOARD), {given: inputs}, tmp_path).outputs[wanted]
    meaning = run_in_order(program.view, {given: inputs}, range(len(inputs)))[wanted]
    if found.dtype.kind == "f":
        assert numpy.abs(found.astype(numpy.float64) - meaning).max() <= 1e-5 * max(1.0, numpy.abs(meaning).max())
    else:
        assert numpy.count_nonzero(found != meaning) == 0


def test_another_compiler_finds_the_headers_of_the_library_that_is_linked(tmp_path, monkeypatch):
    if shutil.which("clang") is None:
        pytest.skip("needs clang")
    monkeypatch.setenv(COMPILER_VARIABLE, "clang")
    elf = build(BOARD, "#include <string.h>\n" + model("RAM"), tmp_path)
    assert run_program(elf, load_board(BOARD), work_folder=tmp_path).stdout == "384\n"
    assert b"clang version" in elf.read_bytes()


def test_the_check_proves_memory_and_the_stack(digits):
    result = check(digits, "--objects", digits / "objects/0_model.o")
    assert result.exit_code == 0, result.stderr
    assert " = plan" in result.stdout and "code = 0_model.o   " in result.stdout
    document = check(digits, "--json").json
    assert document["findings"] == [] and 0 < document["stack_bound_bytes"] < 4096
    used = run_program(digits / "model.elf", load_board(BOARD), work_folder=digits).stack_high_water_bytes
    assert used <= document["stack_bound_bytes"] <= used + 64
    (entry,) = document["models"]
    assert entry["arena_bytes"] == entry["planned_bytes"] > 0 and 0 < entry["stack_bound_bytes"] < document["stack_bound_bytes"]
    assert f"stack <= {document['stack_bound_bytes']:,} B of 4,096 B (+ " in result.stdout
    assert check(digits, "--max-stack", "64").exit_code == 1


def test_the_model_in_a_linked_program_computes_what_numpy_computes(digits, tmp_path):
    numpy.savez(tmp_path / "images.npz", x=numpy.load(DIGITS.parent / "test_images.npz")["x"][:3])
    words = ("--elf", digits / "model.elf", "--labels", tmp_path / "images.npz", "--board", BOARD)
    done = aidge_build("accuracy", DIGITS, *words)
    assert done.exit_code == 0, done.stderr
    assert "compared with the numpy backend\n0 values differ between the firmware and the host\n" in done.stdout


def test_the_claim_stays_where_the_script_of_picolibc_discards_notes(digits_for_products, tmp_path):
    (tmp_path / "main.c").write_text(
        '#include "digits.h"\nint main(void) { static int8_t x[64], y[10]; return digits_run(x, y); }'
    )
    sources = [tmp_path / "main.c", digits_for_products / "digits.c", digits_for_products / "digits_weights.c"]
    flags = ["-march=rv32imac", "-mabi=ilp32", "--specs=picolibc.specs", "-Wl,--gc-sections", f"-I{digits_for_products}"]
    subprocess.run(["riscv64-unknown-elf-gcc", *flags, *sources, "-o", tmp_path / "app.elf"], check=True)
    (claim,) = read_claims(read_image(tmp_path / "app.elf"))
    assert claim.from_note and claim.model == "digits"


def test_a_program_whose_weights_are_damaged_is_caught(digits, tmp_path):
    for name in ("model.elf", "model.plan.json"):
        (tmp_path / name).write_bytes((digits / name).read_bytes())
    image = read_image(tmp_path / "model.elf")
    weights = max((symbol for symbol in image.symbols if symbol.name.endswith("_weights")), key=lambda symbol: symbol.size_bytes)

    def zero(content: bytearray, _) -> None:
        stored = image.content(weights)
        at = bytes(content).index(stored)
        content[at : at + len(stored)] = bytes(len(stored))

    edited(tmp_path / "model.elf", zero)
    result = check(tmp_path, "--json")
    assert result.exit_code == 1
    assert [finding["code"] for finding in result.json["findings"] if finding["severity"] == "error"] == ["MEM14"]


def test_a_small_constant_in_ram_names_the_flag_that_keeps_it_in_flash(tmp_path):
    small = (
        'extern const int8_t kws_small[4];\nconst int8_t kws_small[4] __attribute__((section(".sdata.x"), used)) = {1, 2, 3, 4};'
    )
    claim = {"weights": [constant("kws_small", bytes([1, 2, 3, 4]))], "weights_bytes": 4}
    elf = build(BOARD, f"#include <stdint.h>\n{small}\n{model('RAM', claim=claim)}", tmp_path, flags=("-Wl,-u,kws_small",))
    found = aidge_build("check", elf, "--board", BOARD, "--json").json["findings"]
    assert [one["hint"].rpartition(" ")[2] for one in found if one["code"] == "MEM03"] == ["-msmall-data-limit=0"]


def test_code_that_was_generated_for_another_core_is_refused(tmp_path):
    elf = build(BOARD, model("RAM", claim={"cpu": "cortex-m4"}), tmp_path)
    result = aidge_build("check", elf, "--board", BOARD)
    assert result.exit_code == 1
    assert "MEM13: model kws was generated for cortex-m4, the program is for RISCV" in result.stdout


@pytest.mark.parametrize(
    "flags, said",
    [
        ("-march=rv32im -mabi=ilp32", ""),
        ("-march=rv32imafc -mabi=ilp32f", ""),
        ("-march=rv32ic -mabi=ilp32", "compile for rv32imac with M in -march and an ABI other than ilp32e, or generate digits"),
        ("-march=rv32imac -mabi=ilp32e", "generated for rv32imac with RV32IM and its 32 registers"),
        ("-march=rv64imac -mabi=lp64", "generated for rv32imac with RV32IM and its 32 registers"),
        ("-march=rv32imac -mabi=ilp32 -mbig-endian", "digits is for little-endian cores"),
    ],
)
def test_code_for_products_is_refused_by_flags_without_them(digits_for_products, flags, said):
    run = read_by_compiler(digits_for_products, *flags.split())
    assert (said in run.stderr and run.returncode) if said else (run.stderr == "" and not run.returncode)


FREESTANDING = """#include "digits.h"
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t size) { char *at = to; while (size--) *at++ = *(const char *)from++; return to; }
void *memset(void *to, int byte, size_t size) { char *at = to; while (size--) *at++ = byte; return to; }
int __clzsi2(unsigned word) { int zeros = 0; while (!(word >> 31)) word <<= 1, zeros++; return zeros; }
int main(void) { static int8_t x[64], y[10]; return digits_run(x, y); }
"""


def test_the_abi_of_16_registers_takes_their_kernels_on_a_core_with_32(tmp_path):
    assert aidge_build("compile", DIGITS, "--cpu", "rv32imac+ilp32e", "--out", tmp_path).exit_code == 0
    refused = read_by_compiler(tmp_path, "-march=rv32imac", "-mabi=ilp32").stderr
    assert "generated for rv32emc with 16 registers and the ABI ilp32e, which these compiler flags do not use" in refused
    (tmp_path / "main.c").write_text(FREESTANDING)
    numpy.savez(tmp_path / "images.npz", x=numpy.load(DIGITS.parent / "test_images.npz")["x"][:3])
    flags = ["-march=rv32imac", "-mabi=ilp32e", "-O2", "-fno-tree-loop-distribute-patterns", "-isystem", PICOLIBC]
    link = ["-nostdlib", "-Wl,-Ttext=0x80000000,-Tdata=0x81000000,-emain", "-o", tmp_path / "app.elf"]
    subprocess.run(["riscv64-unknown-elf-gcc", *flags, *tmp_path.glob("*.c"), *link], check=True)
    words = ("--elf", tmp_path / "app.elf", "--labels", tmp_path / "images.npz", "--board", BOARD)
    assert "\n0 values differ" in aidge_build("accuracy", DIGITS, *words).stdout


def test_a_compiler_that_dies_of_zbs_says_so_before(digits_for_products):
    run = read_by_compiler(digits_for_products, "-march=rv32imac_zbs", "-mabi=ilp32")
    remark = "note: '#pragma message: gcc 12 ends with an internal error where code such as a | 0x800 is compiled for Zbs"
    assert run.returncode == 0 and (remark in run.stderr) == (machine.RISCV_COMPILER.version() or "").startswith("12.")


@pytest.mark.parametrize("cpu, said", [("rv32imc", ["MEM13"]), ("rv64imac", [])])
def test_a_core_of_the_users_with_longer_pointers_is_told_from_the_one_that_it_extends(tmp_path, cpu, said):
    (tmp_path / "cores").mkdir()
    flags = '["-march=rv64imac", "-mabi=lp64", "-mcmodel=medany", "--specs=picolibc.specs"]'
    (tmp_path / "cores/rv64imac.toml").write_text(f'extends = "rv32imc"\nflags = {flags}\npointer_bytes = 8\n')
    (tmp_path / "long.toml").write_text(f'extends = "{BOARD}"\ncpu = "rv64imac"\n')
    (tmp_path / "app.c").write_text(model("RAM", claim={"cpu": cpu}))
    board = load_board("long", [tmp_path])
    elf = build_program(board, [tmp_path / "app.c"], tmp_path / "app.elf", work_folder=tmp_path / "objects")
    found = aidge_build("check", elf, "--board", "long", "--board-path", tmp_path, "--json").json["findings"]
    assert [finding["code"] for finding in found if finding["severity"] == "error"] == said
    assert all(
        "generated for rv32imc, the program has pointers of 64 bits" in one["text"] for one in found if one["code"] == "MEM13"
    )


def test_two_files_of_the_users_are_a_board_with_an_fpu(tmp_path):
    """The files of docs/howto-board.md."""
    for name, text in re.findall(r"file=boards/(\S+) -->\n```toml\n(extends = \"[rq].*?)```", HOWTO.read_text(), re.DOTALL):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    made = RandomNetwork(3, nodes=6)
    (tmp_path / "net.onnx").write_bytes(made.model().SerializeToString())
    numpy.savez(tmp_path / "io.npz", x=made.inputs(2))
    counts = []
    for board in ("fpu", BOARD):
        words = ("--board", board, "--board-path", tmp_path, "--io-data", tmp_path / "io.npz", "--json")
        result = aidge_build("verify", tmp_path / "net.onnx", *words)
        assert result.exit_code == 0, result.stderr
        assert [port["differing_values"] for port in result.json["outputs"]] == [0]
        counts.append(result.json["instructions_per_inference"])
    assert 3 * counts[0] < counts[1]


@pytest.mark.parametrize("inputs, verdict", [(1300, "fits"), (1600, "too small")])
def test_a_core_without_products_and_with_2_kb_of_ram_is_told_what_fits(inputs, verdict, tmp_path):
    (tmp_path / "model.onnx").write_bytes(small_model(inputs=inputs, hidden=2))
    (model_of_it,) = aidge_build("fit", tmp_path / "model.onnx", "--board", "ch32v003", "--json").json["models"]
    (found,) = model_of_it["boards"]
    assert (found["verdict"], found["libraries"]) == (verdict, ["ref"])


def test_a_core_without_products_names_the_layers_that_have_them(tmp_path):
    (tmp_path / "model.onnx").write_bytes(small_model(inputs=1300, hidden=2))
    said = "2 layers have products, for which this core has no instruction"
    for board, is_said in {"ch32v003": True, "ch32v006": False}.items():
        assert (said in aidge_build("explain", tmp_path / "model.onnx", "--board", board).stdout) == is_said


def test_code_for_any_core_suits_this_one(tmp_path):
    elf = build(BOARD, model("RAM", claim={"cpu": "generic"}), tmp_path)
    document = aidge_build("check", elf, "--board", BOARD, "--json").json
    assert document["findings"] == []


def test_the_counter_counts_each_instruction_of_a_run(tmp_path):
    elf = build(BOARD, COUNTED, tmp_path)
    result = run_program(elf, load_board(BOARD), work_folder=tmp_path, counted=Counted("kws_run", ("twice",)))
    one = 1 + 2 * 50 + 1
    inside = 2 * one + 8  # `la` is two
    assert result.exit_code == 0 and result.runs == 2 and result.run_instructions == 2 * inside
    (layer,) = result.layers
    assert layer.instructions == 2 * (inside - 2)  # it begins with the first call


def test_the_cycles_of_a_hazard3_are_the_ones_of_a_count_by_hand(tmp_path):
    board = load_board("qemu_hazard3")
    elf = build(board, COUNTED, tmp_path)
    result = run_program(
        elf, board, work_folder=tmp_path, counted=Counted("kws_run", ("twice",), timing=program_timing(elf, board))
    )
    jump, unaligned, loop_end = 1, 1, 2
    twice = jump + 1 + 2 * 50 + loop_end + 1  # 49 jumps back, which the core expects
    inside = jump + 2 + twice + jump + unaligned + 3 + twice + jump + 3  # auipc behind the first call is at an odd half-word
    assert result.run_cycles.total == 2 * inside and result.run_cycles.are_complete
    said = aidge_build("run", elf, "--board", board.name)
    assert said.exit_code == 0 and "no estimate" not in said.stdout


def test_a_program_of_more_than_a_megabyte_starts(tmp_path):
    far = "la t0, 1f\\n jr t0\\n .space 0x180000\\n 1:"
    elf = build(load_board(BOARD), f'int main(void) {{ __asm__ volatile("{far}" : : : "t0"); return 0; }}', tmp_path)
    assert run_program(elf, load_board(BOARD), work_folder=tmp_path, count=False).exit_code == 0


def test_lines_of_flash_are_counted_through_the_cache_of_the_board(tmp_path):
    """An RP2350 keeps 16 KB of flash in lines of 8 bytes; without its cache, each word that is read is one of 4 bytes."""
    chip = load_board("rp2350-riscv")
    board = dataclasses.replace(load_board("qemu_hazard3"), flash=chip.flash, flash_wait_states=None)
    code = """
    const int table[64] __attribute__((aligned(8))) = {1};
    __attribute__((noinline)) int kws_run(void) {
        int sum = 0;
        for (int at = 0; at < 128; at++) sum += ((const volatile int *)table)[at % 64];
        return sum;
    }
    int main(void) { return kws_run() + kws_run() - 4; }"""
    elf = build(board, code, tmp_path)
    timing = program_timing(elf, board)
    cycles = run_program(elf, board, work_folder=tmp_path, counted=Counted("kws_run", timing=timing)).run_cycles
    assert cycles.data_lines == 64 // 2 and cycles.data_stalls == 64 // 2 * chip.flash.stall_cycles
    assert 0 < cycles.code_stalls < 20 * chip.flash.stall_cycles  # the second run finds its code there
    assert cycles.uncached > (2 * 128 + 2 * 128 * 3) * chip.flash.stall_cycles


def test_bytes_that_are_only_read_do_not_count_as_written(tmp_path):
    reads = "for (int index = 0; index < 512; index++) sum += ((volatile uint8_t *)kws_arena)[index];"
    elf = build(BOARD, model().replace("int sum = 0;", f"int sum = 0; {reads}"), tmp_path)
    counted = Counted("kws_run", watched_symbols=("kws_arena",))
    assert run_program(elf, load_board(BOARD), work_folder=tmp_path, counted=counted).written_bytes == 64


def test_a_core_without_a_timing_table_is_named(tmp_path):
    said = aidge_build("run", build(BOARD, model(), tmp_path), "--board", BOARD)
    assert said.exit_code == 0 and "no estimate of cycles: core rv32imc has no timing table" in said.stdout


def test_a_fault_is_told_with_its_place_and_what_was_accessed(tmp_path):
    code = "int main(void) { return *(volatile int *)0x18000000; }"
    with pytest.raises(CheckFailed, match=r"takes a fault \(status 0x00000005\), accessing 0x18000000, at main"):
        run_program(build(BOARD, code, tmp_path), load_board(BOARD), work_folder=tmp_path)


@pytest.mark.parametrize("option", ["rvc", "norvc"])
def test_an_endless_loop_ends(tmp_path, option):
    code = f'int main(void) {{ __asm__ volatile(".option {option}\\n1: j 1b"); return 0; }}'
    with pytest.raises(CheckFailed, match="stops in an endless loop at main"):
        run_program(build(BOARD, code, tmp_path), load_board(BOARD), work_folder=tmp_path)
