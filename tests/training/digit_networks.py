# SPDX-License-Identifier: MIT
"""Two small networks for 8 x 8 digits, built and trained with the package alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy

from aidge_build import net
from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.dtype import DType
from aidge_build.prepare.training import SGD, fit

BATCH = 32
DIGITS = Path(__file__).resolve().parents[2] / "examples" / "training" / "digits.npz"
Network = Callable[[net.Graph, net.Value, dict[str, numpy.ndarray]], net.Value]


def split() -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Images [count, 1, 8, 8] from 0 to 1 and labels: 1,347 to train on, 450 held out."""
    digits = numpy.load(DIGITS)  # to import scikit-learn for them takes longer than to learn them
    images, labels = (
        numpy.concatenate([digits[f"{part}_{kind}"] for part in ("training", "test")]) for kind in ("images", "labels")
    )
    order = numpy.random.default_rng(0).permutation(len(labels))
    images, labels = images[order, None] / 16.0, labels[order].astype(numpy.int64)
    return images[450:], labels[450:], images[:450], labels[:450]


def initial(network: str, seed: int = 1) -> dict[str, numpy.ndarray]:
    """Weights of a scale that keeps the variance of the values from layer to layer."""
    random = numpy.random.default_rng(seed)
    dims = {
        "mlp": {"w1": (64, 96), "b1": (96,), "w2": (96, 10), "b2": (10,)},
        "cnn": {
            "w1": (8, 1, 3, 3),
            "s1": (8,),
            "b1": (8,),
            "m1": (8,),
            "v1": (8,),
            "w2": (16, 8, 3, 3),
            "b2": (16,),
            "w3": (10, 64),
            "b3": (10,),
        },
    }

    def values(name: str, shape: tuple[int, ...]) -> numpy.ndarray:
        if name[0] != "w":
            return numpy.full(shape, 1.0 if name[0] in "sv" else 0.0)
        terms = shape[0] if network == "mlp" else numpy.prod(shape[1:])
        return random.normal(size=shape) * numpy.sqrt(2 / terms)

    return {name: values(name, shape) for name, shape in dims[network].items()}


def mlp(graph: net.Graph, x: net.Value, params: dict[str, numpy.ndarray], training: bool) -> net.Value:
    """64 - 96 - 10, fully connected."""
    w1, b1, w2, b2 = (graph.parameter(name, params[name]) for name in ("w1", "b1", "w2", "b2"))
    return net.Gemm(net.Relu(net.Gemm(net.Flatten(x), w1, b1)), w2, b2)


def cnn(graph: net.Graph, x: net.Value, params: dict[str, numpy.ndarray], training: bool) -> net.Value:
    """Two convolutions with pools, the first normalized over the batch, and a fully connected layer."""
    p = {name: graph.parameter(name, values) for name, values in params.items()}
    hidden = net.Conv(x, p["w1"], pads=[1, 1, 1, 1])
    hidden = net.Relu(net.BatchNormalization(hidden, p["s1"], p["b1"], p["m1"], p["v1"], training_mode=training))
    hidden = net.Relu(net.Conv(net.MaxPool(hidden, kernel_shape=[2, 2], strides=[2, 2]), p["w2"], p["b2"], pads=[1, 1, 1, 1]))
    hidden = net.Flatten(net.AveragePool(hidden, kernel_shape=[2, 2], strides=[2, 2]))
    return net.Gemm(hidden, p["w3"], p["b3"], transB=1)


NETWORKS = {"mlp": mlp, "cnn": cnn}


def inference_graph(network: str, params: dict[str, numpy.ndarray], batch: int = 1) -> net.Graph:
    """The network alone: images to ten scores."""
    graph = net.Graph(network)
    graph.output(NETWORKS[network](graph, graph.input("x", (batch, 1, 8, 8)), params, False), "scores")
    return graph


def train(
    network: str, images: numpy.ndarray, labels: numpy.ndarray, epochs: int
) -> tuple[dict[str, numpy.ndarray], list[float]]:
    """The trained parameters, and the mean loss of each epoch; the rate falls linearly to zero."""
    graph = net.Graph(network)
    x, wanted = graph.input("x", (BATCH, 1, 8, 8)), graph.input("labels", (BATCH,), DType.int64)
    graph.output(net.SoftmaxCrossEntropyLoss(NETWORKS[network](graph, x, initial(network), True), wanted), "loss")
    execution = prepare(graph.view(), exact=True)
    context = execution.context({name: values.astype(numpy.float64) for name, values in graph.parameters().items()})
    random, first_rate = numpy.random.default_rng(1), 0.1
    optimizer, losses = SGD(first_rate, momentum=0.9, decay=1e-4), []

    def batches() -> Iterator[dict[str, numpy.ndarray]]:
        order = random.permutation(len(images))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            yield {"x": images[chosen], "labels": labels[chosen]}

    for epoch in range(epochs):
        optimizer.rate = first_rate * (1 - epoch / epochs)
        losses.append(fit(execution, context, optimizer, batches()))
    return dict(context.params), losses
