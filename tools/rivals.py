# SPDX-License-Identifier: MIT
"""Seeded networks of layers that several kernels of a core compute about as fast: for them a table has comparisons."""

from __future__ import annotations

from onnx import ModelProto

from tools.prediction.graph import NONE, RELU, RELU6, Graph, Value

LAYERS = 9  # of a network, each on an image of its own
WIDTHS = (8, 12, 16, 20, 24, 28, 32, 40, 48, 64)
KINDS = tuple("strided strided strided same same same pixel gate gate product double".split())


def rivals(seed: int) -> ModelProto:
    """The network of this seed, in int8."""
    graph = Graph(seed, quantized=True)
    for _ in range(LAYERS):
        _layer(graph, graph.pick(*KINDS))
    return graph.model()


def _layer(graph: Graph, kind: str) -> None:
    activation = graph.pick(RELU, RELU6, NONE)
    if kind == "pixel":
        source = graph.input(1, int(graph.random.integers(3, 100)), 1, 1)
        graph.output(graph.convolution(source, int(graph.random.integers(3, 100)), (1, 1), activation=activation))
        return
    value = graph.input(1, graph.pick(*WIDTHS), *(int(size) for size in graph.random.integers(5, 21, 2)))
    if kind == "strided":
        size = graph.pick(1, 1, 3, 3, 3, 5)
        graph.output(graph.convolution(value, graph.pick(*WIDTHS), (size, size), 2, activation=activation))
    elif kind == "same":
        size = graph.pick((3, 3), (3, 3), (3, 3), (5, 5), (1, 3), (3, 1), (2, 2))
        graph.output(graph.convolution(value, graph.pick(*WIDTHS), size, activation=activation, same=min(size) != 2))
    elif kind == "gate":
        graph.output(graph.both("Mul", value, _one_number_each(graph, value)))
    elif kind == "product":
        graph.output(graph.both("Mul", value, graph.curve("Sigmoid", value)))
    else:
        graph.output(graph.doubled(value, graph.pick("nearest", "nearest", "linear")))


def _one_number_each(graph: Graph, value: Value) -> Value:
    return graph.curve("Sigmoid", graph.input(1, value.dims[1], 1, 1))
