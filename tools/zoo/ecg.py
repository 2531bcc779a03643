# SPDX-License-Identifier: MIT
"""Beats of a heart, as one lead of an electrocardiogram could show them: a convolutional network over time, int8."""

from __future__ import annotations

import numpy

from aidge_build.prepare.quantization import Scheme, quantize
from tools.zoo.made import Arrays, Made, stored
from tools.zoo.training import Task, float_file, on_grid, over_time, trained

SEED, STORED = 1, 250
RATE, SAMPLES, PEAK = 125, 96, 40  # Hz; samples of a window, and the place of the R wave in it
STEP = 1 / 64  # mV
BEATS = ("normal", "premature ventricular", "premature atrial", "bundle branch block", "artefact")
DIMS = {"conv1": (8, 1, 7), "conv2": (16, 8, 5), "conv3": (16, 16, 5), "classifier": (len(BEATS), 192)}
# Waves of a beat: place in s after the R wave, width in s, height in mV.
NARROW = ((-0.035, 0.010, -0.12), (0.0, 0.012, 1.0), (0.032, 0.011, -0.22))
WIDE = ((-0.02, 0.035, 0.9), (0.05, 0.045, -0.5))
NOTCHED = ((-0.03, 0.018, 0.65), (0.025, 0.02, 0.75), (0.08, 0.03, -0.2))
P_WAVE, T_WAVE = (-0.17, 0.024, 0.13), (0.26, 0.05, 0.28)


def waves(beat: str, random: numpy.random.Generator) -> list[tuple[float, float, float]]:
    """The waves of a beat by a random heart."""
    if beat == "premature ventricular":  # no P wave, a wide QRS, T against it
        return [*WIDE, (0.3, 0.07, -random.uniform(0.2, 0.5))]
    p = P_WAVE
    if beat == "premature atrial":  # P comes early, on the T wave of the beat before, and may be upside down
        p = (-random.uniform(0.1, 0.14), 0.018, random.choice([-0.12, 0.2]))
        return [(-0.26, 0.05, random.uniform(0.15, 0.35)), p, *NARROW, T_WAVE]
    if beat == "bundle branch block":
        return [p, *NOTCHED, (0.3, 0.06, -random.uniform(0.1, 0.3))]
    return [p, *NARROW, T_WAVE]


def window(beat: str, random: numpy.random.Generator) -> numpy.ndarray:
    """[SAMPLES] in mV: the beat, breathing, the mains and muscles."""
    time = (numpy.arange(SAMPLES) - PEAK) / RATE
    value = random.normal(0, random.uniform(0.01, 0.1), SAMPLES)
    value += random.uniform(0, 0.25) * numpy.sin(2 * numpy.pi * (random.uniform(0.15, 0.5) * time + random.uniform()))
    value += random.uniform(0, 0.03) * numpy.sin(2 * numpy.pi * (50 * time + random.uniform()))
    if beat == "artefact":  # an electrode that is pulled: steps and bursts
        for _ in range(int(random.integers(1, 4))):
            place, width = random.uniform(time[0], time[-1]), random.uniform(0.02, 0.2)
            value += random.uniform(-1, 1) * numpy.exp(-0.5 * ((time - place) / width) ** 2)
        return on_grid(value + random.normal(0, random.uniform(0.1, 0.4), SAMPLES), STEP)
    size, pace = random.uniform(0.6, 1.4), random.uniform(0.88, 1.12)
    for place, width, height in waves(beat, random):
        width, height = width * random.uniform(0.7, 1.5), height * size * random.uniform(0.4, 1.5)
        value += height * numpy.exp(-0.5 * ((time - place * pace - random.normal(0, 0.01)) / width) ** 2)
    return on_grid(value, STEP)


def windows(count: int, seed: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """float32 [count, 1, SAMPLES] in mV, and the numbers of the beats."""
    random = numpy.random.default_rng(seed)
    labels = numpy.arange(count) % len(BEATS)
    made = numpy.array([window(BEATS[label], random) for label in labels])
    return numpy.clip(made, -2, 2 - STEP).astype(numpy.float32)[:, None], labels.astype(numpy.int64)


def made() -> Made:
    """Trains on 2,000 beats, and quantizes by 200 of them."""
    x, labels = windows(2000, SEED)
    task = Task("ecg", x, labels, over_time, DIMS, epochs=10)
    floating = float_file(task, trained(task, SEED))
    return Made(quantize(floating, {"x": x[:200, None]}, Scheme()), floating)


def held_out() -> Arrays:
    """1,000 other beats; the first one is premature ventricular."""
    x, labels = windows(1000, seed=2)
    order = numpy.roll(numpy.arange(len(x)), -1)
    return stored(x[order], STEP, numpy.int8) | {"labels": labels[order].astype(numpy.uint8)}
