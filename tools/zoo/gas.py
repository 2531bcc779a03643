# SPDX-License-Identifier: MIT
"""Concentrations of three gases in a mixture, from six metal-oxide sensors that drift: fully connected layers, int8."""

from __future__ import annotations

from collections.abc import Mapping

import numpy

from aidge_build import net
from aidge_build.prepare.quantization import Scheme, quantize
from tools.zoo.made import Arrays, Made, stored
from tools.zoo.training import Task, float_file, on_grid, trained

SEED = 1
SENSORS, GASES = 6, ("carbon monoxide", "ethanol", "ammonia")
STEP, MOST_PPM = 1 / 32, 100
DIMS = {"hidden1": (32, SENSORS + 2), "hidden2": (32, 32), "ppm": (len(GASES), 32)}
# Each sensor answers to each gas (1 / ppm), with a power of its own, and to water and heat.
SENSITIVITY = numpy.array(
    [[0.30, 0.05, 0.01], [0.12, 0.40, 0.02], [0.02, 0.08, 0.35], [0.20, 0.02, 0.15], [0.04, 0.25, 0.20], [0.08, 0.15, 0.06]]
)
POWER = numpy.array([0.65, 0.55, 0.70, 0.60, 0.50, 0.75])
HUMID, WARM = numpy.array([0.3, 0.2, 0.35, 0.25, 0.3, 0.15]), numpy.array([0.10, 0.15, 0.05, 0.12, 0.08, 0.1])


def readings(count: int, seed: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """float32 [count, 8]: ln(R0 / R) of six sensors, humidity and temperature, both from -1 to 1; and [count, 3] in 100 ppm.

    R0 / R = (1 + the sum of sensitivity * ppm) ^ power, times a factor for water and heat. Drift is a random walk of its
    logarithm, and poisoning makes a sensor less sensitive: both grow with the age, up to a year. A third of the mixtures lacks
    each gas.
    """
    random = numpy.random.default_rng(seed)
    ppm = MOST_PPM * random.random((count, len(GASES))) * (random.random((count, len(GASES))) > 1 / 3)
    humidity, heat, years = (random.uniform(-1, 1, (count, 1)), random.uniform(-1, 1, (count, 1)), random.random((count, 1)))
    lost = 1 - 0.25 * years * random.random((count, SENSORS))
    driven = (SENSITIVITY[None] * ppm[:, None]).sum(axis=2) * lost
    logarithm = POWER * numpy.log(1 + driven) + HUMID * humidity + WARM * heat
    logarithm += 0.06 * numpy.sqrt(years) * random.normal(size=(count, SENSORS)) + random.normal(0, 0.015, (count, SENSORS))
    seen = numpy.concatenate([logarithm, humidity, heat], axis=1)
    return on_grid(seen, STEP).astype(numpy.float32), on_grid(ppm / 100, 2.0**-12).astype(numpy.float32)


def network(x: net.Value, p: Mapping[str, net.Value]) -> net.Value:
    """Two hidden layers."""
    for name in ("hidden1", "hidden2"):
        x = net.Relu(net.Gemm(x, p[f"{name}_weights"], p[f"{name}_bias"], transB=1))
    return net.Gemm(x, p["ppm_weights"], p["ppm_bias"], transB=1)


def made() -> Made:
    """Trains on 6,000 mixtures, and quantizes by 500 of them."""
    x, ppm = readings(6000, SEED)
    task = Task("gas", x, ppm, network, DIMS, epochs=30, rate=0.005)
    floating = float_file(task, trained(task, SEED))
    return Made(quantize(floating, {"x": x[:500, None]}, Scheme()), floating)


def held_out() -> Arrays:
    """600 other mixtures."""
    x, ppm = readings(600, seed=2)
    return stored(x, STEP, numpy.int8) | {"targets": ppm}
