# SPDX-License-Identifier: MIT
"""Levels that follow from float32 sums in another order are no failure of `verify` and `bench`; a wrong layer is."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.run.verify.firmware import execute
from aidge_build.run.verify.float_tolerance import makes_levels_of_floats, may_differ
from aidge_build.run.verify.steps import run_as_kernels
from aidge_build.run.verify.vectors import random_vectors
from tests.command import aidge_build
from tests.compiled import program_of
from tests.models import graph, model
from tests.programs import needs_cross_compiler, needs_qemu

BOARD = "mps2-an386"
SCALES = {"s": numpy.float32(0.01), "t": numpy.float32(0.02), "z": numpy.int16(0)}


@pytest.fixture(scope="module")
def sums() -> bytes:
    """int16 data and float weights: of 4,096 sums some lie so near to the middle of two levels that their order decides."""
    weights = numpy.random.Generator(numpy.random.PCG64(5)).normal(0, 0.1, (64, 64, 1, 1)).astype(numpy.float32)
    nodes = "r = DequantizeLinear(x, s, z) a = Conv(r, w) y = QuantizeLinear(a, t, z)"
    return model(nodes, inputs="int16[1,64,8,8] x", outputs="int16[1,64,8,8] y", constants={**SCALES, "w": weights}, opset=21)


@needs_cross_compiler
@needs_qemu
def test_verify_and_bench_allow_levels_that_follow_from_floats_and_say_so(sums, tmp_path):
    (tmp_path / "sums.onnx").write_bytes(sums)
    view = program_of(sums, "sums.onnx", load_board(BOARD)).view
    numpy.savez(tmp_path / "io.npz", **random_vectors(view, 1, seed=0))
    measured = aidge_build("bench", tmp_path, "--boards", BOARD)
    said = "values differ by levels that follow from floats, at most 1 % of the largest value: no layer differs"
    assert measured.exit_code == 0 and said in measured.stdout
    found = aidge_build("verify", tmp_path / "sums.onnx", "--board", BOARD, "--io-data", tmp_path / "io.npz", "--json")
    assert found.exit_code == 0 and found.json["by_floats"] and found.json["first_difference"] is None
    assert found.json["differing_values"] > 0 and found.json["max_difference"] == 1


@needs_cross_compiler
@needs_qemu
def test_a_level_that_no_float_explains_is_not_allowed(sums, tmp_path):
    program, board = program_of(sums, "sums.onnx", load_board(BOARD)), load_board(BOARD)
    vectors = random_vectors(program.view, 1, seed=0)
    traced = execute(program, board, vectors, tmp_path, trace=True)
    (name,) = traced.outputs
    wanted = run_as_kernels(program, vectors)
    assert may_differ(program, vectors, traced.outputs, wanted, traced)
    moved = {name: traced.outputs[name] + 1}
    assert not may_differ(program, vectors, moved, wanted, traced), "the traced program has other outputs"
    assert not may_differ(program, vectors, moved, wanted, replace(traced, outputs=moved, trace={**traced.trace, **moved}))
    assert not may_differ(program, vectors, traced.outputs, {name: wanted[name] + 700}, traced), "beyond 1 % of 65,535 levels"
    floats = next(made for made in traced.trace if "Conv" in made or made == "a")
    beyond = {**traced.trace, floats: traced.trace[floats] * numpy.float32(1.001)}
    assert not may_differ(program, vectors, traced.outputs, wanted, replace(traced, trace=beyond)), "a float beyond 1e-4"


@pytest.mark.parametrize(
    "nodes, is_one",
    [
        ("b = Mul(x, x) y = QuantizeLinear(b, s, z)", True),
        ("b = Mul(x, x) y = ArgMax<axis=1, keepdims=1>(b)", True),
        ("y = QuantizeLinear(x, s, z)", False),
        ("b = Mul(x, x) y = Neg(b)", False),
    ],
)
def test_only_integers_behind_computed_floats_are_levels_of_floats(nodes, is_one):
    kind = "int64[1,1]" if "ArgMax" in nodes else "int16[1,4]" if "Quantize" in nodes else "float[1,4]"
    view = graph(nodes, inputs="float[1,4] x", outputs=f"{kind} y", constants=SCALES, opset=21)
    assert makes_levels_of_floats(view) == is_one
