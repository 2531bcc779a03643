# SPDX-License-Identifier: MIT
"""People in a thermal image of 8 x 8 pixels: a convolutional network with weights of 4 bits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy
import onnx

from aidge_build import net
from aidge_build.prepare.quantization import Scheme, quantize
from tools.zoo.made import Arrays, Made, stored
from tools.zoo.training import Task, float_file, on_grid, trained

SEED, STORED = 1, 400
SIDE, MOST_PEOPLE = 8, 3
STEP, WARMEST = 0.25, 16.0  # kelvins above the coldest pixel
DIMS = {"conv1": (16, 1, 3, 3), "conv2": (32, 16, 3, 3), "conv3": (32, 32, 3, 3), "people": (MOST_PEOPLE + 1, 128)}


def image(people: int, random: numpy.random.Generator) -> numpy.ndarray:
    """[1, SIDE, SIDE], kelvins above the coldest pixel: a floor that is warmer on one side, heads and shoulders, and in three of
    ten images a warm thing that is no person: a cup, or a radiator at the wall."""
    y, x = numpy.mgrid[:SIDE, :SIDE] - (SIDE - 1) / 2
    value = random.uniform(-0.25, 0.25) * x + random.uniform(-0.25, 0.25) * y
    taken: list[numpy.ndarray] = []
    while len(taken) < people:
        place = random.uniform(-3.6, 3.6, 2)
        if all(((place - other) ** 2).sum() > 2.6**2 for other in taken):
            taken.append(place)
            wide, long = random.uniform(0.6, 0.9), random.uniform(0.9, 1.5)
            turn = random.uniform(0, numpy.pi)
            along = (x - place[0]) * numpy.cos(turn) + (y - place[1]) * numpy.sin(turn)
            across = (y - place[1]) * numpy.cos(turn) - (x - place[0]) * numpy.sin(turn)
            value += random.uniform(4, 7) * numpy.exp(-0.5 * ((along / long) ** 2 + (across / wide) ** 2))
    other = random.random()
    if other < 0.15:
        place = random.uniform(-3.5, 3.5, 2)
        value += random.uniform(3, 9) * numpy.exp(-0.5 * ((x - place[0]) ** 2 + (y - place[1]) ** 2) / 0.35**2)
    elif other < 0.3:
        value[:, 0 if random.random() < 0.5 else -1] += random.uniform(3, 8)
    value += random.normal(0, 0.25, value.shape)
    return numpy.clip(on_grid(value - value.min(), STEP), 0, WARMEST)[None]


def images(count: int, seed: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """float32 [count, 1, SIDE, SIDE], and how many people are in each."""
    random = numpy.random.default_rng(seed)
    labels = numpy.arange(count) % (MOST_PEOPLE + 1)
    return numpy.array([image(label, random) for label in labels], numpy.float32), labels.astype(numpy.int64)


def network(x: net.Value, p: Mapping[str, net.Value]) -> net.Value:
    """Three convolutions, two pools, and a layer that counts."""
    for name in ("conv1", "conv2", "conv3"):
        x = net.Relu(net.Conv(x, p[f"{name}_weights"], p[f"{name}_bias"], pads=[1, 1, 1, 1]))
        x = x if name == "conv1" else net.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2])
    return net.Gemm(net.Flatten(x), p["people_weights"], p["people_bias"], transB=1)


def made() -> Made:
    """Trains on 4,000 images, and quantizes by 200 of them: all weights have 4 bits, data have 8."""
    x, labels = images(4000, SEED)
    task = Task("thermal", x, labels, network, DIMS, epochs=7)
    floating = float_file(task, trained(task, SEED))
    layers = [node.name for node in onnx.load_from_string(floating).graph.node if node.op_type in ("Conv", "Gemm")]
    scheme = Scheme(round_weights=True, correct_bias=True, layers=dict.fromkeys(layers, "int4"))
    return Made(quantize(floating, {"x": x[:200, None]}, scheme), floating)


def held_out() -> Arrays:
    """800 other images; two people are in the first one."""
    x, labels = images(800, seed=2)
    order = numpy.roll(numpy.arange(len(x)), -2)
    return stored(x[order], STEP, numpy.int8) | {"labels": labels[order].astype(numpy.uint8)}
