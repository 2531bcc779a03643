# SPDX-License-Identifier: MIT
"""Computes the range of the integers from the observed values, and scale and zero point from the range."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.prepare.quantization.observe import Observed
from aidge_build.prepare.quantization.scheme import Scheme

SMALLEST = 2.0**-100  # of a scale: products of two stay normal float32 numbers
STEPS = 100  # ranges that the searches try for each end
Range = tuple[float, float]


def range_of(seen: Observed, scheme: Scheme, dtype: DType) -> Range:
    """Returns both ends of the range, which includes 0."""
    low, high = _METHODS[scheme.calibration](seen, scheme, dtype)
    return min(low, 0.0), max(high, 0.0)


def quantization_of(ends: Range, scheme: Scheme, dtype: DType) -> Quantization:
    """Returns scale and zero point for a range; 16 bits are always symmetric, 8 bits as the scheme says."""
    low, high = ends
    least, most = dtype.range
    if scheme.activations == "symmetric" or dtype is DType.int16:
        return per_tensor(max(max(-low, high) / most, SMALLEST), 0)
    scale = float(numpy.float32(max((high - low) / (most - least), SMALLEST)))
    return per_tensor(scale, int(numpy.clip(numpy.rint(least - low / scale), least, most)))


def _minmax(seen: Observed, scheme: Scheme, dtype: DType) -> Range:
    return seen.low, seen.high


def _moving_average(seen: Observed, scheme: Scheme, dtype: DType) -> Range:
    return seen.average_low, seen.average_high


def _percentile(seen: Observed, scheme: Scheme, dtype: DType) -> Range:
    """Returns the range that leaves out as many values below as above."""
    histogram = seen.histogram
    reached = numpy.cumsum(histogram.counts)
    outside = reached[-1] * (1 - scheme.percentile / 100) / 2
    low = histogram.edges[numpy.searchsorted(reached, outside, side="right")]
    high = histogram.edges[numpy.searchsorted(reached, reached[-1] - outside, side="left") + 1]
    return max(float(low), seen.low), min(float(high), seen.high)


def _mse(seen: Observed, scheme: Scheme, dtype: DType) -> Range:
    """Returns the range with the least mean squared error: first one end, then the other, twice."""
    return _searched(seen, scheme, dtype, _squared_error)


def _entropy(seen: Observed, scheme: Scheme, dtype: DType) -> Range:
    """Returns the range with the least Kullback-Leibler divergence between the real and the quantized distribution."""
    return _searched(seen, scheme, dtype, _divergence)


def _searched(seen: Observed, scheme: Scheme, dtype: DType, cost: Callable) -> Range:
    low, high = min(seen.low, 0.0), max(seen.high, 0.0)
    used = numpy.flatnonzero(seen.histogram.counts)
    counts, centres = seen.histogram.counts[used].astype(numpy.float64), seen.histogram.centres[used]
    best = low, high
    for _ in range(2):
        for place in (0, 1):
            steps = [step / STEPS for step in range(STEPS, STEPS // 10 - 1, -1)]
            candidates = [(low * step, best[1]) if place == 0 else (best[0], high * step) for step in steps]
            costs = [cost(counts, centres, quantization_of(ends, scheme, dtype), dtype) for ends in candidates]
            best = candidates[int(numpy.argmin(costs))]
    return best


def _levels(centres: numpy.ndarray, quantization: Quantization, dtype: DType) -> numpy.ndarray:
    return numpy.clip(numpy.rint(centres / quantization.scale) + quantization.zero_point, *dtype.range)


def _squared_error(counts: numpy.ndarray, centres: numpy.ndarray, quantization: Quantization, dtype: DType) -> float:
    reals = (_levels(centres, quantization, dtype) - quantization.zero_point) * float(quantization.scale)
    return float((counts * (reals - centres) ** 2).sum())


def _divergence(counts: numpy.ndarray, centres: numpy.ndarray, quantization: Quantization, dtype: DType) -> float:
    """Returns sum of p log(p / q): p are the counts, with clipped values at the ends; q spreads them evenly over each level."""
    levels = _levels(centres, quantization, dtype).astype(numpy.int64) - dtype.range[0]
    inside = numpy.abs((levels + dtype.range[0] - quantization.zero_point) * float(quantization.scale) - centres) <= float(
        quantization.scale
    )
    real = numpy.bincount(levels, counts * inside, minlength=1 << 8 * dtype.size_bytes)
    bins = numpy.bincount(levels, inside, minlength=1 << 8 * dtype.size_bytes)
    spread = (real / numpy.maximum(bins, 1))[levels] * inside
    given = counts * inside
    clipped = counts[~inside].sum()
    if clipped and inside.any():
        ends = numpy.flatnonzero(inside)[[0, -1]]
        below = counts[: ends[0]].sum()
        given[ends[0]] += below
        given[ends[1]] += clipped - below
    known = (given > 0) & (spread > 0)
    total, spread_total = given.sum(), spread.sum()
    if not spread_total or (given[~known] > 0).any():
        return numpy.inf
    return float((given[known] / total * numpy.log(given[known] / total * spread_total / spread[known])).sum())


_METHODS: dict[str, Callable[[Observed, Scheme, DType], Range]] = {
    "minmax": _minmax,
    "moving-average": _moving_average,
    "percentile": _percentile,
    "mse": _mse,
    "entropy": _entropy,
}
NEED_HISTOGRAM = ("percentile", "mse", "entropy")
