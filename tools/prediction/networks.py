# SPDX-License-Identifier: MIT
"""Seeded networks of many kinds, whose layers are measured: none of them is a model that predictions are judged by."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnx import ModelProto

from tools.prediction.graph import NONE, RELU, RELU6, Graph, Value

MOST_ELEMENTS = 24_000  # of an image between two layers
CHANNELS = (
    *range(3, 17),
    *(18, 20, 21, 24, 25, 27, 28, 32, 33, 36, 37, 40, 45, 48, 51, 56, 64, 72, 80, 96, 112, 128, 160, 192, 256),
)
ALL_STEPS = tuple("point point point depth depth dense dense sum pool pool gate gate curve mean other other other".split())
LINEAR_STEPS = tuple("point point depth depth dense dense dense".split())
CURVES = ("Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "Elu")


def image(graph: Graph) -> None:
    """A chain of convolutions, pools and what stands between them."""
    _image(graph, ALL_STEPS)


def linear(graph: Graph) -> None:
    """A chain of convolutions."""
    _image(graph, LINEAR_STEPS)


def _image(graph: Graph, steps: Sequence[str]) -> None:
    side = int(graph.random.integers(9, 66))
    value = graph.input(1, graph.pick(1, 1, 2, 3, 3, 3, 4), side, max(5, side + int(graph.random.integers(-8, 9))))
    value = graph.convolution(value, graph.pick(*CHANNELS[1:18]), graph.pick((3, 3), (3, 3), (5, 5), (7, 7), (10, 4), (3, 5)),
                              graph.pick(1, 2, 2), activation=graph.pick(RELU, RELU6, NONE))  # fmt: skip
    for _ in range(int(graph.random.integers(7, 14))):
        value = _step(graph, value, graph.pick(*steps))
    _classify(graph, value)


def _step(graph: Graph, value: Value, kind: str) -> Value:
    _, channels, height, width = value.dims
    activation = graph.pick(RELU, RELU, RELU6, NONE)
    fits = tuple(count for count in CHANNELS if count * height * width <= MOST_ELEMENTS) or (4,)
    some = graph.pick(*fits)
    stride = graph.pick(1, 1, 2) if min(height, width) >= 6 else 1
    if kind == "point":
        return graph.convolution(value, some, (1, 1), graph.pick(1, 1, 1, stride), activation=activation)
    if kind == "depth":
        size = graph.pick(3, 3, 5) if min(height, width) >= 5 else 3
        kernel = graph.pick((size, size), (size, size), (size, size), (1, size), (size, 1))
        return graph.convolution(value, channels, kernel, stride, groups=channels, activation=activation)
    if kind == "dense":
        kernel = graph.pick((3, 3), (3, 3), (3, 3), (5, 5), (1, 3), (3, 1), (2, 2)) if min(height, width) >= 5 else (3, 3)
        kernel = kernel if channels * some * height * width <= 400_000 else (1, 3)
        return graph.convolution(
            value, some, kernel, stride, activation=activation, same=min(kernel) == 3 or graph.pick(True, False)
        )
    return _between(graph, value, kind, activation)


def _between(graph: Graph, value: Value, kind: str, activation: str) -> Value:
    """What comes between convolutions."""
    _, channels, height, width = value.dims
    if kind == "sum":
        other = graph.convolution(value, channels, (1, 1), activation=NONE)
        return graph.both(graph.pick("Add", "Add", "Mul"), value, other)
    if kind == "pool" and min(height, width) >= 4:
        size = graph.pick(2, 2, 3)
        return graph.pool(graph.pick("MaxPool", "AveragePool"), value, (size, size), graph.pick(2, 2, 1), graph.pick(0, 0, 1))
    if kind == "gate":
        few = graph.convolution(graph.mean(value, keep=True), max(3, channels // graph.pick(1, 2, 3, 4, 6)), (1, 1))
        gate = graph.curve(graph.pick("Sigmoid", "HardSigmoid"), graph.convolution(few, channels, (1, 1), activation=NONE))
        return graph.both("Mul", value, gate)
    if kind == "mean":
        graph.output(graph.mean(value, keep=True))
        return value
    if kind == "curve":
        return graph.curve(graph.pick(*CURVES), value)
    return _other(graph, value, activation)


def _divisors(channels: int) -> list[int]:
    return [count for count in (2, 3, 4, channels // 2, channels // 4) if count > 1 and channels % count == 0]


def _other(graph: Graph, value: Value, activation: str) -> Value:
    _, channels, height, width = value.dims
    kind = graph.pick("groups", "groups", "dilated", "concat", "double", "double", "transposed", "silu", "clamped", "shuffle")
    if kind == "groups" and channels % 2 == 0:
        parts = graph.pick(*_divisors(channels))
        return graph.convolution(value, channels, graph.pick((3, 3), (1, 1)), groups=parts, activation=activation)
    if kind == "dilated" and min(height, width) >= 6:
        return graph.convolution(value, channels, (3, 3), dilation=2, activation=activation)
    if kind == "concat" and 2 * channels * height * width <= MOST_ELEMENTS:
        return graph.concatenation(value, graph.convolution(value, channels, (1, 1)))
    if kind in ("double", "transposed") and 4 * channels * height * width <= MOST_ELEMENTS:
        return graph.doubled(value, graph.pick("nearest", "linear")) if kind == "double" else graph.transposed(value, channels)
    if kind == "clamped":
        return graph.both("Add", value, graph.convolution(value, channels, (1, 1), activation=NONE), RELU)
    if kind == "shuffle" and channels % 2 == 0:
        split = graph.turned(value, (1, 2, channels // 2, height, width), (0, 2, 1, 3, 4))
        return graph.convolution(graph.reshaped(split, 1, channels, height, width), channels, (1, 1))
    return graph.both("Mul", value, graph.curve("Sigmoid", value))


def _classify(graph: Graph, value: Value) -> None:
    if graph.pick(True, True, False):
        value = graph.mean(value, keep=False)
    elif value.dims[1] * value.dims[2] * value.dims[3] <= 4000:
        value = graph.flat(value)
    else:
        graph.output(value)
        return
    if graph.pick(True, False):
        value = graph.dense(value, graph.pick(16, 25, 32, 64), RELU)
    value = graph.dense(value, int(graph.random.integers(2, 21)))
    graph.output(graph.softmax(value) if graph.pick(True, False) else value)


def column(graph: Graph) -> None:
    """Convolutions over images of one column or one row, without pads."""
    length, is_tall = int(graph.random.integers(24, 120)), graph.pick(True, False)
    value = graph.input(1, graph.pick(8, 16, 30, 40), *((length, 1) if is_tall else (1, length)))
    for _ in range(int(graph.random.integers(6, 11))):
        channels, length = value.dims[1], max(value.dims[2:])
        size = graph.pick(3, 4, 5, 7, 9, 10) if length > 11 else 1
        kernel = (size, 1) if is_tall else (1, size)
        stride = graph.pick(1, 1, 1, 2) if length > 24 else 1
        strides = (stride, 1) if is_tall else (1, stride)
        if graph.pick(True, False):
            value = graph.convolution(value, channels, kernel, strides, groups=channels, same=False)
        else:
            count = graph.pick(*(one for one in CHANNELS if one * length <= MOST_ELEMENTS // 4))
            value = graph.convolution(value, count, graph.pick((1, 1), (1, 1), kernel), same=False)
    _classify(graph, value)


def dense(graph: Graph) -> None:
    """Fully connected layers."""
    value = graph.input(graph.pick(1, 1, 1, 4), graph.pick(5, 12, 30, 64, 100, 130, 196, 320, 490, 640, 784))
    most = graph.pick(20, 256, 256)
    for _ in range(int(graph.random.integers(6, 12))):
        outputs = graph.pick(2, 3, *(count for count in CHANNELS if count <= most))
        value = graph.dense(value, outputs, graph.pick(RELU, RELU, NONE))
    graph.output(value)


def series(graph: Graph) -> None:
    """Convolutions over time."""
    value = graph.input(1, graph.pick(1, 3, 6, 9, 13, 16, 32, 40), int(graph.random.integers(20, 180)))
    for _ in range(int(graph.random.integers(7, 12))):
        _, channels, length = value.dims
        count = graph.pick(*(one for one in CHANNELS if one * length <= MOST_ELEMENTS))
        kind = graph.pick("conv", "conv", "point", "depth", "depth", "sum", "pool", "curve")
        size = graph.pick(3, 3, 5, 7, 9) if length >= 9 else 1
        stride = graph.pick(1, 1, 2) if length > 16 else 1
        if kind == "sum":
            value = graph.both("Add", value, graph.convolution(value, channels, (1,), activation=NONE))
        elif kind == "pool" and length >= 8:
            value = graph.pool(graph.pick("MaxPool", "AveragePool"), value, (2,), 2)
        elif kind == "curve":
            value = graph.curve(graph.pick(*CURVES), value)
        elif kind == "depth":
            value = graph.convolution(value, channels, (size,), stride, groups=channels)
        else:
            value = graph.convolution(
                value, count, (size if kind == "conv" else 1,), stride, dilation=graph.pick(1, 1, 2) if size == 3 else 1
            )
    value = graph.dense(graph.mean(value, keep=False), int(graph.random.integers(2, 13)))
    graph.output(graph.softmax(value))


def attention(graph: Graph) -> None:
    """Blocks of a transformer."""
    heads, width, length = graph.pick(1, 2, 3, 4), graph.pick(4, 8, 12, 16, 21, 24, 32), int(graph.random.integers(4, 60))
    size = heads * width
    value = graph.input(1, length, size)
    for _ in range(2):
        inside = graph.normalized(value)
        first, second, third = (graph.dense(inside, size) for _ in range(3))
        split = (1, length, heads, width)
        first, second = graph.turned(first, split, (0, 2, 1, 3)), graph.turned(second, split, (0, 2, 3, 1))
        scores = graph.softmax(graph.product(first, second))
        mixed = graph.product(scores, graph.turned(third, split, (0, 2, 1, 3)))
        mixed = graph.reshaped(graph.turned(mixed, mixed.dims, (0, 2, 1, 3)), 1, length, size)
        value = graph.both("Add", value, graph.dense(mixed, size))
        hidden = graph.dense(graph.normalized(value), graph.pick(1, 2, 3) * size, RELU)
        if graph.pick(True, False):
            hidden = graph.curve("Tanh", hidden)
        value = graph.both("Add", value, graph.dense(hidden, size))
    graph.output(graph.dense(value, int(graph.random.integers(2, 12))))


def rare(graph: Graph) -> None:
    """Pools over whole maps in other orders, moves, resizing, small classifiers: each on an image of its own."""
    for _ in range(5):
        channels, height, width = graph.pick(*CHANNELS[:24]), *(int(size) for size in graph.random.integers(3, 26, 2))
        value = graph.convolution(graph.input(1, graph.pick(2, 3, 4, 8), height, width), channels, (1, 1), activation=RELU)
        kind = graph.pick("stepped", "stepped", "stepped", "linear", "nearest", "concat", "heads", "transposed", "pool", "rows")
        if kind == "stepped":
            step = graph.pick([height, width], [2, 2])
            name = graph.node("AveragePool", [value.name], kernel_shape=[height, width], strides=step)
            pooled = graph.stored(name, (1, channels, 1, 1), value.scale * graph.pick(1.0, 0.5, 0.7), -100)
            graph.output(graph.dense(graph.flat(pooled), int(graph.random.integers(2, 13))))
        elif kind in ("linear", "nearest"):
            graph.output(graph.convolution(graph.doubled(value, kind), graph.pick(4, 8, 13), (1, 1)))
        elif kind == "concat":
            graph.output(graph.concatenation(value, graph.convolution(value, graph.pick(*CHANNELS[:20]), (1, 1))))
        elif kind == "heads":
            graph.output(graph.softmax(graph.dense(graph.mean(value, keep=False), int(graph.random.integers(2, 30)))))
        elif kind == "transposed":
            graph.output(graph.transposed(value, graph.pick(*CHANNELS[:16])))
        elif kind == "pool":
            size, pad = graph.pick(2, 3), graph.pick(0, 1)
            graph.output(graph.pool(graph.pick("MaxPool", "AveragePool"), value, (size, size), graph.pick(1, 2), pad))
        else:
            graph.output(
                graph.both(graph.pick("Add", "Mul"), value, graph.convolution(value, channels, (1, 1), activation=NONE), RELU)
            )


def plain(graph: Graph) -> None:
    """What the contract of TensorFlow Lite covers: fully connected layers, or convolutions, sums, and a mean with its input's
    quantization."""
    if graph.pick(True, False, False):
        dense(graph)
        return
    side = int(graph.random.integers(7, 40))
    value = graph.convolution(graph.input(1, graph.pick(1, 3), side, side), graph.pick(*CHANNELS[1:18]), (3, 3), graph.pick(1, 2))
    for _ in range(int(graph.random.integers(4, 9))):
        value = _step(graph, value, graph.pick(*LINEAR_STEPS, "sum"))
    value = graph.convolution(value, graph.pick(*CHANNELS[6:36]), (1, 1), activation=RELU6)
    mean = graph.stored(graph.node("GlobalAveragePool", [value.name]), (*value.dims[:2], 1, 1), value.scale, -128)
    graph.output(graph.softmax(graph.dense(graph.flat(mean), int(graph.random.integers(2, 13)))))


def pooled(graph: Graph) -> None:
    """Convolutions with a 2x2 max pool after each."""
    side = int(graph.random.integers(16, 48))
    value = graph.input(1, graph.pick(1, 2, 3), side, side + int(graph.random.integers(0, 9)))
    while min(value.dims[2:]) >= 5:
        kernel = graph.pick((3, 3), (3, 3), (5, 5), (2, 2), (1, 3))
        count = graph.pick(4, 8, 12, 16, 24, 32)
        value = graph.convolution(value, count, kernel, activation=graph.pick(RELU, RELU6, NONE), same=min(kernel) == 3)
        value = graph.pool("MaxPool", value, (2, 2), 2)
    _classify(graph, value)


KINDS: tuple[Callable[[Graph], None], ...] = (image, linear, image, linear, dense, series, column, attention)  # in turn


def network(seed: int, quantized: bool, kind: str = "") -> ModelProto:
    """The network of this seed: of the `KINDS` in turn, "uniform" ones with one scale for all channels, "narrow" ones with
    weights of few bits; or a `rare`, a `plain` or a `pooled` one."""
    graph = Graph(seed, quantized, shares_scales=kind == "uniform", is_narrow=kind == "narrow")
    ({"rare": rare, "plain": plain, "pooled": pooled}.get(kind) or KINDS[seed % len(KINDS)])(graph)
    return graph.model()
