# SPDX-License-Identifier: MIT
"""Trains a small convolutional network on handwritten digits with aidge_build alone, and writes it as a float32 ONNX file.

    python train.py digits.npz digits.onnx

Four seconds; the same bytes on every run of one machine (another one may add in another order).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
from aidge_build.training import Adam, batches, fit, he

from aidge_build import net
from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.dtype import DType

BATCH, EPOCHS, RATE = 64, 10, 0.02
WEIGHTS = {"conv1": (8, 1, 3, 3), "conv2": (16, 8, 3, 3), "classifier": (10, 64)}


def first_parameters(random: numpy.random.Generator) -> dict[str, numpy.ndarray]:
    """Weights that keep the variance of the values, and biases of zero."""
    weights = {f"{name}_weights": he(dims, random) for name, dims in WEIGHTS.items()}
    return weights | {f"{name}_bias": numpy.zeros(dims[0], numpy.float32) for name, dims in WEIGHTS.items()}


def network(parameters: dict[str, numpy.ndarray], size: int) -> tuple[net.Graph, net.Value]:
    """The graph for `size` images [8, 8] with pixels from 0 to 1, and its ten scores."""
    graph = net.Graph("digits")
    p = {name: graph.parameter(name, values) for name, values in parameters.items()}
    hidden = graph.input("image", (size, 1, 8, 8))
    for name in ("conv1", "conv2"):
        hidden = net.Relu(net.Conv(hidden, p[f"{name}_weights"], p[f"{name}_bias"], pads=[1, 1, 1, 1]))
        hidden = net.MaxPool(hidden, kernel_shape=[2, 2], strides=[2, 2])
    return graph, net.Gemm(net.Flatten(hidden), p["classifier_weights"], p["classifier_bias"], transB=1)


def train(images: numpy.ndarray, labels: numpy.ndarray, random: numpy.random.Generator) -> dict[str, numpy.ndarray]:
    """The parameters after EPOCHS over all images, while the rate falls to zero."""
    graph, scores = network(first_parameters(random), BATCH)
    wanted = graph.input("labels", (BATCH,), DType.int64)
    graph.output(net.SoftmaxCrossEntropyLoss(scores, wanted), "loss")
    execution = prepare(graph.view(), exact=True)
    context, optimizer = execution.context(graph.parameters()), Adam(RATE)
    for epoch in range(EPOCHS):
        optimizer.rate = RATE * (1 - epoch / EPOCHS)
        loss = fit(execution, context, optimizer, batches({"image": images, "labels": labels}, BATCH, random))
        print(f"epoch {epoch + 1} of {EPOCHS}: loss {loss:.3f}")
    return dict(context.params)


def main() -> None:
    data = numpy.load(sys.argv[1])
    images = data["training_images"][:, None] / numpy.float32(16)
    parameters = train(images, data["training_labels"].astype(numpy.int64), numpy.random.default_rng(1))
    graph, scores = network(parameters, 1)
    graph.output(scores, "scores")
    Path(sys.argv[2]).write_bytes(graph.onnx())


if __name__ == "__main__":
    main()
