# SPDX-License-Identifier: MIT
"""Programs without unaligned access: every word that the model reads or writes lies at a multiple of its size, and the values are
the same. In QEMU the firmware sets CCR.UNALIGN_TRP; in Unicorn, which does not trap, every access of the model is looked at.

AIDGE_STRESS=1 (`./sconsw stress`) takes every core, and the networks of MLPerf Tiny.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy
import pytest
import unicorn
from unicorn import arm_const

from aidge_build.boards import load_board
from aidge_build.prove.elf.image import read_image
from aidge_build.run.emulate.program import INSTRUCTION_LIMIT, Program
from aidge_build.run.emulate.unicorn_machine import Machine
from tests.command import aidge_build
from tests.models import model
from tests.programs import ROOT, needs_cross_compiler, needs_qemu
from tests.shared import int8_model, vectors

pytestmark = needs_cross_compiler
STRESS = "AIDGE_STRESS" in os.environ
FLAG = "-mno-unaligned-access"
# The default libraries of a Cortex-M4, M7, M33, M3 and M55.
BOARDS = ("mps2-an386", "mps2-an500", "mps2-an505", "mps2-an385", "mps3-an547")
NETWORKS = [("kws_dscnn", board) for board in BOARDS] + [("vww_mobilenet025", "mps2-an386"), ("ic_resnet8", "mps2-an500")]
# Layers with rows or pixels of 3, 5, 6, 9 and 10 bytes.
LAYERS = (
    "a = Conv<pads=[1,1,1,1], strides=[2,2]>(x, first) b = MaxPool<kernel_shape=[2,2], strides=[2,2]>(a) "
    "c = Conv<pads=[1,1,1,1]>(b, nine) d = Conv<pads=[1,1,1,1], group=9>(c, depthwise) e = Conv(d, six) "
    "f = Conv<pads=[2,2,2,2]>(e, ten) g = ConvTranspose<strides=[2,2], pads=[1,1,1,1]>(f, turned) "
    "h = AveragePool<kernel_shape=[3,3], strides=[2,2]>(g) i = Relu(h) j = Concat<axis=1>(i, i) k = Add(j, j) "
    "l = GlobalAveragePool(k) m = Flatten(l) y = Gemm<transB=1>(m, two)"
)
WEIGHTS = {
    "first": (8, 3, 3, 3),
    "nine": (9, 8, 3, 3),
    "depthwise": (9, 1, 3, 3),
    "six": (6, 9, 1, 1),
    "ten": (10, 6, 5, 5),
    "turned": (10, 5, 4, 4),
    "two": (2, 10),
}


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> tuple[Path, Path]:
    """A float network and samples of its input."""
    random, folder = numpy.random.default_rng(7), tmp_path_factory.mktemp("network")
    weights = {name: random.normal(size=dims, scale=0.3).astype(numpy.float32) for name, dims in WEIGHTS.items()}
    (folder / "odd.onnx").write_bytes(model(LAYERS, inputs="float[1,3,11,13] x", outputs="float[1,2] y", constants=weights))
    numpy.savez(folder / "io.npz", x=random.normal(size=(2, 1, 3, 11, 13)).astype(numpy.float32))
    return folder / "odd.onnx", folder / "io.npz"


def trapping(name: str, folder: Path) -> tuple[str, ...]:
    """The options for a board like `name` whose firmware sets CCR.UNALIGN_TRP before main, in QEMU."""
    base = load_board(name)
    (folder / "trap.c").write_text(
        "#include <stdint.h>\n__attribute__((constructor)) static void trap(void) "
        "{ *(volatile uint32_t *)0xE000ED14u |= 8u; /* CCR.UNALIGN_TRP */ }\n"
    )
    flags = [flag for flag in base.compiler_flags if not flag.startswith(("-mcpu", "-mfpu", "-mfloat-abi", "-mthumb"))]
    lists = {"compiler_flags": [*flags, FLAG], "sources": [*base.sources, str(folder / "trap.c")]}
    lines = [f"{key} = {[str(item) for item in items]!r}".replace("'", '"') for key, items in lists.items()]
    (folder / "trap.toml").write_text("\n".join([f'extends = "{name}"', 'emulator = "qemu"', *lines]) + "\n")
    return "--board", "trap", "--board-path", str(folder)


@needs_qemu
@pytest.mark.parametrize("board", BOARDS if STRESS else ("mps2-an386",))
def test_a_network_of_odd_sizes_runs_where_unaligned_access_traps(network, board, tmp_path):
    path, samples = network
    where = trapping(board, tmp_path)
    words = ("verify", path, "--quantize", samples, "--io-data", samples, "--json")
    ran = aidge_build(*words, *where)
    assert ran.exit_code == 0 and ran.json["differing_values"] == 0, ran.stderr or ran.stdout


@needs_qemu
def test_the_firmware_of_these_tests_traps(network, tmp_path):
    path, samples = network
    where = trapping("mps2-an386", tmp_path)
    board = tmp_path / "trap.toml"
    board.write_text(board.read_text().replace(f', "{FLAG}"', ""))
    ran = aidge_build("verify", path, "--quantize", samples, "--io-data", samples, *where)
    assert ran.exit_code == 1 and "fault" in ran.stderr


def misaligned(elf: Path, board: str) -> tuple[set[str], int]:
    """The functions of the model that read or wrote at an address that is no multiple of the access's size, and how many accesses
    there were."""
    image, found, counted = read_image(elf), set(), [0]
    own = [symbol for symbol in image.symbols if symbol.kind == "function" and symbol.name.startswith(("model_", "aidge_"))]
    own = [symbol for symbol in own if symbol.name not in ("aidge_start", "aidge_construct")]

    def on_access(core, access, address, size, value, _):
        at = core.reg_read(arm_const.UC_ARM_REG_PC)
        counted[0] += any(symbol.address & ~1 <= at < (symbol.address & ~1) + symbol.size_bytes for symbol in own)
        if address % size:
            found.add(image.describe(at))

    program = Program(image, load_board(board), elf.parent.resolve(), (elf.stem,), False, "", (), INSTRUCTION_LIMIT)
    machine = Machine(program)
    try:
        machine.machine.hook_add(unicorn.UC_HOOK_MEM_READ | unicorn.UC_HOOK_MEM_WRITE, on_access)
        machine.run()
    finally:
        machine.release()
    return found, counted[0]


@pytest.mark.parametrize("board", ("mps2-an386", "mps2-an500", "mps2-an505", "mps2-an385") if STRESS else ("mps2-an386",))
def test_every_access_of_a_model_lies_at_a_multiple_of_its_size(network, board, tmp_path):
    path, samples = network
    words = ("verify", path, "--quantize", samples, "--io-data", samples, "--board", board, "--keep", tmp_path, "--json")
    assert aidge_build(*words, "--unaligned", "off").json["differing_values"] == 0
    found, count = misaligned(tmp_path / "model.elf", board)
    assert found == set() and count > 10_000
    if STRESS:
        assert aidge_build(*words).json["differing_values"] == 0
        assert misaligned(tmp_path / "model.elf", board)[0]  # the default kernels of this network do


@needs_qemu
@pytest.mark.parametrize("name, board", NETWORKS if STRESS else [("kws_dscnn", "mps2-an386")])
def test_networks_of_mlperf_tiny_run_where_unaligned_access_traps(name, board, tmp_path):
    path, stored = int8_model(name), vectors(name)
    words = ("verify", path, "--io-data", stored, "--json")
    ran = aidge_build(*words, *trapping(board, tmp_path))
    assert ran.exit_code == 0 and ran.json["differing_values"] == 0, ran.stderr or ran.stdout
    if (name, board) == ("kws_dscnn", "mps2-an386"):
        assert ran.json["instructions_per_inference"] <= 1.25 * 2_463_395  # those of the default build


def compiled(folder: Path, *flags: str) -> str:
    """What the compiler says of the model's code."""
    board = load_board("mps2-an386").compiler_flags
    words = ["arm-none-eabi-gcc", *board, *flags, "-fsyntax-only", f"-I{ROOT / 'boards'}", str(folder / "odd.c")]
    return subprocess.run(words, capture_output=True, text=True).stderr


def test_code_and_compiler_that_disagree_end_with_an_error_that_names_the_flag(network, tmp_path):
    path, samples = network
    words = ("compile", path, "--quantize", samples, "--board", "mps2-an386", "--name", "odd", "--out", tmp_path)
    assert aidge_build(*words).exit_code == 0
    assert compiled(tmp_path) == "" and "generate it with --unaligned off" in compiled(tmp_path, FLAG)
    assert aidge_build(*words, "--unaligned", "off").exit_code == 0
    assert compiled(tmp_path, FLAG) == "" and f"compile this file with {FLAG}, too" in compiled(tmp_path)
