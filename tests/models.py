# SPDX-License-Identifier: MIT
"""Small ONNX models for tests, written as the text that onnx.parser reads, and the graphs and values of models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy
import onnx
from onnx import helper, numpy_helper

from aidge_build.contract.reference import cpu
from aidge_build.graph.view import GraphView
from aidge_build.operators import builtin_operators
from aidge_build.sources.formats.onnx.importer import import_onnx


def model(
    text: str, *, inputs: str, outputs: str, constants: Mapping[str, numpy.ndarray] | None = None, opset: int = 17
) -> bytes:
    """A model from node lines ("y = Relu(x)") and signatures ("float[1,3] x")."""
    graph = onnx.parser.parse_graph(f"test ({inputs}) => ({outputs}) {{ {text} }}")
    graph.initializer.extend(numpy_helper.from_array(numpy.asarray(values), name) for name, values in (constants or {}).items())
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    return made.SerializeToString()


def graph(text: str, **keywords) -> GraphView:
    """The imported graph of such a model."""
    view, _ = import_onnx(model(text, **keywords), "test.onnx", builtin_operators(), {}, {})
    return view


def types(view: GraphView) -> list[str]:
    return [node.type for node in view.nodes]


def same_meaning(first: GraphView, second: GraphView, seed: int = 0, relative: float = 1e-6) -> bool:
    """Whether both graphs compute the same outputs from random inputs: integers exactly, floats within rounding."""
    random = numpy.random.default_rng(seed)
    inputs = {}
    for name in first.inputs:
        tensor = first.tensor(name)
        values = random.normal(size=tensor.dims) * 3 if tensor.dtype.is_float else random.integers(-128, 128, tensor.dims)
        inputs[name] = numpy.asarray(values, tensor.dtype.numpy)
    one, two = cpu.run(first, inputs), cpu.run(second, inputs)
    for name in first.outputs:
        if one[name].dtype.kind == "f":
            if not numpy.allclose(
                one[name], two[name], rtol=relative, atol=relative * max(1.0, float(numpy.abs(one[name]).max()))
            ):
                return False
        elif not numpy.array_equal(one[name], two[name]):
            return False
    return True
