# SPDX-License-Identifier: MIT
"""Six networks for which no table was tuned: what their builders wrote down before anything was measured."""

from __future__ import annotations

from collections.abc import Callable

from onnx import ModelProto

from tools.prediction.graph import NONE, RELU, RELU6, Graph, Value


def _gated(graph: Graph, value: Value, few: int, curve: str) -> Value:
    """Squeeze and excite: each channel times a number between 0 and 1 that follows from the means of all."""
    squeezed = graph.convolution(graph.mean(value, keep=True), few, (1, 1), activation=RELU)
    opened = graph.convolution(squeezed, value.dims[1], (1, 1), activation=NONE)
    return graph.both("Mul", value, graph.curve(curve, opened))


def _inverted(graph: Graph, value: Value, wide: int, channels: int, size: int, stride: int, gate: str, act: str) -> Value:
    """An inverted residual: wider, depthwise, gated, narrower, and the sum with what came in where the dims agree."""

    def active(one: Value) -> Value:
        return graph.curve("HardSwish", one) if act == "HardSwish" else one

    first = RELU if act == RELU else NONE
    inside = active(graph.convolution(value, wide, (1, 1), activation=first)) if wide != value.dims[1] else value
    inside = active(graph.convolution(inside, wide, (size, size), stride, groups=wide, activation=first))
    if gate:
        inside = _gated(graph, inside, max(8, wide // 4), gate)
    out = graph.convolution(inside, channels, (1, 1), activation=NONE)
    return graph.both("Add", value, out) if out.dims == value.dims else out


def mobilenet_v3(graph: Graph) -> None:
    """MobileNetV3-like: 64x64x3, squeeze and excite by HardSigmoid, HardSwish in the later half."""
    value = graph.curve("HardSwish", graph.convolution(graph.input(1, 3, 64, 64), 8, (3, 3), 2, activation=NONE))
    rows = (
        (8, 8, 3, 2, "HardSigmoid", RELU),
        (32, 12, 3, 2, "", RELU),
        (44, 12, 3, 1, "", RELU),
        (48, 20, 5, 2, "HardSigmoid", "HardSwish"),
        (80, 20, 5, 1, "HardSigmoid", "HardSwish"),
        (60, 24, 5, 1, "HardSigmoid", "HardSwish"),
        (96, 48, 5, 2, "HardSigmoid", "HardSwish"),
    )
    for wide, channels, size, stride, gate, act in rows:
        value = _inverted(graph, value, wide, channels, size, stride, gate, act)
    value = graph.curve("HardSwish", graph.convolution(value, 144, (1, 1), activation=NONE))
    value = graph.dense(graph.mean(value, keep=False), 96, RELU)
    graph.output(graph.softmax(graph.dense(value, 10)))


def efficientnet(graph: Graph) -> None:
    """EfficientNet-like: 48x48x3, every block gated by a Sigmoid."""
    value = graph.convolution(graph.input(1, 3, 48, 48), 16, (3, 3), 2, activation=RELU6)
    rows = ((16, 8, 3, 1), (48, 12, 3, 2), (72, 12, 3, 1), (72, 20, 5, 2), (120, 20, 5, 1), (120, 40, 3, 2), (240, 40, 3, 1))
    for wide, channels, size, stride in rows:
        value = _inverted(graph, value, wide, channels, size, stride, "Sigmoid", RELU)
    value = graph.convolution(value, 160, (1, 1), activation=RELU6)
    graph.output(graph.softmax(graph.dense(graph.mean(value, keep=False), 12)))


def unet(graph: Graph) -> None:
    """A U-Net of two levels: 48x48x1, a map of three classes."""
    first = graph.convolution(graph.input(1, 1, 48, 48), 8, (3, 3))
    first = graph.convolution(first, 8, (3, 3))
    second = graph.convolution(graph.pool("MaxPool", first, (2, 2), 2), 16, (3, 3))
    second = graph.convolution(second, 16, (3, 3))
    third = graph.convolution(graph.pool("MaxPool", second, (2, 2), 2), 24, (3, 3))
    third = graph.convolution(third, 24, (3, 3))
    value = graph.concatenation(graph.transposed(third, 16), second)
    value = graph.convolution(graph.convolution(value, 16, (3, 3)), 16, (3, 3))
    value = graph.concatenation(graph.doubled(value, "nearest"), first)
    value = graph.convolution(value, 8, (3, 3))
    graph.output(graph.convolution(value, 3, (1, 1), activation=NONE))


def temporal(graph: Graph) -> None:
    """A temporal net: 40 features at 98 moments, dilated convolutions with residual sums, and a gate over all moments."""
    value = graph.convolution(graph.input(1, 40, 98, 1), 24, (1, 1), activation=RELU)
    for dilation in (1, 2, 4):
        inside = graph.convolution(value, 24, (9, 1), dilation=1, groups=24, activation=RELU)
        inside = graph.convolution(inside, 36, (1, 1), activation=RELU)
        inside = graph.convolution(inside, 24, (3, 1), dilation=dilation, activation=NONE)
        value = graph.both("Add", value, inside, RELU)
    value = _gated(graph, value, 8, "Sigmoid")
    graph.output(graph.softmax(graph.dense(graph.mean(value, keep=False), 11)))


def transformer(graph: Graph) -> None:
    """A transformer encoder of two blocks: 32 places of 48 values, three heads."""
    length, size, heads = 32, 48, 3
    value = graph.input(1, length, size)
    for _ in range(2):
        inside = graph.normalized(value)
        split = (1, length, heads, size // heads)
        asked, key, held = (graph.dense(inside, size) for _ in range(3))
        scores = graph.softmax(graph.product(graph.turned(asked, split, (0, 2, 1, 3)), graph.turned(key, split, (0, 2, 3, 1))))
        mixed = graph.product(scores, graph.turned(held, split, (0, 2, 1, 3)))
        mixed = graph.reshaped(graph.turned(mixed, mixed.dims, (0, 2, 1, 3)), 1, length, size)
        value = graph.both("Add", value, graph.dense(mixed, size))
        hidden = graph.dense(graph.normalized(value), 3 * size, RELU)
        value = graph.both("Add", value, graph.dense(hidden, size))
    graph.output(graph.dense(value, 6))


def residual(graph: Graph) -> None:
    """A residual net: 64x64x3, four blocks, those that halve the image with a convolution beside them."""
    value = graph.convolution(graph.input(1, 3, 64, 64), 16, (3, 3))
    for channels, stride in ((16, 1), (32, 2), (48, 2), (64, 2)):
        inside = graph.convolution(graph.convolution(value, channels, (3, 3), stride), channels, (3, 3), activation=NONE)
        beside = value if stride == 1 else graph.convolution(value, channels, (1, 1), stride, activation=NONE)
        value = graph.both("Add", inside, beside, RELU)
    graph.output(graph.softmax(graph.dense(graph.mean(value, keep=False), 10)))


NETWORKS: tuple[Callable[[Graph], None], ...] = (mobilenet_v3, efficientnet, unet, temporal, transformer, residual)


def untuned(network: Callable[[Graph], None]) -> ModelProto:
    """The network in int8, with seeded weights."""
    graph = Graph(20261123 + NETWORKS.index(network), quantized=True)
    network(graph)
    return graph.model()
