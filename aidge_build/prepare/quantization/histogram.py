# SPDX-License-Identifier: MIT
"""A histogram that doubles its range when needed: the counts do not depend on the order of the values."""

from __future__ import annotations

import numpy

BINS = 1 << 14  # of the whole range: at least 2^12 where values of one sign reach half of it


class Histogram:
    """Counts in BINS equal bins between -limit and limit, a power of two; 0 is an edge, so bins merge in pairs exactly."""

    def __init__(self):
        self.limit = 0.0
        self.counts = numpy.zeros(BINS, numpy.int64)

    def add(self, values: numpy.ndarray) -> None:
        """Counts values, which must be finite."""
        values = values.reshape(-1).astype(numpy.float64)
        largest = float(numpy.abs(values).max(initial=0.0))
        wanted = 2.0 ** (numpy.frexp(largest)[1]) if largest else 0.0  # strictly above
        if wanted > self.limit:
            self._widen(wanted)
        if not self.limit:
            self.counts[BINS // 2] += values.size
            return
        places = numpy.floor(values * (BINS / 2 / self.limit)).astype(numpy.int64) + BINS // 2
        self.counts += numpy.bincount(places, minlength=BINS)

    def _widen(self, limit: float) -> None:
        doublings = int(numpy.log2(limit / self.limit)) if self.limit else 0
        if not self.limit or doublings > 62:
            zeros = int(self.counts.sum())
            self.counts[:] = 0
            self.counts[BINS // 2] = zeros
            doublings = 0
        for _ in range(min(doublings, 14)):
            pairs = self.counts.reshape(-1, 2).sum(axis=1)
            self.counts = numpy.zeros(BINS, numpy.int64)
            self.counts[BINS // 4 : BINS // 4 + BINS // 2] = pairs
        self.limit = limit

    @property
    def edges(self) -> numpy.ndarray:
        """The ends of all bins, BINS + 1 of them."""
        return numpy.linspace(-self.limit, self.limit, BINS + 1)

    @property
    def centres(self) -> numpy.ndarray:
        """The middle of each bin."""
        edges = self.edges
        return (edges[1:] + edges[:-1]) / 2
