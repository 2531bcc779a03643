# SPDX-License-Identifier: MIT
"""Models with functions, branches and dialects are quantized as the nodes that they stand for."""

from __future__ import annotations

import numpy
import onnx
import pytest
from onnx import numpy_helper

from aidge_build.base.errors import AidgeError
from aidge_build.prepare.quantization import quantize

RANDOM = numpy.random.default_rng(3)
WEIGHTS = RANDOM.normal(size=(4, 3)).astype(numpy.float32)
SAMPLES = RANDOM.normal(size=(20, 1, 4)).astype(numpy.float32)
TEXT = """<ir_version: 10, opset_import: ["" : {opset}, "own" : 1]> agraph (float[1,4] x, int64 sr) => (float[1,3] y) {{
    rate = Constant<value = int64 {{8000}}>() wide = Equal(sr, rate) h = own.dense(x, w)
    y = If(wide) <then_branch = a () => (float[1,3] p) {{ p = Relu(h) }},
                  else_branch = b () => (float[1,3] p) {{ p = Neg(h) }}> }}
    <domain: "own", opset_import: ["" : {opset}]> dense(a, b) => (c) {{ c = MatMul(a, b) }}"""


def made(opset: int) -> bytes:
    model = onnx.parser.parse_model(TEXT.format(opset=opset))
    model.graph.initializer.append(numpy_helper.from_array(WEIGHTS, "w"))
    return model.SerializeToString()


def test_a_model_with_a_branch_and_a_function_is_quantized():
    onnxruntime = pytest.importorskip("onnxruntime")
    file = quantize(made(18), {"x": SAMPLES}, bind={"sr": 8000})
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    quantized = onnx.ModelProto.FromString(file)
    kinds = {node.op_type for node in quantized.graph.node}
    assert given.name == "x" and not kinds & {"If", "dense", "Neg"} and "Relu" in kinds and not quantized.functions
    assert "QuantizeLinear" in kinds


def test_a_node_that_the_opset_of_the_file_lacks_is_refused():
    model = onnx.ModelProto.FromString(made(18))
    call = next(one for one in model.functions if one.name == "dense")
    call.opset_import[0].version = 20
    del call.node[:]
    call.node.append(onnx.helper.make_node("Gelu", ["a"], ["g"]))
    call.node.append(onnx.helper.make_node("MatMul", ["g", "b"], ["c"]))
    with pytest.raises(AidgeError, match="Gelu as opset 20 writes it has no place in a file of opset 18"):
        quantize(model.SerializeToString(), {"x": SAMPLES}, bind={"sr": 8000})
