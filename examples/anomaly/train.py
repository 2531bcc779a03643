# SPDX-License-Identifier: MIT
"""Trains an autoencoder on windows of a sound machine:   python train.py anomaly.onnx

The file takes raw samples and gives one number: a transform of 128 samples as a product of matrices, the logarithms of 32 bands,
an autoencoder of 32-12-4-12-32, and its mean squared error. The number is above 0 where only one in a hundred windows of the
sound machine has a larger error. numpy and onnx alone.

CPUs add the terms of a product in different orders, and training amplifies the last bits. So data and parameters are rounded to
multiples of 2^-14, parameters each 100 steps: the same bytes come out on other machines.
"""

from __future__ import annotations

import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from vibration import SAMPLES, windows

BANDS, SIZES = 32, (32, 12, 4, 12, 32)
LEAST = 1e-3  # below it a power is noise
STEPS, BATCH, RATE = 3000, 64, 0.003


def on_grid(values: numpy.ndarray) -> numpy.ndarray:
    """The values rounded to multiples of 2^-14."""
    return numpy.rint(values * 2.0**14) / 2.0**14


def transform() -> numpy.ndarray:
    """[SAMPLES, 2 BANDS]: cosines, then sines, under a Hann window."""
    time = numpy.arange(SAMPLES)
    angle = 2 * numpy.pi * time[:, None] * numpy.arange(1, BANDS + 1)[None] / SAMPLES
    hann = (0.5 - 0.5 * numpy.cos(2 * numpy.pi * (time + 0.5) / SAMPLES))[:, None] * 4 / SAMPLES
    return numpy.concatenate([numpy.cos(angle) * hann, numpy.sin(angle) * hann], axis=1).astype(numpy.float32)


def spectrum(samples: numpy.ndarray) -> numpy.ndarray:
    """What the network sees of windows: the logarithms of the power in each band."""
    parts = (samples.astype(numpy.float64) @ transform()) ** 2
    return on_grid(numpy.log(parts[:, :BANDS] + parts[:, BANDS:] + LEAST))


def trained(data: numpy.ndarray, seed: int) -> list[tuple[numpy.ndarray, numpy.ndarray]]:
    """Weights and biases of the layers: Adam on the mean squared error."""
    random = numpy.random.Generator(numpy.random.PCG64(seed))
    layers = [
        [random.normal(0, (2 / rows) ** 0.5, (rows, columns)), numpy.zeros(columns)]
        for rows, columns in zip(SIZES, SIZES[1:], strict=False)
    ]
    moments = [[[numpy.zeros_like(p), numpy.zeros_like(p)] for p in layer] for layer in layers]
    for step in range(1, STEPS + 1):
        values = [data[random.integers(0, len(data), BATCH)]]
        for index, (weights, bias) in enumerate(layers):
            sums = values[-1] @ weights + bias
            values.append(sums if index == len(layers) - 1 else numpy.maximum(sums, 0))
        gradient = 2 * (values[-1] - values[0]) / values[0].size
        for index in reversed(range(len(layers))):
            weights, _ = layers[index]
            found = [values[index].T @ gradient, gradient.sum(axis=0)]
            gradient = gradient @ weights.T * (values[index] > 0)
            for parameter, moment, change in zip(layers[index], moments[index], found, strict=True):
                moment[0] += 0.1 * (change - moment[0])
                moment[1] += 0.001 * (change**2 - moment[1])
                mean, square = moment[0] / (1 - 0.9**step), moment[1] / (1 - 0.999**step)
                parameter -= RATE * mean / (numpy.sqrt(square) + 1e-8)
                if step % 100 == 0:
                    parameter[...] = on_grid(parameter)
    return [(weights, bias) for weights, bias in layers]


def errors(data: numpy.ndarray, layers: list[tuple[numpy.ndarray, numpy.ndarray]]) -> numpy.ndarray:
    """The mean squared error of each reconstruction."""
    value = data
    for index, (weights, bias) in enumerate(layers):
        value = value @ weights + bias
        if index < len(layers) - 1:
            value = numpy.maximum(value, 0)
    return ((value - data) ** 2).mean(axis=1)


def model(
    layers: list[tuple[numpy.ndarray, numpy.ndarray]], mean: numpy.ndarray, deviation: float, alarm: float
) -> onnx.ModelProto:
    """Samples in, a score out: 0 where the error is `alarm`, 1 where it is twice that."""
    constants = {"transform": transform(), "least": [LEAST], "mean": mean, "gain": [1 / deviation], "axes": numpy.array([1])}
    constants |= {"per_alarm": [1 / alarm], "one": [1]}
    nodes = [
        helper.make_node("MatMul", ["samples", "transform"], ["waves"], "waves"),
        helper.make_node("Mul", ["waves", "waves"], ["squares"], "squares"),
        helper.make_node("Split", ["squares"], ["cosines", "sines"], "parts", axis=1, num_outputs=2),
        helper.make_node("Add", ["cosines", "sines"], ["power"], "power"),
        helper.make_node("Add", ["power", "least"], ["audible"], "audible"),
        helper.make_node("Log", ["audible"], ["logarithms"], "logarithms"),
        helper.make_node("Sub", ["logarithms", "mean"], ["centred"], "centred"),
        helper.make_node("Mul", ["centred", "gain"], ["spectrum"], "spectrum"),
    ]
    value = "spectrum"
    for index, (weights, bias) in enumerate(layers):
        constants |= {f"weights{index}": weights, f"bias{index}": bias}
        nodes.append(helper.make_node("Gemm", [value, f"weights{index}", f"bias{index}"], [f"sums{index}"], f"dense{index}"))
        value = f"sums{index}"
        if index < len(layers) - 1:
            nodes.append(helper.make_node("Relu", [value], [f"hidden{index}"], f"relu{index}"))
            value = f"hidden{index}"
    nodes += [
        helper.make_node("Sub", [value, "spectrum"], ["error"], "error"),
        helper.make_node("Mul", ["error", "error"], ["squared"], "squared"),
        helper.make_node("ReduceMean", ["squared", "axes"], ["deviation"], "deviation", keepdims=1),
        helper.make_node("Mul", ["deviation", "per_alarm"], ["alarms"], "alarms"),
        helper.make_node("Sub", ["alarms", "one"], ["score"], "score"),
    ]
    graph = helper.make_graph(
        nodes,
        "anomaly",
        [helper.make_tensor_value_info("samples", TensorProto.FLOAT, [1, SAMPLES])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, [1, 1])],
        [
            numpy_helper.from_array(numpy.asarray(values, numpy.int64 if name == "axes" else numpy.float32), name)
            for name, values in constants.items()
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], producer_name="examples/anomaly")
    made.ir_version = 8
    onnx.checker.check_model(made)
    return made


if __name__ == "__main__":
    logarithms = spectrum(windows(1500, seed=1, faulty=False))
    mean, deviation = on_grid(logarithms.mean(axis=0)), float(on_grid(logarithms.std()))
    normal = on_grid((logarithms - mean) / deviation)
    network = trained(normal, seed=2)
    alarm = float(on_grid(numpy.quantile(errors(normal, network), 0.99)))
    with open(sys.argv[1], "wb") as file:
        file.write(model(network, mean, deviation, alarm).SerializeToString(deterministic=True))
