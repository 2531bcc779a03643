# SPDX-License-Identifier: MIT
"""float16 in ONNX files is computed in float32: constants, casts, sub-graphs, inputs and outputs."""

from __future__ import annotations

import numpy
import onnx
import onnxruntime
import pytest

from aidge_build.boards import load_board
from aidge_build.contract.reference.cpu import run
from aidge_build.operators import builtin_operators
from aidge_build.prepare.quantization import quantized
from aidge_build.prepare.recipes import simplify
from aidge_build.run.verify.compare import compare
from aidge_build.run.verify.vectors import model_inputs
from aidge_build.sources.importing import import_file
from aidge_build.sources.source_format import ModelFile
from tests.compiled import program_of
from tests.models import model

HALF = numpy.float16
RANDOM = numpy.random.default_rng(3)


def halves(*dims: int) -> numpy.ndarray:
    return (RANDOM.normal(size=dims) / 2).astype(HALF)


LOOP = "b (int64 i, bool c, float16[1,4] v) => (bool d, float16[1,4] w) { d = Identity(c) f = Cast<to = 10>(i) w = Add(v, f) }"
CASES = {
    "layers": ("a = Gemm(x, w) b = LayerNormalization(a, g, g) y = Softmax(b)", {"w": halves(4, 4), "g": halves(4)}),
    "keeps its border": ("h = Cast<to = 10>(x) a = MatMul(h, w) y = Cast<to = 1>(a)", {"w": halves(4, 4)}),
    "a cast like another": ("f = Cast<to = 1>(x) e = Exp(f) y = CastLike(e, x)", {}),
    "a tensor of one value": (
        "c = ConstantOfShape<value = float16[1] {0}>(four) a = Add(x, c) y = Clip(a, low, high)",
        {"four": numpy.array([4]), "low": HALF(-0.5), "high": HALF(0.75)},
    ),
    "a loop": (f"y = Loop(n, c, x) <body = {LOOP}>", {"n": numpy.array(3), "c": numpy.array(True)}),
    "scales": (
        "q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) y = Mul(d, w)",
        {"s": HALF(0.05), "z": numpy.int8(3), "w": halves(4)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_model_of_float16_is_compiled_and_has_the_values_of_onnxruntime_within_the_rounding_of_halves(name):
    nodes, constants = CASES[name]
    kind = "float" if name == "keeps its border" else "float16"
    file = model(nodes, inputs=f"{kind}[1,4] x", outputs=f"{kind}[1,4] y", constants=constants, opset=19)
    view, notices = import_file(ModelFile(file, "half.onnx", builtin_operators()))
    assert "float16" not in {tensor.dtype.name for tensor in view.tensors.values()}
    assert (kind == "float16") == any(
        "float16 is computed in float32, the inputs and outputs 'x', 'y' are float32" in line for line in notices
    )
    given = halves(6, 1, 4).astype(HALF if kind == "float16" else numpy.float32)
    fed = model_inputs({"x": given}, view)["x"]
    found = numpy.stack([run(simplify(view), {"x": one})["y"] for one in fed])
    assert found.dtype == numpy.float32
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    wanted = numpy.stack([session.run(None, {"x": one})[0] for one in given])
    assert compare("y", found, wanted.astype(HALF)).within
    assert program_of(file, "half.onnx", load_board("host")).layers


def test_a_reference_of_float16_may_be_as_far_as_halves_round_and_no_farther():
    wanted = numpy.array([[1.0, -0.5, 0.25]])
    for share, within in ((0.003, True), (0.005, False)):
        found = (wanted * (1 + share)).astype(numpy.float32)
        assert compare("y", found, wanted.astype(HALF)).within is within
        assert not compare("y", found, wanted.astype(numpy.float32)).within


def test_weights_of_float16_keep_their_values_and_the_model_may_be_quantized():
    weights = halves(4, 3)
    nodes, given = "y = MatMul(x, w)", halves(16, 1, 4)
    file = model(nodes, inputs="float16[1,4] x", outputs="float16[1,3] y", constants={"w": weights})
    view, _ = import_file(ModelFile(file, "half.onnx", builtin_operators()))
    assert numpy.array_equal(view.tensor("w").data, weights.astype(numpy.float32))
    made = quantized(file, {"x": given})
    assert made.outputs["y"].sqnr > 25
    assert {value.type.tensor_type.elem_type for value in onnx.load_from_string(made.file).graph.output} == {
        onnx.TensorProto.INT8
    }
