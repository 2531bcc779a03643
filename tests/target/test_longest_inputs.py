# SPDX-License-Identifier: MIT
"""The bound of a step against inputs that were made to be long: ties, which are computed again, and denormal numbers."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from tests.command import aidge_build
from tests.models import model
from tests.programs import needs_cross_compiler

F = numpy.float32
TEXT = """
    d = DequantizeLinear(image, s, z) a = AveragePool<kernel_shape=[2,2]>(d) pooled = QuantizeLinear(a, s, z)
    e = DequantizeLinear(rows, s, z) b = Softmax<axis=-1>(e) shares = QuantizeLinear(b, quarter, low)
    square = Mul(reals, reals) leaky = LeakyRelu<alpha=0.1>(reals) curve = Sigmoid(reals)
"""
CONSTANTS = {"s": F(0.05), "z": numpy.int8(0), "quarter": F(0.25), "low": numpy.int8(-128)}
OUTPUTS = "int8[1,3,5,5] pooled, int8[4,8] shares, float[1,4,5,5] square, float[1,4,5,5] leaky, float[1,4,5,5] curve"
REALS = (1e-45, -1e-45, 9.0, -9.0, 88.0, -88.0, -100.0, 0.6)
LEVELS = (-128, -100, -3, 0, 1, 55, 100, 126)
FACTORS = {"averagepool_1": 1.5, "softmax_4": 2.5, "mul_6": 1.3, "leakyrelu_7": 1.2, "sigmoid_8": 2.7}  # measured: 1.01 to 2.6


@needs_cross_compiler
@pytest.mark.parametrize("board", ["mps2-an385", "microbit"])
def test_an_input_of_ties_or_denormal_numbers_takes_at_least_a_third_of_the_bound(board: str, tmp_path: Path) -> None:
    inputs = "int8[1,3,6,6] image, int8[4,8] rows, float[1,4,5,5] reals"
    (tmp_path / "net.onnx").write_bytes(model(TEXT, inputs=inputs, outputs=OUTPUTS, constants=CONSTANTS))
    image = numpy.tile(numpy.reshape(LEVELS, (-1, 1, 1, 1)), (1, 3, 6, 6))
    image[:, :, 1::2] += 1  # each window holds two of each: a tie
    rows = numpy.full((len(REALS), 4, 8), 5)  # 1/8 is half a level
    reals = numpy.tile(F(REALS)[:, None, None, None], (1, 4, 5, 5))
    given = {"image": image.astype(numpy.int8), "rows": rows.astype(numpy.int8), "reals": reals}
    numpy.savez(tmp_path / "x.npz", **{f"x_{name}": values for name, values in given.items()})
    words = ("--board", board, "--max-step", 10_000_000, "--io-data", tmp_path / "x.npz", "--json")
    verified = aidge_build("verify", tmp_path / "net.onnx", *words)
    assert verified.exit_code == 0, verified.stderr
    (bound,) = verified.json["step_bounds"]
    found = {step["layer"]: step["instructions"] for step in bound["steps"]}
    for layer, factor in FACTORS.items():
        measured, most = verified.json["steps"]["layers"][f"model_{layer}"], found[f"model_{layer}"]
        assert measured <= most <= factor * measured, (layer, measured, most)
