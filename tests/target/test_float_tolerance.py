# SPDX-License-Identifier: MIT
"""Levels that follow from float32 sums in another order are no failure of `verify` and `bench`; a wrong layer is."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.run.verify import float_tolerance
from aidge_build.run.verify.firmware import execute
from aidge_build.run.verify.float_tolerance import are_near, makes_levels_of_floats, may_differ
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
def test_levels_beyond_the_stated_bound_fail(sums, tmp_path, monkeypatch):
    """The float convolution states no operations; its differences of one level are taken for too large."""
    (tmp_path / "sums.onnx").write_bytes(sums)
    numpy.savez(tmp_path / "io.npz", **random_vectors(program_of(sums, "sums.onnx", load_board(BOARD)).view, 1, seed=0))
    monkeypatch.setattr(float_tolerance, "ALLOWED", 1e-6)
    found = aidge_build("verify", tmp_path / "sums.onnx", "--board", BOARD, "--io-data", tmp_path / "io.npz", "--json")
    assert found.exit_code == 1 and not found.json["by_floats"] and found.json["beyond_levels"]


def scores(*rows: list[float]) -> dict[str, numpy.ndarray]:
    return {"y": numpy.array(rows, numpy.float32)[:, None]}


def test_the_bound_is_one_hundredth_of_the_largest_value_and_the_order_of_scores_that_are_further_apart():
    view = graph("a = Mul(x, x) y = Neg(a)", inputs="float[1,3] x", outputs="float[1,3] y")
    assert are_near(view, scores([100, 50, 0.9]), scores([100, 50, 0])) and not are_near(
        view, scores([100, 50, 1.1]), scores([100, 50, 0])
    )
    assert are_near(view, scores([99.6, 99.7, 0]), scores([100, 99.2, 0])), "the scores are nearer than the bound"
    assert not are_near(view, scores([99.1, 99.2, 0]), scores([100, 98.9, 0])), "another score is the largest"
    assert not are_near(view, scores([numpy.nan, 1, 0]), scores([2, 1, 0]))


@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize("board", [BOARD, "mps3-an547", "host"])
def test_dynamic_quantization_behind_functions_and_sums_has_the_bits_of_the_kernels_in_numpy(board, tmp_path):
    random = numpy.random.Generator(numpy.random.PCG64(6))
    weights = random.integers(-127, 128, (32, 24)).astype(numpy.int8)
    nodes = """n = LayerNormalization(x, g, b) k = Transpose<perm=[1,0]>(n) a = MatMul(n, k) s = Softmax(a) m = MatMul(s, n)
        e = Gelu(m) t = Tanh(e) q, qs, qz = DynamicQuantizeLinear(t) i = MatMulInteger(q, w, qz) f = Cast<to=1>(i)
        y = Mul(f, qs)"""
    constants = {"w": weights, "g": random.normal(1, 0.1, 32).astype(numpy.float32), "b": numpy.zeros(32, numpy.float32)}
    made = model(nodes, inputs="float[6,32] x", outputs="float[6,24] y", constants=constants, opset=20)
    (tmp_path / "net.onnx").write_bytes(made)
    numpy.savez(tmp_path / "io.npz", x=random.normal(size=(4, 6, 32)).astype(numpy.float32))
    found = aidge_build("verify", tmp_path / "net.onnx", "--board", board, "--io-data", tmp_path / "io.npz", "--json")
    assert found.exit_code == 0 and found.json["max_difference"] == 0, found.stdout


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
