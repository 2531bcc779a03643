# SPDX-License-Identifier: MIT
"""The range of the samples of an input, and edges of bins for three sums over the elements of an inference.

| sum | of | moves with |
|---|---|---|
| mean | x | offset, brightness |
| spread | abs(x - center) | gain, contrast |
| step | abs(x - the element before it in memory) | noise, focus |

Integers are summed exactly, float32 elements one after the other in float32, as the generated C does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor

BINS = 5  # of each sum: a fifth of the samples in each
SUMS = ("mean", "spread", "step")
LEAST_SAMPLES = 4 * BINS
Number = int | float


@dataclass(frozen=True)
class SeenRange:
    """Stored values: `low` and `high` are the ends of the range, `center` is the mean, and `edges` has BINS - 1 numbers for each
    of SUMS. A value is in the bin that counts the edges at or below it."""

    samples: int
    low: Number
    high: Number
    center: Number
    edges: tuple[tuple[Number, ...], ...]

    def sums(self, values: numpy.ndarray) -> numpy.ndarray:
        """Returns the sums [SUMS, sample] of stored values [sample, element]."""
        return sums_of(values, self.center)

    def bins(self, values: numpy.ndarray) -> numpy.ndarray:
        """Returns the bin of each sum [SUMS, sample]."""
        found = [numpy.searchsorted(edges, sums, side="right") for edges, sums in zip(self.edges, self.sums(values), strict=True)]
        return numpy.stack(found)


def stored_elements(tensor: Tensor, values: numpy.ndarray) -> numpy.ndarray:
    """Returns logical values [sample, dims...] as [sample, element], in the order of the memory."""
    return numpy.stack([tensor.to_stored(value).reshape(-1) for value in values])


def sums_of(values: numpy.ndarray, center: Number) -> numpy.ndarray:
    """Returns the sums [SUMS, sample], int64 or float32, of stored values [sample, element]."""
    number = numpy.dtype(numpy.float32 if values.dtype.kind == "f" else numpy.int64)
    wide = values.astype(number)
    steps = numpy.abs(numpy.diff(wide, axis=1, prepend=wide[:, :1]))
    return numpy.stack([_sum(one) for one in (wide, numpy.abs(wide - number.type(center)), steps)])


def seen_range(values: numpy.ndarray, name: str) -> SeenRange:
    """Returns the range of stored values [sample, element] of the input `name`; AidgeError (MONITOR) for too few samples."""
    if len(values) < LEAST_SAMPLES:
        raise AidgeError(
            f"input '{name}' has {len(values)} samples, {LEAST_SAMPLES} or more say what is usual",
            where="--monitor-samples",
            hint="a few hundred from training or from the place of use",
            code="MONITOR",
        )
    low, high, mean = values.min().item(), values.max().item(), values.astype(numpy.float64).mean()
    center = round(mean) if values.dtype.kind != "f" else float(numpy.float32(mean))
    ordered = numpy.sort(sums_of(values, center), axis=1)
    places = [len(values) * part // BINS for part in range(1, BINS)]
    return SeenRange(len(values), low, high, center, tuple(tuple(row[places].tolist()) for row in ordered))


def sum_dtype(dtype: DType, elements: int) -> DType:
    """Returns the type that holds the sums of so many elements."""
    if dtype.is_float:
        return DType.float32
    largest = (1 << 8 * dtype.size_bytes) - 1
    return DType.int32 if largest * elements < 1 << 31 else DType.int64


def _sum(values: numpy.ndarray) -> numpy.ndarray:
    """Returns the sum of each row: of floats in their order, which numpy's own sum does not keep."""
    return numpy.add.accumulate(values, axis=1)[:, -1]
