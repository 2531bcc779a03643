# SPDX-License-Identifier: MIT
"""The values that the tensors of a float graph take on samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping

import numpy

from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.view import GraphView
from aidge_build.prepare.quantization.histogram import Histogram
from aidge_build.prepare.quantization.samples import count_of, each_sample

Progress = Callable[[str, int, int], None]  # the work, how many are done, of how many


class Observed:
    """The values of one tensor: their ends, ends averaged over samples, a histogram, and two moments of each channel.

    A sample with NaN or infinity has no ends: it counts in none of them, and `undefined_sample` is the index of the first.
    """

    FORGETS = 0.01  # of the moving average: the share of a new sample, once a hundred are seen

    def __init__(self, with_histogram: bool):
        self.low, self.high = numpy.inf, -numpy.inf
        self.average_low = self.average_high = 0.0
        self.samples = 0
        self.undefined_sample: int | None = None
        self._with_histogram = with_histogram
        self.histogram = Histogram()
        self._sums = self._squares = numpy.zeros(1)

    def add(self, values: numpy.ndarray, index: int) -> None:
        """Adds the tensor's values in the sample with this index."""
        low, high = float(values.min()), float(values.max())
        if not (math.isfinite(low) and math.isfinite(high)):
            self.undefined_sample = index if self.undefined_sample is None else self.undefined_sample
            return
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.samples += 1
        share = max(self.FORGETS, 1 / self.samples)
        self.average_low += (low - self.average_low) * share
        self.average_high += (high - self.average_high) * share
        if self._with_histogram:
            self.histogram.add(values)
        if values.ndim > 1:
            rows = numpy.moveaxis(values, 1, 0).reshape(values.shape[1], -1).astype(numpy.float64)
            self._sums = self._sums + rows.mean(axis=1)
            self._squares = self._squares + numpy.square(rows).mean(axis=1)

    @property
    def means(self) -> numpy.ndarray:
        """The mean of each channel (axis 1)."""
        return self._sums / max(self.samples, 1)

    @property
    def variances(self) -> numpy.ndarray:
        """The variance of each channel."""
        return numpy.maximum(self._squares / max(self.samples, 1) - self.means**2, 0.0)


def observe(
    view: GraphView,
    samples: Mapping[str, numpy.ndarray],
    names: Collection[str],
    with_histogram: bool,
    progress: Progress | None = None,
) -> dict[str, Observed]:
    """Runs every sample through the graph in the numpy backend, and returns the observations of the named tensors."""
    found = {name: Observed(with_histogram) for name in sorted(names)}
    execution = prepare(view)
    context = execution.context({})
    count = count_of(samples)
    for index, inputs in enumerate(each_sample(samples)):
        execution.forward(context, inputs)
        for name, seen in found.items():
            seen.add(context[name], index)
        if progress is not None:
            progress("calibrated", index + 1, count)
    return found
