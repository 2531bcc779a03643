# SPDX-License-Identifier: MIT
"""What a refusal of a model that does not fit advises: int8 only where floats fill the fullest moment."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.plan.arena_regions import NoRoom
from tests.compiled import program_of, request_of
from tests.models import model

QUARTER = "int8 instead of float32 needs a quarter"
# Nothing of these is computed row by row: a sum over the channels of all places before each of two products.
REAL = "m = Transpose<perm=[1,0]>(x) p = MatMul(x, m) q = MatMul(p, x) y = ReduceMean<axes=[0], keepdims=0>(q)"


def hint_of(text: str, inputs: str, constants=None) -> str:
    made = model(text, inputs=inputs, outputs="float[160] y", constants=constants)
    with pytest.raises(NoRoom) as caught:
        program_of(made, "net.onnx", load_board("microbit"))
    return caught.value.hint


def test_floats_that_fill_the_fullest_moment_would_need_a_quarter_as_int8():
    assert hint_of(REAL, "float[160,160] x") == QUARTER


def test_a_model_of_int8_with_few_floats_is_not_told_to_become_int8():
    constants = {"s": numpy.float32(0.03), "z": numpy.int8(1)}
    text = (
        "r = DequantizeLinear(x, s, z) m = Transpose<perm=[1,0]>(r) p = MatMul(r, m) a = QuantizeLinear(p, s, z)"
        " b = DequantizeLinear(a, s, z) q = MatMul(b, r) c = QuantizeLinear(q, s, z) d = DequantizeLinear(c, s, z)"
        " e = ReduceMean<axes=[0], keepdims=0>(d) f = QuantizeLinear(e, s, z) y = DequantizeLinear(f, s, z)"
    )
    assert hint_of(text, "int8[160,160] x", constants) == "a board with a larger memory, or a smaller model"


def test_the_bytes_of_states_are_named_with_the_bytes_that_the_board_keeps():
    made = model(f"{REAL} n = Neg(s)", inputs="float[160,160] x, float[100] s", outputs="float[160] y, float[100] n")
    request = replace(request_of(made, "net.onnx", load_board("microbit")), state={"n": "s"})
    with pytest.raises(NoRoom, match=" B reserved and 400 B of states; "):
        build_program(request)
