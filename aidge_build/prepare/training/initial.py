# SPDX-License-Identifier: MIT
"""Initial weights, with a scale that keeps the variance of values, or of gradients, from layer to layer."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

from aidge_build.base.errors import AidgeError


def he(dims: Sequence[int], random: numpy.random.Generator, *, inputs_first: bool = False) -> numpy.ndarray:
    """Returns normally distributed weights with the variance 2 / inputs, float32, for layers before a ReLU (He et al., 2015).

    `dims` of Conv are [outputs, inputs, ...], of Gemm with transB, too; with `inputs_first` (Gemm, MatMul) [inputs, outputs].
    """
    inputs, _ = _fans(dims, inputs_first)
    return (random.normal(size=tuple(dims)) * math.sqrt(2 / inputs)).astype(numpy.float32)


def glorot(dims: Sequence[int], random: numpy.random.Generator, *, inputs_first: bool = False) -> numpy.ndarray:
    """Returns uniform weights with the variance 2 / (inputs + outputs), float32 (Glorot and Bengio, 2010). `dims` as in `he`."""
    inputs, outputs = _fans(dims, inputs_first)
    bound = math.sqrt(6 / (inputs + outputs))
    return random.uniform(-bound, bound, tuple(dims)).astype(numpy.float32)


def orthogonal(dims: Sequence[int], random: numpy.random.Generator) -> numpy.ndarray:
    """Returns square matrices along the last two axes, rows and columns orthogonal and of length 1, float32 (Saxe et al., 2014).

    For the recurrence [directions, gates * hidden, hidden] of LSTM, GRU and RNN: one matrix for each gate.
    """
    if len(dims) < 2 or dims[-1] < 1 or dims[-2] % dims[-1]:
        raise AidgeError(f"the dims {list(dims)} are no stack of square matrices", code="TRAINING")
    size = dims[-1]
    count = math.prod(dims) // (size * size)
    found, upper = numpy.linalg.qr(random.normal(size=(count, size, size)))
    signs = numpy.sign(numpy.diagonal(upper, axis1=1, axis2=2))  # of many factorizations the one with a positive diagonal
    return (found * signs[:, None, :]).reshape(tuple(dims)).astype(numpy.float32)


def _fans(dims: Sequence[int], inputs_first: bool) -> tuple[int, int]:
    """Returns how many values one result reads, and how many results read one value."""
    if len(dims) < 2 or min(dims) < 1:
        raise AidgeError(f"weights have at least two axes, none of them empty, not {list(dims)}", code="TRAINING")
    window = math.prod(dims[2:])
    outputs, inputs = (dims[1], dims[0]) if inputs_first else (dims[0], dims[1])
    return inputs * window, outputs * window
