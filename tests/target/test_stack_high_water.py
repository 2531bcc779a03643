# SPDX-License-Identifier: MIT
"""The bound of the stack holds in emulation for generated code, whatever the optimisation and the core; from -O2 on it is at
most 64 B high.

A fixed sample; AIDGE_STRESS=1 (`./sconsw stress`) runs every combination that fits its board.
"""

from __future__ import annotations

import itertools
import os

import pytest

from aidge_build.boards import load_board
from aidge_build.run.emulate import run_program
from tests.command import aidge_build
from tests.programs import EXAMPLE_MODELS, EXAMPLES, build_example, build_model, needs_cross_compiler, needs_qemu
from tests.shared import MODELS

# What an inference may stay below the bound, in bytes. At -O0 nothing is inlined: a mean beside the middle of two levels
# is added up again by a chain of functions, which few inputs need.
MOST_BELOW = {"-O0": 448}

pytestmark = [needs_cross_compiler, needs_qemu]

BOARDS = ("microbit", "mps2-an385", "mps2-an386", "stm32f7", "mps2-an505", "mps3-an547")
FLAGS = ("-O0", "-O2", "-O3", "-Os", "-O2 -flto")
# Each board, each kind of flags with a small and a larger network.
SAMPLE = (
    ("digits.onnx", "microbit", "-O0"),
    ("digits.onnx", "microbit", "-O2 -flto"),
    ("digits.onnx", "mps2-an385", "-O3"),
    ("digits.onnx", "stm32f7", "-Os"),
    ("digits", "mps3-an547", "-O2"),
    ("kws_dscnn", "mps2-an386", "-O0"),
    ("kws_dscnn", "mps2-an505", "-O2 -flto"),
    ("kws_dscnn", "mps3-an547", "-O3"),
)
# The micro:bit has 16 KB of RAM and 256 KB of flash: too little for these.
TOO_LARGE = {("microbit", name) for name in MODELS}
WHOLE = tuple(
    case
    for case in itertools.product((*EXAMPLES, *EXAMPLE_MODELS, *MODELS), BOARDS, FLAGS)
    if (case[1], case[0]) not in TOO_LARGE
)
CASES = WHOLE if os.environ.get("AIDGE_STRESS") else SAMPLE


@pytest.mark.requirement("G8")
@pytest.mark.parametrize("name, board_name, flags", CASES, ids=lambda value: value.replace(" ", ""))
def test_the_bound_is_little_above_what_an_inference_uses(tmp_path, name, board_name, flags):
    board = load_board(board_name)
    elf = (build_example if name in EXAMPLES else build_model)(name, board, tmp_path, flags=tuple(flags.split()))
    used = run_program(elf, board, work_folder=tmp_path).stack_high_water_bytes
    checked = aidge_build("check", elf, "--board", board_name, "--json").json
    bound = checked["stack_bound_bytes"]
    print(f"{name:16} {board_name:10} {flags:9} used {used:5} bound {bound} {checked['stack_refused']}")
    assert bound is not None, checked["stack_refused"]
    assert used <= bound <= used + MOST_BELOW.get(flags, 64), " > ".join(checked["stack_path"])
    assert 0 < checked["models"][0]["stack_bound_bytes"] < bound
