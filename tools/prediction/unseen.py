# SPDX-License-Identifier: MIT
"""Eight networks to judge predictions by. No table is fitted to them, and nobody chose them by how they are predicted."""

from __future__ import annotations

from collections.abc import Callable

from tools.prediction.graph import NONE, RELU, RELU6, Graph, Value


def bottlenecks(graph: Graph) -> None:
    """Images: inverted bottlenecks with 3x3 and 5x5 windows, some with a gate, and sums around those that keep their shape."""
    value = graph.convolution(graph.input(1, 3, 56, 56), 12, (3, 3), 2, activation=RELU6)
    for channels, times, size, stride, is_gated in (
        (12, 1, 3, 1, False),
        (20, 4, 5, 2, True),
        (20, 3, 5, 1, True),
        (36, 4, 3, 2, False),
        (36, 3, 3, 1, False),
        (68, 4, 5, 2, True),
    ):
        inside = value.dims[1] * times
        wide = graph.convolution(value, inside, (1, 1), activation=RELU6)
        wide = graph.convolution(wide, inside, (size, size), stride, groups=inside, activation=RELU6)
        if is_gated:
            gate = graph.convolution(graph.mean(wide, keep=True), inside // 4, (1, 1))
            gate = graph.curve("HardSigmoid", graph.convolution(gate, inside, (1, 1), activation=NONE))
            wide = graph.both("Mul", wide, gate)
        after = graph.convolution(wide, channels, (1, 1), activation=NONE)
        value = graph.both("Add", value, after) if after.dims == value.dims else after
    graph.output(graph.softmax(graph.dense(graph.mean(value, keep=False), 17)))


def autoencoder(graph: Graph) -> None:
    """Fully connected layers, narrow in the middle."""
    value = graph.input(1, 420)
    for outputs in (150, 100, 44, 12, 44, 100, 150):
        value = graph.dense(value, outputs, RELU)
    graph.output(graph.dense(value, 420))


def activity(graph: Graph) -> None:
    """Six channels over time: convolutions with growing dilation, sums around them."""
    value = graph.convolution(graph.input(1, 6, 150), 22, (7,), 2)
    for dilation in (1, 2, 4, 8):
        inside = graph.convolution(value, 22, (3,), dilation=dilation)
        value = graph.both("Add", value, graph.convolution(inside, 22, (1,), activation=NONE), RELU)
    value = graph.convolution(graph.pool("MaxPool", value, (2,), 2), 40, (5,))
    graph.output(graph.softmax(graph.dense(graph.mean(value, keep=False), 7)))


def fires(graph: Graph) -> None:
    """Images: few channels, then 1x1 and 3x3 windows side by side, concatenated."""
    value = graph.pool("MaxPool", graph.convolution(graph.input(1, 1, 48, 40), 16, (5, 5), 2), (2, 2), 2)
    for few, many in ((6, 14), (8, 18), (12, 26)):
        few_channels = graph.convolution(value, few, (1, 1))
        both = graph.convolution(few_channels, many, (1, 1)), graph.convolution(few_channels, many, (3, 3))
        value = graph.concatenation(*both)
        if value.dims[1] == 36:
            value = graph.pool("MaxPool", value, (2, 2), 2)
    graph.output(graph.mean(graph.convolution(value, 9, (1, 1)), keep=False))


def outlines(graph: Graph) -> None:
    """Images: down, and up again with what was there before beside it."""
    value = graph.input(1, 3, 40, 40)
    beside: list[Value] = []
    for channels in (10, 18):
        value = graph.convolution(graph.convolution(value, channels, (3, 3)), channels, (3, 3))
        beside.append(value)
        value = graph.pool("AveragePool", value, (2, 2), 2)
    value = graph.convolution(value, 30, (3, 3))
    for before in reversed(beside):
        value = graph.concatenation(graph.transposed(value, before.dims[1]), before)
        value = graph.convolution(value, before.dims[1], (3, 3))
    graph.output(graph.convolution(value, 2, (1, 1), activation=NONE))


def leaves(graph: Graph) -> None:
    """Images: 3x3 windows and pools, then fully connected layers over the whole map."""
    value = graph.input(1, 3, 40, 40)
    for channels in (12, 24, 48):
        value = graph.pool("MaxPool", graph.convolution(value, channels, (3, 3)), (2, 2), 2)
    graph.output(graph.dense(graph.dense(graph.flat(value), 64, RELU), 10))


def gestures(graph: Graph) -> None:
    """Six channels over time: windows of each channel, then of one step."""
    value = graph.convolution(graph.input(1, 6, 200), 32, (9,), 2)
    for channels, stride in ((48, 1), (64, 2)):
        value = graph.convolution(value, value.dims[1], (5,), stride, groups=value.dims[1])
        value = graph.convolution(value, channels, (1,))
    graph.output(graph.dense(graph.dense(graph.mean(value, keep=False), 100, RELU), 7))


def faces(graph: Graph) -> None:
    """Grey images: depthwise and 1x1 windows, sums where the channels stay."""
    value = graph.convolution(graph.input(1, 1, 64, 64), 8, (3, 3), 2)
    for channels, stride in ((16, 1), (32, 2), (32, 1), (56, 2), (56, 1)):
        after = graph.convolution(value, value.dims[1], (3, 3), stride, groups=value.dims[1])
        after = graph.convolution(after, channels, (1, 1), activation=NONE if value.dims[1] == channels else RELU)
        value = graph.both("Add", value, after) if value.dims == after.dims else after
    value = graph.mean(graph.convolution(value, 88, (1, 1)), keep=False)
    graph.output(graph.softmax(graph.dense(value, 2)))


UNSEEN: tuple[Callable[[Graph], None], ...] = (bottlenecks, autoencoder, activity, fires, outlines, leaves, gestures, faces)
