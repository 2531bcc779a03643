# SPDX-License-Identifier: MIT
"""Decimation of samples: a filter of integers that computes every n-th result."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.register import attribute, operator

LARGEST_SUM = (1 << 16) - 1  # of the taps' magnitudes: no sum of products with int16 then leaves int32


def _is_positive(value: object) -> bool:
    return isinstance(value, int) and value > 0


@operator("aidge::Decimate")
class Decimate(Operator):
    """y[n] = (sum over i of x[n * step + i] * h[i] + 2^14) >> 15, within int16: [batch, samples] -> [batch, results].

    Inputs: int16 samples; constant taps h, int16 in units of 2^-15, with magnitudes that add up to at most 65535.
    """

    step: int = attribute(1, accepts=_is_positive)

    def infer(self, inputs):
        pcm, taps = inputs
        require(pcm.dtype is DType.int16 and pcm.rank == 2, f"the samples are {pcm.dtype.name} {list(pcm.dims)}, want int16 rows")
        require(taps.dtype is DType.int16 and taps.rank == 1, "the taps are no row of int16")
        require(0 < taps.elements <= pcm.dims[1], f"{taps.elements} taps for {pcm.dims[1]} samples")
        if taps.is_constant:
            total = int(numpy.abs(taps.data.astype(numpy.int64)).sum())
            require(total <= LARGEST_SUM, f"the magnitudes of the taps add up to {total}, at most {LARGEST_SUM} fit")
        return (TensorType((pcm.dims[0], 1 + (pcm.dims[1] - taps.elements) // self.step), DType.int16),)

    def forward(self, pcm, taps):
        return decimated(pcm, taps, self.step)

    def multiply_accumulates(self, inputs, outputs):
        return outputs[0].elements * inputs[1].elements


def decimated(pcm: numpy.ndarray, taps: numpy.ndarray, step: int) -> numpy.ndarray:
    """Returns the operator's result along the last axis."""
    frames = numpy.lib.stride_tricks.sliding_window_view(pcm, taps.size, axis=-1)[..., ::step, :]
    sums = frames.astype(numpy.int64) @ taps.astype(numpy.int64)
    return numpy.clip((sums + (1 << 14)) >> 15, -(1 << 15), (1 << 15) - 1).astype(numpy.int16)
