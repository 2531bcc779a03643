# SPDX-License-Identifier: MIT
"""`--rounding any`: the graph means the default contract; kernels may round as their library does, not as another contract."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aidge_build.build.inputs import find_libraries, load_libraries
from aidge_build.contract.library import Library
from aidge_build.contract.spec import ImplSpec, NodeView
from aidge_build.graph.dtype import DType
from aidge_build.graph.view import Node
from aidge_build.operators.matmul import FC
from aidge_build.operators.pool import GlobalAveragePooling
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.match import Target
from tests.quantized_graphs import QuantizedGraph


@pytest.fixture(scope="module")
def ref() -> Library:
    return load_libraries(["ref"], find_libraries([]))[0][0]


def layers() -> QuantizedGraph:
    """A convolution, a depthwise one, a mean of the map."""
    made = QuantizedGraph((1, 3, 5, 5))
    made.add(GlobalAveragePooling(), made.convolution(made.convolution("x", 4), 4, 3, depthwise=True), zero_point=3)
    return made


def fully_connected(dtype: DType) -> NodeView:
    made = QuantizedGraph((1, 5), zero_point=0)
    made.fully_connected("x", 3, zero_point=0, with_bias=False)
    data, weights, output = (tensor if tensor.is_constant else tensor.with_(dtype=dtype) for tensor in made.tensors.values())
    return NodeView(Node("fc", FC(), (data.name, weights.name), (output.name,)), (data, weights), (output,)).before_orders()


def test_a_quantized_graph_gets_the_kernels_of_the_default_contract(ref):
    view = layers().view("t3")
    found = [adapt_to_backend(view, (ref,), Target(rounding=rounding)).choices for rounding in ("onnx", "any")]
    chosen = [{name: choice.kernel and choice.kernel.name for name, choice in choices.items()} for choices in found]
    assert chosen[0] == chosen[1] and len(chosen[0]) >= 3


@pytest.mark.parametrize("dtype", [DType.int8, DType.int16])
def test_every_kernel_of_a_fully_connected_layer_answers(ref, dtype):
    node = fully_connected(dtype)
    reasons = {kernel.name: kernel.rejection(node, (), "any") for kernel in ref.kernels_for("FC", FC().kinds())}
    assert {"rounds as 'double', the build wants 'any'"} <= set(reasons.values())


def test_a_kernel_that_rounds_as_its_own_library_does_is_allowed():
    node = fully_connected(DType.int8)
    found = [ImplSpec(rounding=rounding).misfit(node, (), "any") for rounding in ("onnx", "any", "own", "double")]
    assert found[:3] == ["", "", ""] and found[3]
    kept = tuple(tensor.with_(quantization=replace(tensor.quantization, rounding="double")) for tensor in node.outputs)
    assert ImplSpec(rounding="double").misfit(replace(node, outputs=kept), (), "double") == ""


def test_the_graph_has_the_contract_of_the_build_or_onnx_where_kernels_have_their_own():
    assert [Target(rounding=rounding).contract for rounding in ("onnx", "double", "any")] == ["onnx", "double", "onnx"]
