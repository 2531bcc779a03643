# SPDX-License-Identifier: MIT
"""Programs that another compiler than the board's gcc made compute the same bits (AIDGE_CC).

A fixed sample with the clang of this machine. AIDGE_STRESS=1 takes every compiler that is there (any clang, gcc for Arm
Linux, the package ziglang, and what AIDGE_TEST_COMPILERS names, one command a line), core, optimisation and network.
`AIDGE_CC='...' pytest tests/kernels` runs the tests of the kernels with another compiler.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import shutil
import sys
from pathlib import Path

import numpy
import onnx
import pytest

from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.boards import load_board
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.run.toolchain import find_compiler
from aidge_build.run.toolchain.other_compiler import COMPILER_VARIABLE, chosen_compiler
from aidge_build.run.verify.firmware import execute
from tests.compiled import program_of
from tests.dialects import quantized
from tests.programs import EXAMPLE_MODELS, build, needs_cross_compiler, needs_qemu
from tests.random_models import RandomNetwork

pytestmark = [needs_cross_compiler, needs_qemu]
STRESS = "AIDGE_STRESS" in os.environ
NAMED = os.environ.get("AIDGE_TEST_COMPILERS", "")
NAMES = re.compile(r"(clang(-\d+)?|arm-linux-gnueabihf-gcc(-\d+)?)$")
BOARDS = {
    "m0plus": "rp2040",
    "m3": "mps2-an385",
    "m4": "mps2-an386",
    "m7": "mps2-an500",
    "m33": "mps2-an505",
    "m55": "mps3-an547",
}
RISCV = {"rv32": "qemu_riscv32", "rvv": "qemu_riscv32_v"}
SEEDS = (3, 5, 8, 16)
NETWORKS = ("digits", *(f"quantized {seed}" for seed in SEEDS), *(f"float {seed}" for seed in SEEDS[:2]))
SAMPLE = [("m0plus", "-Os", "digits"), ("m4", "-O2", "digits"), ("m55", "-Os", "digits")]
EVERY = list(itertools.product((*BOARDS, *RISCV), ("-O2", "-Os"), NETWORKS))


def found_compilers() -> list[str]:
    """The commands of the compilers of this machine."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if Path(folder).is_dir()]
    names = sorted({path.name for folder in folders for path in folder.iterdir() if NAMES.match(path.name)})
    zig = importlib.util.find_spec("ziglang")
    in_package = [f"{sys.executable} -m ziglang clang -isystem {zig.submodule_search_locations[0]}/lib/include"] if zig else []
    return [*names, *in_package, *filter(None, map(str.strip, NAMED.splitlines()))]


def network(name: str, folder: Path) -> tuple[bytes, numpy.ndarray]:
    """A model's file, and inputs."""
    if name == "digits":
        images = numpy.load(EXAMPLE_MODELS["digits.onnx"].parent / "test_images.npz")["x"][:2]
        return EXAMPLE_MODELS["digits.onnx"].read_bytes(), images[:, None]
    kind, seed = name.split()
    made = RandomNetwork(int(seed), nodes=8, groups=int(seed) % 2 == 1)
    inputs = made.inputs(2)
    onnx.save(made.model(), folder / "float.onnx")
    if kind == "float":
        return (folder / "float.onnx").read_bytes(), inputs
    pytest.importorskip("onnxruntime")
    return quantized(folder / "float.onnx", folder / "q.onnx", "QDQ-QInt8-per_channel", inputs).read_bytes(), inputs


@pytest.mark.parametrize("command", found_compilers() if STRESS else ["clang"])
@pytest.mark.parametrize("core, optimization, name", EVERY if STRESS else SAMPLE)
def test_a_network_has_the_values_of_the_reference(core, optimization, name, command, tmp_path, monkeypatch):
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"needs {command}")
    if core in RISCV and command.startswith("arm-"):
        pytest.skip(f"{command} is for Arm")
    monkeypatch.setenv(COMPILER_VARIABLE, command)
    data, inputs = network(name, tmp_path)
    board = load_board({**BOARDS, **RISCV}[core])
    program = program_of(data, name.replace(" ", "_"), board)
    (given,), (wanted,) = program.view.inputs, program.view.outputs
    inputs = inputs.astype(program.view.tensor(given).dtype.numpy)
    found = execute(program, board, {given: inputs}, tmp_path, flags=(optimization,)).outputs[wanted]
    meaning = run_in_order(program.view, {given: inputs}, range(len(inputs)))[wanted]
    if found.dtype.kind == "f":
        assert numpy.abs(found.astype(numpy.float64) - meaning).max() <= 1e-5 * max(1.0, numpy.abs(meaning).max())
    else:
        assert numpy.count_nonzero(found != meaning) == 0
    comment = compiler_in(tmp_path / "net.elf")
    assert "clang" in comment or "clang" not in command, comment


