# SPDX-License-Identifier: MIT
"""Every float operator of the manual as onnxruntime's quantizer leaves it: none is refused, few values differ (quantizer.npz).

In the suite what the models mean, and that one board takes them all; AIDGE_STRESS=1 runs their C on the host and emulated.
"""

from __future__ import annotations

import os
from functools import cache

import numpy
import onnx
import pytest

from aidge_build.boards import load_board
from aidge_build.contract.reference.execution import prepare
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.run.verify.firmware import execute
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.compiled import program_of
from tests.exactness.quantizer_cases import CASES, FILE, vectors

WAYS = ("asymmetric", "symmetric", "uint8")
# Values of all vectors that differ from onnxruntime, each by one level (docs/arithmetic.md says why).
DIFFERENT = {
    "asymmetric": {"AveragePool_y0": 8, "Resize_cubic_y0": 1, "Resize_linear_y0": 73},
    "symmetric": {"AveragePool_y0": 4, "Resize_linear_y0": 60},
    "uint8": {"AveragePool_y0": 8, "Resize_cubic_y0": 1, "Resize_linear_y0": 73},
}
# Of other domains, on integers and truths alone, with quantizations of their own, without inputs, or for training: no quantizer
# puts anything around them. Scatter and Upsample are ScatterElements and Resize of opsets before those that have the others.
OTHERS = {
    *"And BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CastLike Constant ConstantOfShape ConvInteger".split(),
    *"DequantizeLinear DynamicQuantizeLinear MatMulInteger NegativeLogLikelihoodLoss Not OneHot Or QLinearConv".split(),
    *"QLinearMatMul QuantizeLinear NonMaxSuppression Range Scatter SoftmaxCrossEntropyLoss TensorScatter Upsample Xor".split(),
}


@cache
def stored() -> dict[str, numpy.ndarray]:
    return dict(numpy.load(FILE))


def model(way: str) -> bytes:
    return stored()[f"{way}_model"].tobytes()


def differences(way: str, outputs: dict[str, numpy.ndarray]) -> dict[str, int]:
    """How many values of each output are not onnxruntime's; each must be one level off. `outputs` in order, a row per vector."""
    graph = onnx.load_from_string(model(way)).graph
    scales = {node.output[0]: node.input[1] for node in graph.node if node.op_type == "DequantizeLinear"}
    numbers = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    found, place = {}, 0
    for name, values in outputs.items():
        ours = values.reshape(len(vectors()), -1).astype(numpy.float32)
        theirs = stored()[f"{way}_values"][:, place : place + ours.shape[1]]
        place += ours.shape[1]
        wrong = ~numpy.isclose(ours, theirs, rtol=0, atol=1e-6, equal_nan=True)
        if wrong.any():
            found[name] = int(wrong.sum())
            levels = numpy.abs(ours - theirs)[wrong] / numbers[scales[name]]
            assert numpy.allclose(levels, 1, atol=1e-3), name
    assert place == stored()[f"{way}_values"].shape[1]
    return found


def test_every_float_operator_is_among_the_cases():
    known = {name for name in builtin_operators() if "::" not in name}
    assert known - {case.kind for case in CASES.values()} == OTHERS


@pytest.mark.parametrize("way", WAYS)
def test_operators_as_the_quantizer_leaves_them_mean_what_onnxruntime_computes_but_for_values_counted_here(way):
    view, _ = import_onnx(model(way), "operators.onnx", builtin_operators(), {}, {})
    execution, rows = prepare(simplify(view)), []
    for given in vectors():
        context = execution.forward(execution.context({}), given)
        rows.append([view.tensor(name).data if view.tensor(name).is_constant else context[name] for name in view.outputs])
    outputs = {name: numpy.stack(values) for name, values in zip(view.outputs, zip(*rows, strict=True), strict=True)}
    assert differences(way, outputs) == DIFFERENT[way]


def test_no_operator_is_refused_because_the_quantizer_wrote_it():
    program = program_of(model("symmetric"), "operators.onnx", load_board("stm32f4"))
    assert {layer.kernel.library for layer in program.layers} == {"cortexm", "armv7m", "ref"}
    said = [notice for notice in program.notices if "NaN" in notice]
    assert sorted(notice.split("'")[1] for notice in said) == ["Acosh", "Log", "Sqrt"]


@pytest.mark.skipif(not os.environ.get("AIDGE_STRESS"), reason="AIDGE_STRESS=1 runs the C of all operators")
@pytest.mark.parametrize("board", ["host", "mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("way", WAYS)
def test_the_c_of_all_operators_gives_what_they_mean(way, board, tmp_path):
    target = load_board(board)
    program = program_of(model(way), "operators.onnx", target)
    inputs = {name: numpy.array([given[name] for given in vectors()]) for name in vectors()[0]}
    found = execute(program, target, inputs, tmp_path).outputs
    assert differences(way, {name: found[name] for name in program.view.outputs}) == DIFFERENT[way]
