# SPDX-License-Identifier: MIT
"""Programs that were generated with `--assembly off`: no compiler finds a statement for the assembler, and the bits are the same.

AIDGE_STRESS=1 (`./sconsw stress`) takes every core, random networks, too, and clang.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.run.toolchain.other_compiler import COMPILER_VARIABLE
from tests.command import aidge_build
from tests.dialects import quantized
from tests.programs import EXAMPLE_MODELS, needs_cross_compiler, needs_qemu
from tests.random_models import RandomNetwork

pytestmark = [needs_cross_compiler, needs_qemu]
STRESS = "AIDGE_STRESS" in os.environ
BOARDS = ("rp2040", "mps2-an385", "mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547")
SAMPLE = [("mps3-an547", "-Os", "digits", "")]
EVERY = [
    (board, flag, name, command)
    for board in BOARDS
    for flag in ("-O2", "-Os")
    for name in ("digits", "3", "5", "8", "16")
    for command in ("", "clang")
]


def network(name: str, folder):
    """The path of a model, and of its inputs."""
    if name == "digits":
        numpy.savez(folder / "io.npz", x=numpy.load(EXAMPLE_MODELS["digits.onnx"].parent / "test_images.npz")["x"][:2, None])
        return EXAMPLE_MODELS["digits.onnx"], folder / "io.npz"
    pytest.importorskip("onnxruntime")
    import onnx

    made = RandomNetwork(int(name), nodes=8, groups=int(name) % 2 == 1)
    inputs = made.inputs(2)
    onnx.save(made.model(), folder / "float.onnx")
    numpy.savez(folder / "io.npz", x=inputs)
    return quantized(folder / "float.onnx", folder / "q.onnx", "QDQ-QInt8-per_channel", inputs), folder / "io.npz"


@pytest.mark.parametrize("board, flag, name, command", EVERY if STRESS else SAMPLE)
def test_the_values_are_those_of_the_reference_without_a_statement_for_the_assembler(
    board, flag, name, command, tmp_path, monkeypatch
):
    if command and shutil.which(command) is None:
        pytest.skip(f"needs {command}")
    monkeypatch.setenv(COMPILER_VARIABLE, command)
    path, data = network(name, tmp_path)
    done = aidge_build(
        "verify", path, "--io-data", data, "--board", board, "--assembly", "off", f"--flag={flag}", "--keep", tmp_path, "--json"
    )
    assert done.exit_code == 0 and done.json["differing_values"] == 0, done.stderr or done.stdout
    seen = [
        "arm-none-eabi-gcc",
        *load_board(board).compiler_flags,
        "-E",
        "-P",
        tmp_path / "model.c",
        tmp_path / "model_weights.c",
    ]
    text = subprocess.run(seen, capture_output=True, text=True, check=True).stdout
    # Declarations of the C library end in names for the linker; a statement begins with the word.
    assert re.findall(r'^\s*__asm__(?! \("" ).*|.*\bnaked\b.*', text, re.MULTILINE) == []
    plan = f"--plan={tmp_path / 'model.plan.json'}"
    checked = aidge_build("check", tmp_path / "model.elf", "--board", board, plan, "--json")
    assert checked.exit_code == 0 and checked.json["arena_bytes"] == checked.json["planned_bytes"] > 0, checked.stdout
    codes = [finding["code"] for finding in checked.json["findings"] if finding["severity"] != "note"]
    assert codes == ["MEM04"]  # no note: it is compared with the plan
