# SPDX-License-Identifier: MIT
"""Means of stored bytes that stay float are sums of integers: no tensor of floats has a value for each byte."""

from __future__ import annotations

import cortexm_harness
import harness
import numpy
import pytest
from random_tensors import Randomness

from aidge_build.adaptation.meta_operator import MetaOperator
from aidge_build.boards import load_board
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import Node, graph_view
from aidge_build.operators.pool import GlobalAveragePooling
from aidge_build.operators.quantize import DequantizeLinear
from aidge_build.operators.reduce import ReduceMean
from tests.compiled import program_of
from tests.qat_models import qat_model

DIMS = [(1, 5, 3, 3), (2, 8, 7, 7), (1, 3, 4), (2, 1, 1, 6), (1, 16, 1, 1)]
TYPE = "MeanOfBytes"


def mean(seed: int, dims: tuple[int, ...], operator, make=harness.case):
    random = Randomness(seed)
    data = Tensor("x", dims, DType.int8)
    numbers = constant("s", numpy.array(random.scale(), numpy.float32)), constant("z", numpy.array(7 * seed - 128, numpy.int8))
    (result,) = operator.infer([data.with_(dtype=DType.float32)])
    tensors = {tensor.name: tensor for tensor in (data, *numbers, Tensor("f", dims, DType.float32))}
    tensors["y"] = Tensor("y", result.dims, DType.float32)
    nodes = [Node("real", DequantizeLinear(0), ("x", "s", "z"), ("f",)), Node("mean", operator, ("f",), ("y",))]
    whole = MetaOperator(TYPE, graph_view(TYPE, nodes, tensors, ["x", "s", "z"], ["y"]))
    return make(whole, [data, *numbers], [random.int8(*dims)])


def means(make=harness.case):
    for seed, dims in enumerate(DIMS):
        yield mean(seed, dims, GlobalAveragePooling(), make)
        yield mean(seed, dims, ReduceMean(tuple(range(2, len(dims))), True), make)


def candidates():
    """For the tests of all kernels."""
    return list(means(cortexm_harness.case))


@pytest.mark.parametrize("flags", [(), ("-std=c99", "-O3", "-Wall", "-Wextra", "-Wconversion", "-Werror")])
def test_sums_of_bytes_are_the_mean_within_tolerance(flags):
    cases = list(means())
    assert harness.far(cases, harness.run(cases, *flags)) == []


def test_a_mean_over_channels_keeps_both_layers():
    with pytest.raises(AssertionError, match="other axes"):
        mean(1, (1, 4, 3, 3), ReduceMean((1,), True)).kernel


@pytest.mark.parametrize("board", ["mps2-an386", "rp2040"])
def test_the_last_map_of_such_a_file_stays_bytes(board):
    made = program_of(qat_model("eager"), "qat.onnx", load_board(board))
    (layer,) = [layer for layer in made.layers if layer.node.type == TYPE]
    assert made.view.tensor(layer.node.inputs[0]).dtype is DType.int8
    assert not any(tensor.dtype is DType.float32 and tensor.elements > 1000 for tensor in _between(made))


def _between(made):
    """Computed tensors that are no inputs."""
    return [made.view.tensor(name) for node in made.view.nodes for name in node.outputs]
