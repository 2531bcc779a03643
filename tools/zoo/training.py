# SPDX-License-Identifier: MIT
"""Networks of the zoo, trained by `aidge_build.training` to the same bytes on every machine.

CPUs add the terms of a sum in different orders, and training amplifies the last bits. Three things keep them out of the file:
data are multiples of a sensor's step; sums are float64, and each step stores its parameters in float32; after each epoch
parameters are rounded to multiples of 2^-14. A sum so near to the middle of two float32 numbers that another CPU rounds it
otherwise is possible, and was not seen: docs/zoo.md has the measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy

from aidge_build import net
from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.dtype import DType
from aidge_build.prepare.training import Adam, batches, fit, he

GRID = 2.0**14
BATCH = 32
Parameters = Mapping[str, numpy.ndarray]
Network = Callable[[net.Value, Mapping[str, net.Value]], net.Value]


@dataclass(frozen=True, eq=False)
class Task:
    """Samples `x` float32 [sample, ...], `wanted` classes int64 [sample, ...] or real targets float32, and the network for them.
    `dims` are the weights by name; each has a bias, one value for an output."""

    name: str
    x: numpy.ndarray
    wanted: numpy.ndarray
    network: Network
    dims: Mapping[str, tuple[int, ...]]
    epochs: int
    rate: float = 0.01


def over_time(x: net.Value, p: Mapping[str, net.Value]) -> net.Value:
    """Three convolutions over time, each of which halves it, and a layer that sees all of them."""
    for name in ("conv1", "conv2", "conv3"):
        width = p[f"{name}_weights"].dims[2] // 2
        x = net.Relu(net.Conv(x, p[f"{name}_weights"], p[f"{name}_bias"], pads=[width, width], strides=[2]))
    return net.Gemm(net.Flatten(x), p["classifier_weights"], p["classifier_bias"], transB=1)


def on_grid(values: numpy.ndarray, step: float = 1 / GRID) -> numpy.ndarray:
    """The values rounded to multiples of the step."""
    return numpy.rint(values / step) * step


def trained(task: Task, seed: int) -> dict[str, numpy.ndarray]:
    """The parameters after all epochs, while the rate falls to zero."""
    random = numpy.random.default_rng(seed)
    first = {f"{name}_weights": he(dims, random) for name, dims in task.dims.items()}
    first |= {f"{name}_bias": numpy.zeros(dims[0], numpy.float32) for name, dims in task.dims.items()}
    graph, output = _graph(task, first, BATCH)
    if task.wanted.dtype.kind == "i":
        wanted = graph.input("wanted", (BATCH, *task.wanted.shape[1:]), DType.int64)
        loss = net.SoftmaxCrossEntropyLoss(output, wanted)
    else:
        difference = net.Sub(output, graph.input("wanted", (BATCH, *task.wanted.shape[1:])))
        loss = net.ReduceMean(net.Mul(difference, difference), keepdims=0)
    graph.output(loss, "loss")
    execution = prepare(graph.view(), exact=True)
    context, optimizer = execution.context(dict(graph.parameters())), Adam(task.rate)
    for epoch in range(task.epochs):
        optimizer.rate = task.rate * (1 - epoch / task.epochs)
        reached = fit(execution, context, optimizer, batches({"x": task.x, "wanted": task.wanted}, BATCH, random))
        for name, values in context.params.items():
            context.params[name] = on_grid(values)
    print(f"{task.name}: loss {reached:.4f} after {task.epochs} epochs")
    return {name: values.astype(numpy.float32) for name, values in context.params.items()}


def float_file(task: Task, parameters: Parameters) -> bytes:
    """The network for one sample, in float32."""
    graph, output = _graph(task, parameters, 1)
    graph.output(output, "y")
    return graph.onnx()


def _graph(task: Task, parameters: Parameters, size: int) -> tuple[net.Graph, net.Value]:
    graph = net.Graph(task.name)
    known = {name: graph.parameter(name, values) for name, values in parameters.items()}
    return graph, task.network(graph.input("x", (size, *task.x.shape[1:])), known)
