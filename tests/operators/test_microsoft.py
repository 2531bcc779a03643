# SPDX-License-Identifier: MIT
"""Operators that onnxruntime's optimizers write: taken apart into those of ONNX, with onnxruntime's values."""

from __future__ import annotations

import numpy
import onnx
import pytest
from onnx import helper, numpy_helper

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference import cpu
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.onnx.importer import import_onnx

F, I32 = numpy.float32, numpy.int32
RANDOM = numpy.random.default_rng(7)


def real(*dims: int, scale: float = 1.0) -> numpy.ndarray:
    return (RANDOM.normal(size=dims) * scale).astype(F)


X, ROW = ("x", (2, 5, 8)), real(8)
TOKENS = numpy.array([[3, 1, 0, 6, 2]], I32)
# Operator, attributes, inputs in order (name and dims: it moves; an array: constant; None: not given), what may be left.
CASES = {
    "Gelu": ("Gelu", {}, [X], {"Gelu"}),
    "BiasGelu": ("BiasGelu", {}, [X, ROW], {"Add", "Gelu"}),
    "FastGelu": ("FastGelu", {}, [X, ROW], {"Add", "Gelu"}),
    "FastGelu alone": ("FastGelu", {}, [X], {"Gelu"}),
    "QuickGelu": ("QuickGelu", {"alpha": 1.5}, [X], {"Swish"}),
    "SkipLayerNormalization": (
        "SkipLayerNormalization",
        {"epsilon": 1e-5},
        [X, ("skip", (2, 5, 8)), ROW, real(8), real(8)],
        {"Add", "LayerNormalization"},
    ),
    "SkipLayerNormalization without bias": (
        "SkipLayerNormalization",
        {"epsilon": 1e-3},
        [X, ("skip", (5, 8)), ROW],
        {"Add", "LayerNormalization", "Reshape", "Unsqueeze"},
    ),
    "SkipSimplifiedLayerNormalization": (
        "SkipSimplifiedLayerNormalization",
        {"epsilon": 1e-5},
        [X, ("skip", (2, 5, 8)), ROW, real(8)],
        {"Add", "RMSNormalization"},
    ),
    "EmbedLayerNormalization": (
        "EmbedLayerNormalization",
        {"epsilon": 1e-5},
        [TOKENS, numpy.array([[0, 0, 1, 1, 1]], I32), real(9, 8), real(6, 8), real(2, 8), ROW, real(8)],
        set(),
    ),
    "FusedMatMul": (
        "FusedMatMul",
        {"alpha": 0.5, "transA": 1, "transB": 1},
        [("a", (2, 8, 5)), ("b", (2, 3, 8))],
        {"MatMul", "Mul", "Transpose"},
    ),
    "FusedMatMul with batches inside": (
        "FusedMatMul",
        {"transBatchA": 1},
        [("a", (3, 2, 8)), ("b", (2, 8, 4))],
        {"MatMul", "Transpose"},
    ),
    "FusedConv": (
        "FusedConv",
        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "activation": "Clip", "activation_params": [-0.5, 1.5]},
        [("x", (1, 3, 5, 5)), real(4, 3, 3, 3), real(4), ("z", (1, 4, 5, 5))],
        {"Conv2D", "Add", "Clip", "Conv2DAdd"},
    ),
    "FusedConv leaky": (
        "FusedConv",
        {"activation": "LeakyRelu", "activation_params": [0.2]},
        [("x", (1, 3, 5, 5)), real(4, 3, 3, 3)],
        {"Conv2D", "LeakyReLU"},
    ),
    "FusedGemm": (
        "FusedGemm",
        {"transB": 1, "activation": "LeakyRelu", "activation_alpha": 0.2},
        [("x", (3, 8)), real(4, 8), real(4)],
        {"FC", "Gemm", "LeakyReLU"},
    ),
    "Attention": ("Attention", {"num_heads": 2}, [X, real(8, 24), real(24)], None),
    "Attention that looks back only": (
        "Attention",
        {"num_heads": 2, "unidirectional": 1, "scale": 0.3},
        [X, real(8, 24), real(24)],
        None,
    ),
    "Attention with a mask": (
        "Attention",
        {"num_heads": 4, "qkv_hidden_sizes": [8, 8, 16]},
        [X, real(8, 32), real(32), numpy.array([[1, 1, 0, 1, 0], [1, 0, 0, 0, 1]], I32)],
        None,
    ),
    "Attention with counts": ("Attention", {"num_heads": 2}, [X, real(8, 24), real(24), numpy.array([3, 5], I32)], None),
    "Attention with an addend": (
        "Attention",
        {"num_heads": 2},
        [X, real(8, 24), real(24), None, None, ("more", (2, 2, 5, 5))],
        None,
    ),
    "MultiHeadAttention": (
        "MultiHeadAttention",
        {"num_heads": 2},
        [X, ("key", (2, 4, 8)), ("value", (2, 4, 6)), real(22)],
        None,
    ),
    "QAttention": (
        "QAttention",
        {"num_heads": 2},
        [
            ("q", (2, 5, 8)),
            RANDOM.integers(-60, 60, (8, 24)).astype(numpy.int8),
            real(24),
            F(0.02),
            F(0.03),
            numpy.array([5, 4], I32),
            numpy.uint8(120),
            numpy.int8(0),
        ],
        None,
    ),
}


