# SPDX-License-Identifier: MIT
"""A simulated accelerometer on a pump: windows of 128 samples, of a sound machine and of a faulty one. Nothing is recorded."""

from __future__ import annotations

import numpy

RATE, SAMPLES = 3200, 128  # Hz, samples of a window


def windows(count: int, seed: int, faulty: bool) -> numpy.ndarray:
    """float32 [count, SAMPLES] in g, in steps of 1/1024 as a sensor has. A fault is a damaged bearing (ringing at 600 Hz, once
    each 11 ms) or a loose foot (half harmonics of the shaft)."""
    random = numpy.random.Generator(numpy.random.PCG64(seed))
    time = numpy.arange(SAMPLES) / RATE
    made = []
    for number in range(count):
        shaft = random.uniform(45, 50)  # turns a second
        value = random.normal(0, 0.03, SAMPLES)
        for harmonic, strength in ((1, 0.5), (2, 0.2), (3, 0.1), (7, 0.12)):  # the shaft, and 7 blades
            angle = 2 * numpy.pi * (shaft * harmonic * time + random.uniform())
            value += strength * random.uniform(0.8, 1.2) * numpy.sin(angle)
        if faulty and number % 2:
            since = (time + random.uniform(0, 0.011)) % 0.011
            value += random.uniform(0.2, 0.5) * numpy.exp(-300 * since) * numpy.sin(2 * numpy.pi * 600 * since)
        elif faulty:
            for half in (0.5, 1.5, 2.5):
                angle = 2 * numpy.pi * (shaft * half * time + random.uniform())
                value += random.uniform(0.12, 0.3) * numpy.sin(angle)
        made.append(value)
    return (numpy.rint(numpy.array(made) * 1024) / 1024).astype(numpy.float32)