def compiler_in(elf: Path) -> str:
    """Who compiled the program, by its section .comment."""
    return b" ".join(re.findall(rb"[ -~]*(?:clang|GCC)[ -~]*", elf.read_bytes())).decode()


@pytest.mark.parametrize(
    "setting, message",
    [
        ("no-such-clang --target=arm-none-eabi", "AIDGE_CC: there is no program 'no-such-clang'"),
        ("cc", "AIDGE_CC: 'cc' does not compile C for cortex-m0: it does not define __ARM_EABI__"),
        ("true", "AIDGE_CC: 'true' does not compile C for cortex-m0: it does not define __ARM_EABI__"),
        ("clang '", "AIDGE_CC: 'clang '' is no command"),
    ],
)
def test_what_is_no_compiler_for_arm_is_refused_with_its_name(setting, message, monkeypatch, tmp_path):
    monkeypatch.setenv(COMPILER_VARIABLE, setting)
    with pytest.raises(AidgeError) as refused:
        build("microbit", "int main(void) { return 0; }", tmp_path)
    assert message in str(refused.value) and "\n" not in str(refused.value)
    assert isinstance(refused.value, MissingTool) == ("no program" in message)


def test_without_the_variable_the_boards_gcc_compiles(monkeypatch):
    monkeypatch.setenv(COMPILER_VARIABLE, " ")
    assert chosen_compiler("arm-none-eabi-gcc", load_board("microbit").core) is None
    found = find_compiler(load_board("microbit"))
    assert found.compiling(Path("a.c"), ["-Os"]) == [shutil.which("arm-none-eabi-gcc"), "-Os"]


def test_a_named_gcc_gets_the_boards_flags_as_they_are_and_the_headers_of_the_library_that_is_linked(monkeypatch):
    monkeypatch.setenv(COMPILER_VARIABLE, "arm-none-eabi-gcc -fno-builtin")
    program, first, enums, headers, *flags = find_compiler(load_board("mps3-an547")).compiling(Path("a.c"), ["-mfpu=auto"])
    assert (program, first, enums) == (shutil.which("arm-none-eabi-gcc"), "-fno-builtin", "-fshort-enums")
    assert (Path(headers.removeprefix("-isystem")) / "string.h").is_file() and flags == ["-mfpu=auto"]


def test_a_clang_is_told_its_target_unless_the_user_does_and_no_words_that_only_gcc_has(monkeypatch):
    if shutil.which("clang") is None:
        pytest.skip("needs clang")
    for setting, targets in (("clang", ["--target=arm-none-eabi"]), ("clang --target=armv7em-none-eabi", [])):
        monkeypatch.setenv(COMPILER_VARIABLE, setting)
        command = find_compiler(load_board("mps3-an547")).compiling(Path("a.c"), ["-mcpu=cortex-m55", "-mfpu=auto"])
        assert [word for word in command if word == "--target=arm-none-eabi"] == targets
        assert command[-1] == "-mcpu=cortex-m55" and "-mfpu=auto" not in command


def test_link_time_optimisation_is_refused_where_another_compiler_links(monkeypatch, tmp_path):
    monkeypatch.setenv(COMPILER_VARIABLE, "arm-none-eabi-gcc")
    with pytest.raises(AidgeError, match="-flto needs the compiler that links"):
        build("microbit", "int main(void) { return 0; }", tmp_path, flags=("-flto",))


def test_what_a_linker_only_warns_of_is_told_where_warnings_are_errors(tmp_path):
    text = '__asm__(".section .note.GNU-stack,\\"\\",%progbits");\nint main(void) { return 0; }'
    with pytest.raises(AidgeError, match="warning: .*implies executable stack") as refused:
        build("microbit", text, tmp_path)
    assert "collect2" not in str(refused.value)
