# SPDX-License-Identifier: MIT
"""QONNX quantizers of any bit width have the values of the package qonnx (stored, see measure_qonnx.py), and compute in int8."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.contract.reference import cpu
from aidge_build.graph.dtype import DType
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.run.verify.firmware import execute
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.compiled import program_of
from tests.exactness.qonnx_cases import FILE, network, quantizer, quantizers

CASES = {name: (model, x) for name, model, x in quantizers()}
WANTED = dict(numpy.load(FILE))


def imported(model):
    return import_onnx(model.SerializeToString(), "m", builtin_operators(), {}, {})[0]


@pytest.mark.parametrize("name", CASES)
def test_a_quantizer_has_the_values_of_qonnx(name):
    model, x = CASES[name]
    view = imported(model)
    for graph in (view, simplify(view)):
        assert cpu.run(graph, {"x": x})["y"].tolist() == WANTED[name].tolist()


def test_every_case_is_stored():
    assert set(WANTED) == {*CASES, "network"}


def test_a_network_of_few_bits_computes_in_int8_and_is_exact_in_numpy_and_in_c(tmp_path):
    model, samples = network()
    view = simplify(imported(model))
    layers = [node for node in view.nodes if node.type not in ("QuantizeLinear", "DequantizeLinear")]
    assert {"Conv2D", "ConvDepthWise2D"} <= {node.type for node in layers}
    assert all(tensor.dtype is DType.int8 for node in layers for tensor in view.output_tensors(node)), [
        str(n.operator) for n in layers
    ]
    found = numpy.stack([cpu.run(view, {"x": sample})["y"] for sample in samples])
    assert found.tolist() == WANTED["network"].tolist()
    board = load_board("host")
    program = program_of(model.SerializeToString(), "qonnx.onnx", board)
    ours = execute(program, board, {"x": samples}, tmp_path).outputs["y"]
    assert ours.tolist() == WANTED["network"].tolist()


@pytest.mark.parametrize(
    "constants, words",
    [
        ({"s": 0.0, "z": 0, "b": 4}, "its scale holds what is no positive finite number"),
        ({"s": [0.1, 0.2], "z": 0, "b": 4}, r"a scale or zero point with the dims \[2\] for data with \[1, 4, 16\]"),
        ({"s": 0.1, "z": 0, "b": 40}, r"a bit width of 40 is not supported \(1 to 24 are\)"),
        ({"s": 0.1, "z": 0, "b": 4.5}, "its bit width is no whole number"),
    ],
)
def test_quantizers_that_mean_nothing_are_refused(constants, words):
    with pytest.raises(AidgeError, match=words):
        imported(quantizer("Quant", constants, signed=1, narrow=0, rounding_mode="ROUND"))
