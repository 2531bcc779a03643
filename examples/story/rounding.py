# SPDX-License-Identifier: MIT
"""Weights of a few bits: blocks of 32 rows of a column share a scale."""

from __future__ import annotations

import numpy

BLOCK = 32
PARTS = numpy.array([1.0, 0.9, 0.8, 0.7, 0.6], numpy.float32)  # of the scale that gives the largest weight the lowest level


def rounded(weights: numpy.ndarray, bits: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Levels from -2^(bits - 1) on [blocks, BLOCK, columns], and scales [blocks, 1, columns]: the tried ones with the least
    squared error. A scale may be negative."""
    lowest = -(2.0 ** (bits - 1))
    blocks = weights.reshape(-1, BLOCK, weights.shape[1])
    largest = numpy.take_along_axis(blocks, numpy.abs(blocks).argmax(axis=1, keepdims=True), axis=1)
    unit = numpy.where(largest == 0, 1, largest / lowest).astype(numpy.float32)
    scales = unit * PARTS[:, None, None, None]
    levels = numpy.clip(numpy.rint(blocks / scales), lowest, -lowest - 1)
    errors = ((levels * scales - blocks) ** 2).sum(axis=2, keepdims=True)
    best = errors.argmin(axis=0)[None]
    return numpy.take_along_axis(levels, best, axis=0)[0], numpy.take_along_axis(scales, best, axis=0)[0]


def real(levels: numpy.ndarray, scales: numpy.ndarray) -> numpy.ndarray:
    """The weights [rows, columns] that levels and scales stand for."""
    return (levels * scales).reshape(-1, levels.shape[2]).astype(numpy.float32)


def table(values: numpy.ndarray) -> tuple[numpy.ndarray, numpy.float32]:
    """A table in int8, and its scale."""
    scale = numpy.float32(numpy.abs(values).max() / 127)
    return numpy.rint(values / scale).astype(numpy.int8), scale
