# SPDX-License-Identifier: MIT
"""--max-step is kept by every step of the models, counted exactly, with the bits of whole inferences."""

from __future__ import annotations

import os
import re

import numpy
import pytest

from tests.command import aidge_build
from tests.models import model
from tests.programs import EXAMPLE_MODELS, needs_cross_compiler, needs_qemu, needs_riscv
from tests.shared import MODELS, int8_model, vectors

BOARDS = ("stm32f4", "mps3-an547", "qemu_hazard3", "qemu_riscv32_v")
SOME = [("ad_toycar", "stm32f4", 20_000), ("ad_toycar", "qemu_riscv32_v", 20_000)]
ALL = [(name, board, limit) for name in MODELS for board in BOARDS for limit in (20_000, 50_000, 200_000)]


@needs_cross_compiler
@needs_qemu
@needs_riscv
@pytest.mark.parametrize("name, board, limit", ALL if "AIDGE_STRESS" in os.environ else SOME)
def test_no_step_of_a_model_is_longer_than_was_asked_for(name, board, limit):
    count = "2" if "AIDGE_STRESS" in os.environ else "1"
    words = ("--board", board, "--io-data", vectors(name), "--perturb", count, "--max-step", str(limit), "--json")
    result = aidge_build("verify", int8_model(name), *words)
    assert result.exit_code == 0 and result.json["differing_values"] == 0, result
    steps = result.json["steps"]
    assert 0 < steps["longest"] <= limit == steps["max_step"]
    (bound,) = result.json["step_bounds"]
    assert steps["longest"] <= bound["longest"] <= limit and len(bound["steps"]) == steps["count"] // int(count), bound["refused"]
    assert result.json["instructions_per_inference"] < steps["longest"] * steps["count"]


@pytest.mark.parametrize("board", ["microbit", "mps2-an385"])
def test_conversions_on_a_core_without_an_fpu_are_not_cut_where_they_are_short(board, tmp_path):
    text = "q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z)"
    constants = {"s": numpy.float32(0.05), "z": numpy.int8(3)}
    data = model(text, inputs="float[1,5,8,7] x", outputs="float[1,5,8,7] y", constants=constants)
    (tmp_path / "both.onnx").write_bytes(data)
    made = aidge_build("compile", tmp_path / "both.onnx", "--out", tmp_path, "--board", board, "--max-step", 15_000)
    assert made.exit_code == 0 and " 2 layers" in made.stderr + made.stdout, made


@needs_cross_compiler
@pytest.mark.parametrize("option", [("--optimize", "size"), ("--assembly", "off")], ids=" ".join)
def test_steps_are_as_short_and_as_proved_in_builds_with_other_code(option, tmp_path):
    weights = numpy.random.default_rng(3).integers(-127, 128, (32, 64)).astype(numpy.int8)
    text = "d = DequantizeLinear(x, s, z) f = DequantizeLinear(w, s, z) a = Gemm<transB=1>(d, f) y = QuantizeLinear(a, t, z)"
    constants = {"s": numpy.float32(0.02), "t": numpy.float32(0.3), "z": numpy.int8(0), "w": weights}
    (tmp_path / "net.onnx").write_bytes(model(text, inputs="int8[1,64] x", outputs="int8[1,32] y", constants=constants))
    numpy.savez(tmp_path / "x.npz", x=numpy.random.default_rng(9).integers(-128, 128, (1, 64)).astype(numpy.int8))
    words = ("--board", "microbit", "--max-step", 12_000, "--io-data", tmp_path / "x.npz", "--json")
    verified = aidge_build("verify", tmp_path / "net.onnx", *words, *option)
    assert verified.exit_code == 0, verified
    (bound,) = verified.json["step_bounds"]
    assert not bound["refused"] and verified.json["steps"]["longest"] <= bound["longest"] <= 12_000


@needs_cross_compiler
@needs_qemu
def test_a_row_of_a_cache_is_written_in_a_step_that_is_proved(tmp_path):
    text = "n = ScatterND(s, i, x) y = ReduceMax<axes=[0],keepdims=0>(n)"
    data = model(text, inputs="float[1,6] x, int64[1,1] i, float[4,6] s", outputs="float[6] y, float[4,6] n")
    (tmp_path / "net.onnx").write_bytes(data)
    numpy.savez(tmp_path / "x.npz", x_x=numpy.ones((2, 1, 6), numpy.float32), x_i=numpy.array([[[1]], [[3]]]))
    words = ("--board", "mps2-an386", "--state", "n=s", "--max-step", 50_000, "--io-data", tmp_path / "x.npz", "--json")
    verified = aidge_build("verify", tmp_path / "net.onnx", *words)
    assert verified.exit_code == 0 and not verified.json["step_bounds"][0]["refused"], verified


def test_what_cannot_be_cut_as_finely_is_refused_with_the_layer_and_what_is_possible(tmp_path):
    words = ("compile", EXAMPLE_MODELS["digits.onnx"], "--out", tmp_path, "--board", "stm32f4", "--max-step")
    refused = aidge_build(*words, 2_000)
    assert refused.exit_code == 2 and "no step of 2,000 computes it" in refused.stderr, refused
    possible = re.search(r"--max-step (\d+) is possible", refused.stderr)
    assert possible and int(possible[1]) > 2_000, refused


@needs_cross_compiler
def test_a_grouped_convolution_that_no_step_computes_is_refused_with_a_step_that_is_proved(tmp_path):
    weights = numpy.random.default_rng(8).integers(-127, 128, (16, 1, 3, 3)).astype(numpy.int8)
    text = "d = DequantizeLinear(x, s, z) f = DequantizeLinear(w, s, z) y = QuantizeLinear(a, s, z)"
    conv = "a = Conv<group=8, pads=[2,3,1,4], dilations=[1,2]>(d, f)"
    text = text.replace("y =", f"{conv} y =")
    constants = {"s": numpy.float32(0.05), "z": numpy.int8(0), "w": weights}
    (tmp_path / "net.onnx").write_bytes(model(text, inputs="int8[1,8,8,4] x", outputs="int8[1,16,9,7] y", constants=constants))
    numpy.savez(tmp_path / "x.npz", x=numpy.random.default_rng(9).integers(-128, 128, (1, 8, 8, 4)).astype(numpy.int8))
    words = (tmp_path / "net.onnx", "--board", "microbit", "--max-step")
    refused = aidge_build("compile", *words, 60_000, "--out", tmp_path)
    possible = re.search(r"--max-step (\d+) is possible", refused.stderr)
    assert refused.exit_code == 2 and possible and int(possible[1]) < 120_000, refused
    verified = aidge_build("verify", *words, possible[1], "--io-data", tmp_path / "x.npz", "--json")
    assert verified.exit_code == 0, verified.stderr
    (bound,) = verified.json["step_bounds"]
    assert 60_000 < verified.json["steps"]["longest"] <= bound["longest"] <= int(possible[1])
