# SPDX-License-Identifier: MIT
"""Trains a small key-word network on the features of the firmware, quantizes it, and puts front end and decision around it.

    python train.py keyword.onnx

The file takes 20 ms of int16 samples and gives a label; it names its states. Seconds, and the same bytes on every run of one
machine (another one may add in another order).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
from aidge_build.quantization import Scheme, quantize
from aidge_build.training import Adam, batches, fit, he
from sounds import LABELS, clips

from aidge_build import frontend, net
from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.dtype import DType

FRONT = frontend.LogMel(rate=8000, window=240, hop=160, bands=20, lowest=100.0)
STORED = FRONT.fixed(scale=0.0625, zero_point=48)  # the logarithms from -11 to 4.9
FRAMES, BATCH, EPOCHS, RATE = 25, 25, 6, 0.01
WEIGHTS = {"conv1": (8, 1, 3, 3), "conv2": (16, 8, 3, 3), "conv3": (16, 16, 3, 3), "classifier": (len(LABELS), 16)}


def features(pcm: numpy.ndarray) -> numpy.ndarray:
    """What the network sees of sounds, float32 [count, 1, FRAMES, bands]: the bits of the firmware, as real numbers."""
    return STORED.real(STORED.features(pcm))[:, None]


def network(parameters: dict[str, numpy.ndarray], size: int) -> tuple[net.Graph, net.Value]:
    """The graph for so many sounds, and its scores."""
    graph = net.Graph("keyword")
    p = {name: graph.parameter(name, values) for name, values in parameters.items()}
    hidden = graph.input("features", (size, 1, FRAMES, FRONT.bands))
    for name in ("conv1", "conv2", "conv3"):
        hidden = net.Relu(net.Conv(hidden, p[f"{name}_weights"], p[f"{name}_bias"], pads=[1, 1, 1, 1], strides=[2, 2]))
    mean = net.Flatten(net.GlobalMaxPool(hidden))
    return graph, net.Gemm(mean, p["classifier_weights"], p["classifier_bias"], transB=1)


def trained(sounds: numpy.ndarray, labels: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """The parameters after EPOCHS, while the rate falls to zero."""
    random = numpy.random.default_rng(1)
    first = {f"{name}_weights": he(dims, random) for name, dims in WEIGHTS.items()}
    first |= {f"{name}_bias": numpy.zeros(dims[0], numpy.float32) for name, dims in WEIGHTS.items()}
    graph, scores = network(first, BATCH)
    wanted = graph.input("labels", (BATCH,), DType.int64)
    graph.output(net.SoftmaxCrossEntropyLoss(scores, wanted), "loss")
    execution = prepare(graph.view(), exact=True)
    context, optimizer = execution.context(graph.parameters()), Adam(RATE)
    data = {"features": features(sounds), "labels": labels}
    for epoch in range(EPOCHS):
        optimizer.rate = RATE * (1 - epoch / EPOCHS)
        loss = fit(execution, context, optimizer, batches(data, BATCH, random))
        print(f"epoch {epoch + 1} of {EPOCHS}: loss {loss:.3f}")
    return dict(context.params)


def with_ends(parameters: dict[str, numpy.ndarray], seen: numpy.ndarray) -> bytes:
    """The file: the network, quantized by features that it sees, between its front end and its decision."""
    graph, scores = network(parameters, 1)
    graph.output(scores, "scores")
    quantized = quantize(graph.onnx(), {"features": seen[:, None]}, Scheme())
    # The network's input has a scale of its own now: the front end in the file stores its features by that one.
    front = frontend.with_audio(quantized, frontend.fixed_for(quantized, FRONT), hops=1)
    return frontend.with_decision(front, average=2)


def main() -> None:
    sounds, labels = clips(500, seed=1)
    Path(sys.argv[1]).write_bytes(with_ends(trained(sounds, labels), features(sounds[:100])))


if __name__ == "__main__":
    main()
