# SPDX-License-Identifier: MIT
"""Operators between quantized tensors that have only kernels for plain numbers compute in float32, between conversions."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.build.inputs import find_libraries, load_libraries
from aidge_build.operators import builtin_operators
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.match import Target
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.command import aidge_build
from tests.models import model

OPERATORS = {
    "ReduceProd": ("ReduceProd<axes=[1], keepdims=1>(a)", 0.5, "1,1,4,4"),
    "ReduceSum": ("ReduceSum<keepdims=0>(a, axes)", 0.3, "1,4"),
    "ReduceL2": ("ReduceL2<axes=[3], keepdims=1>(a)", 0.07, "1,4,4,1"),
    "ReduceLogSumExp": ("ReduceLogSumExp<axes=[3], keepdims=1>(a)", 0.06, "1,4,4,1"),
    "CumSum": ("CumSum(a, axis)", 0.2, "1,4,4,4"),
    "Trilu": ("Trilu(a)", 0.04, "1,4,4,4"),
}
CONSTANTS = {
    "s": numpy.float32(0.031),
    "z": numpy.int8(-7),
    "axes": numpy.array([2, 3]),
    "axis": numpy.int64(2),
    **{f"s{index}": numpy.float32(scale) for index, (_, scale, _) in enumerate(OPERATORS.values())},
}


def quantized(names: list[str]) -> bytes:
    """A quantized input, and behind it each operator between DequantizeLinear and QuantizeLinear."""
    lines = ["q = QuantizeLinear(x, s, z) a = DequantizeLinear(q, s, z)"]
    for name in names:
        index = list(OPERATORS).index(name)
        levels = f"s{index}, z"
        lines.append(f"f{index} = {OPERATORS[name][0]} q{index} = QuantizeLinear(f{index}, {levels})")
        lines.append(f"y{index} = DequantizeLinear(q{index}, {levels})")
    outputs = ", ".join(f"float[{OPERATORS[name][2]}] y{list(OPERATORS).index(name)}" for name in names)
    return model(" ".join(lines), inputs="float[1,4,4,4] x", outputs=outputs, constants=CONSTANTS)


@pytest.mark.parametrize("name", OPERATORS)
def test_a_quantized_operator_gets_the_kernel_of_any_type_between_conversions(name):
    view, _ = import_onnx(quantized([name]), "q.onnx", builtin_operators(), {}, {})
    libraries, _ = load_libraries(["ref"], find_libraries([]))
    found = adapt_to_backend(simplify(view), libraries, Target())
    rules = {node.type: found.choices[node.name].rule for node in found.view.nodes}
    assert any(rule.startswith("no kernel accepts it as it is: Dequantize to float32") for rule in rules.values()), rules


def test_they_compute_what_the_numpy_backend_computes(tmp_path):
    (tmp_path / "net.onnx").write_bytes(quantized(list(OPERATORS)))
    numpy.savez(tmp_path / "io.npz", x=numpy.random.default_rng(5).normal(size=(4, 1, 4, 4, 4)).astype(numpy.float32))
    result = aidge_build("verify", tmp_path / "net.onnx", "--lib", "ref", "--io-data", tmp_path / "io.npz")
    assert result.exit_code == 0, result.stdout + result.stderr
