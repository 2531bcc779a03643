# SPDX-License-Identifier: MIT
"""The bands of a layer as columns of numbers, for searches that ask about all bands at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy

from aidge_build.operators.base import Band

Bands = tuple[tuple[int, int], ...]


def cut_at(height: int, start: int, size: int) -> Bands:
    """Returns the rows below `start` as a band, then bands of `size` rows."""
    edges = [0, *range(start, height, size), height]
    return tuple(zip(edges, edges[1:], strict=False))


class _Layer(Protocol):
    def band(self, first: int, last: int) -> Band | None: ...

    def reads(self, first: int, last: int) -> Mapping[str, tuple[int, int]] | None: ...


@dataclass(frozen=True)
class RowTable:
    """The rows that each band reads, arrays [band, first or last]: of each tensor, whichever input it is, and of each input
    (None: all rows)."""

    of_tensors: Mapping[str, numpy.ndarray]
    of_inputs: tuple[numpy.ndarray | None, ...]

    @staticmethod
    def of(layer: _Layer, bands: Sequence[tuple[int, int]]) -> RowTable:
        """Returns the table of a layer with these bands."""
        reads = [layer.reads(*band) or {} for band in bands]
        cut = [band.reads for band in (layer.band(*band) for band in bands) if band is not None]
        inputs = (None if any(rows is None for rows in each) else numpy.array(each) for each in zip(*cut, strict=True))
        return RowTable({name: numpy.array([each[name] for each in reads]) for name in reads[0]}, tuple(inputs))