def made(case: str) -> onnx.ModelProto:
    kind, attributes, given, _ = CASES[case]
    moving, constants, names = [], [], []
    for place, value in enumerate(given):
        if isinstance(value, tuple):
            names.append(value[0])
            element = onnx.TensorProto.UINT8 if value[0] == "q" else onnx.TensorProto.FLOAT
            moving.append(helper.make_tensor_value_info(*value[:1], element, value[1]))
        elif value is None:
            names.append("")
        else:
            names.append(f"c{place}")
            constants.append(numpy_helper.from_array(numpy.asarray(value), names[-1]))
    outputs = ["y", "unused"] if kind in ("EmbedLayerNormalization", "Attention", "QAttention") else ["y"]
    node = helper.make_node(
        kind, names, outputs[: 2 if kind == "EmbedLayerNormalization" else 1], domain="com.microsoft", **attributes
    )
    graph = helper.make_graph([node], "g", moving, [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)], constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, ir_version=8, opset_imports=opsets)


@pytest.mark.parametrize(
    "case, attributes, words",
    [
        ("Attention", {"num_heads": 0}, "8 columns for 0 heads"),
        ("Attention", {"num_heads": 3}, "8 columns for 3 heads"),
        ("Attention", {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 9]}, "the projection has 24 columns"),
        ("Attention", {"num_heads": 2, "do_rotary": 1}, "rotary embeddings in it are not supported"),
        (
            "FusedConv leaky",
            {"activation": "Clip", "activation_params": [1.0]},
            "the activation 'Clip' with 1 numbers is not supported",
        ),
        ("FusedGemm", {"transB": 1, "activation": "Swirl"}, "the activation 'Swirl' with 0 numbers is not supported"),
        ("QuickGelu", {"beta": 1.0}, "unknown attribute 'beta'"),
    ],
)
def test_forms_that_are_not_known_are_refused(case, attributes, words):
    model = made(case)
    del model.graph.node[0].attribute[:]
    model.graph.node[0].attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    with pytest.raises(AidgeError, match=words):
        import_onnx(model.SerializeToString(), "m", builtin_operators(), {}, {})


def random_inputs(view) -> dict[str, numpy.ndarray]:
    random = numpy.random.default_rng(1)
    return {
        name: random.normal(size=view.tensor(name).dims).astype(F)
        if view.tensor(name).dtype.is_float
        else random.integers(0, 256, view.tensor(name).dims).astype(numpy.uint8)
        for name in view.inputs
    }


@pytest.mark.parametrize("case", sorted(CASES))
def test_an_operator_of_onnxruntime_is_taken_apart_and_keeps_its_value(case):
    onnxruntime = pytest.importorskip("onnxruntime")
    data = made(case).SerializeToString()
    view, _ = import_onnx(data, "m", builtin_operators(), {}, {})
    inputs, simple, left = random_inputs(view), simplify(view), CASES[case][3]
    (theirs,) = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(["y"], inputs)
    for graph in (view, simple):
        ours = graph.tensor("y").data if graph.tensor("y").is_constant else cpu.run(graph, inputs)["y"]
        assert ours.shape == theirs.shape and numpy.allclose(ours, theirs, rtol=1e-5, atol=1e-5), numpy.abs(ours - theirs).max()
    if left is not None:
        assert {node.type for node in simple.nodes} <= left
