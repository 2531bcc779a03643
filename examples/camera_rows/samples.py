# SPDX-License-Identifier: MIT
"""Pictures of stripes for the ranges of the quantized network:   python samples.py samples.npz"""

from __future__ import annotations

import sys

import numpy
from model import DIRECTIONS, SIZE


def picture(direction: int, width: float, shift: float, noise: float, random: numpy.random.Generator) -> numpy.ndarray:
    """[SIZE, SIZE] from -1 to 1."""
    x, y = numpy.meshgrid(numpy.arange(SIZE), numpy.arange(SIZE))
    across = (y, x + y, x, x - y)[direction]
    return (0.9 * numpy.sign(numpy.sin(numpy.pi * across / width + shift)) + random.normal(0, noise, (SIZE, SIZE))).clip(-1, 1)


if __name__ == "__main__":
    random = numpy.random.Generator(numpy.random.PCG64(5))
    made = [
        picture(direction, random.uniform(4, 12), random.uniform(0, 6), random.uniform(0, 0.1), random)
        for direction in range(len(DIRECTIONS))
        for _ in range(2)
    ]
    numpy.savez_compressed(sys.argv[1], x=numpy.array(made, numpy.float32)[:, None])
