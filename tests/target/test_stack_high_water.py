# SPDX-License-Identifier: MIT
"""The bound of the stack holds in emulation for generated code, whatever the optimisation and the core.

A fixed sample; AIDGE_STRESS=1 runs every combination.
"""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.emulate import run_program
from tests.command import aidge_build
from tests.programs import needs_cross_compiler, needs_qemu
from tests.shared import int8_model, vectors

pytestmark = [needs_cross_compiler, needs_qemu]

BOARDS = ("microbit", "mps2-an385", "mps2-an386", "stm32f7", "mps2-an505", "mps3-an547")
FLAGS = ("-O0", "-O2", "-O3", "-Os", "-O2 -flto")
SAMPLE = (("digits", "microbit", "-O0"), ("digits", "microbit", "-O2 -flto"), ("kws", "mps2-an385", "-O0"), ("kws", "mps2-an386", "-Os"),
          ("kws", "stm32f7", "-O2"), ("kws", "mps2-an505", "-O2 -flto"), ("kws", "mps3-an547", "-O3"))
# The micro:bit has 16 KB of RAM, less than the activations of the keyword network.
WHOLE = tuple(item for item in itertools.product(("digits", "kws"), BOARDS, FLAGS) if item[:2] != ("kws", "microbit"))
CASES = WHOLE if os.environ.get("AIDGE_STRESS") else SAMPLE


def model_and_vector(name, folder):
    """A model and a file with one input for it."""
    if name == "kws":
        stored = dict(numpy.load(vectors("kws_dscnn")))
        model, one = int8_model("kws_dscnn"), {key: value[:1] if value.ndim else value for key, value in stored.items()}
    else:
        model, one = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx", {"x": numpy.zeros((1, 1, 1, 8, 8), numpy.int8)}
    numpy.savez(folder / "io.npz", **one)
    return model, folder / "io.npz"


@pytest.mark.parametrize("name, board, flags", CASES, ids=lambda value: value.replace(" ", ""))
def test_the_bound_is_little_above_what_an_inference_uses(tmp_path, name, board, flags):
    model, io_data = model_and_vector(name, tmp_path)
    options = [f"--flag={flag}" for flag in flags.split()]
    verified = aidge_build("verify", model, "--board", board, "--io-data", io_data, "--keep", tmp_path / "kept", *options)
    assert verified.exit_code == 0, verified.stderr
    elf = next((tmp_path / "kept").glob("*.elf"))
    used = run_program(elf, load_board(board), work_folder=elf.parent).stack_high_water_bytes
    checked = aidge_build("check", elf, "--board", board, "--json")
    # Without optimisation, branches that a constant argument rules out stay in the code, and the bound follows them, too.
    above = 192 if flags == "-O0" else 64
    assert used <= (checked.json["stack_bound_bytes"] or 0) <= used + above, json.dumps(checked.json)
    assert 0 < checked.json["models"][0]["stack_bound_bytes"] < checked.json["stack_bound_bytes"]
