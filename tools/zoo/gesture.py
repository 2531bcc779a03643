# SPDX-License-Identifier: MIT
"""Gestures of a hand that holds a device with accelerometers and gyroscopes: a convolutional network over time, int8."""

from __future__ import annotations

import numpy

from aidge_build.prepare.quantization import Scheme, quantize
from tools.zoo.made import Arrays, Made, stored
from tools.zoo.training import Task, float_file, on_grid, over_time, trained

SEED, STORED = 1, 70
RATE, SAMPLES = 50, 64  # Hz; samples of a window
STEP = 1 / 32  # of a sample: g, or 250 degrees a second
GESTURES = ("rest", "shake", "swipe left", "swipe right", "lift", "circle", "flip")
DIMS = {"conv1": (12, 6, 5), "conv2": (16, 12, 5), "conv3": (16, 16, 5), "classifier": (len(GESTURES), 128)}


def window(gesture: str, random: numpy.random.Generator) -> numpy.ndarray:
    """[6, SAMPLES]: accelerations along x, y, z in g, then turns about them in 250 degrees a second. Every movement begins and
    ends at rest (the polynomial of minimum jerk), is of random size and duration, may be cut off by the window, and has a
    shaking hand's noise."""
    duration, start = random.uniform(0.4, 1.0), random.uniform(-0.1, 0.6)
    part = numpy.clip((numpy.arange(SAMPLES) / RATE - start) / duration, 0, 1)
    push = (60 * part - 180 * part**2 + 120 * part**3) * random.uniform(0.06, 0.3) / duration**2
    moves = ((part > 0) & (part < 1)).astype(float)
    acceleration, turn, angle = numpy.zeros((3, SAMPLES)), numpy.zeros((3, SAMPLES)), numpy.zeros(SAMPLES)
    if gesture == "shake":
        acceleration[0] = random.uniform(0.25, 1.5) * moves * numpy.sin(2 * numpy.pi * random.uniform(3, 5) * duration * part)
    elif gesture.startswith("swipe"):
        acceleration[0] = push if gesture == "swipe right" else -push
    elif gesture == "lift":
        acceleration[2] = push
    elif gesture == "circle":
        size, first = random.uniform(0.2, 1.0) * moves, random.uniform(0, 2 * numpy.pi)
        acceleration[:2] = size * numpy.cos(2 * numpy.pi * part + first), size * numpy.sin(2 * numpy.pi * part + first)
    elif gesture == "flip":
        angle = random.uniform(2.4, 3.4) * (10 * part**3 - 15 * part**4 + 6 * part**5)
        turn[0] = numpy.gradient(angle) * RATE / numpy.radians(250)
    acceleration[1:] += numpy.sin(angle), numpy.cos(angle)  # gravity, as the device sees it
    held = _turned(*random.normal(0, 0.35, 2))
    drifts = random.normal(0, 0.15, (3, 1))  # of the wrist
    both = numpy.concatenate([_applied(held, acceleration), _applied(held, turn + drifts)])
    return numpy.clip(on_grid(both + random.normal(0, 0.12, both.shape), STEP), -4, 4 - STEP)


def _turned(about_x: float, about_y: float) -> numpy.ndarray:
    """The matrix of two turns: the way in which the device is held."""
    c, s, d, t = numpy.cos(about_x), numpy.sin(about_x), numpy.cos(about_y), numpy.sin(about_y)
    return numpy.array([[d, 0, t], [s * t, c, -s * d], [-c * t, s, c * d]])


def _applied(matrix: numpy.ndarray, vectors: numpy.ndarray) -> numpy.ndarray:
    return (matrix[:, :, None] * vectors[None]).sum(axis=1)


def windows(count: int, seed: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """float32 [count, 6, SAMPLES], and the numbers of the gestures."""
    random = numpy.random.default_rng(seed)
    labels = numpy.arange(count) % len(GESTURES)
    return numpy.array([window(GESTURES[label], random) for label in labels], numpy.float32), labels.astype(numpy.int64)


def made() -> Made:
    """Trains on 1,400 windows, and quantizes by 200 of them."""
    x, labels = windows(1400, SEED)
    task = Task("gesture", x, labels, over_time, DIMS, epochs=14)
    floating = float_file(task, trained(task, SEED))
    return Made(quantize(floating, {"x": x[:200, None]}, Scheme()), floating)


def held_out() -> Arrays:
    """700 other windows; the first one is a flip."""
    x, labels = windows(700, seed=2)
    order = numpy.roll(numpy.arange(len(x)), 1)
    return stored(x[order], STEP, numpy.int8) | {"labels": labels[order].astype(numpy.uint8)}
