# SPDX-License-Identifier: MIT
"""Caches of a fixed length in which new rows are written at a position."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.axes import counted_axis
from aidge_build.operators.base import TensorType, require
from aidge_build.operators.kinds import Moved
from aidge_build.operators.register import attribute, operator
from aidge_build.operators.sample import Sample, numbers

MODES = ("linear", "circular")


@operator("TensorScatter")
class TensorScatter(Moved):
    """The cache with new rows along `axis`, from a row on that `write_indices` names for each member of the batch (default: 0).

    circular: rows beyond the last one are written from row 0 on. linear: rows that would reach beyond the last one become the
    last rows. Source: ONNX operator TensorScatter.
    """

    axis: int = attribute(-2)
    mode: str = attribute("linear", among=MODES)

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis", "mode")
        return cls(source.axis("axis", -2, source.input(0).rank), source.text("mode", "linear"))

    def infer(self, inputs):
        cache, rows = inputs[:2]
        axis = counted_axis(self.axis, cache.rank)
        require(axis > 0, "rows cannot be written along the axis of the batch")
        require(self.mode in MODES, f"mode {self.mode!r} is unknown")
        require(cache.dtype is rows.dtype, f"the cache is {cache.dtype.name}, the rows are {rows.dtype.name}")
        fitting = (*cache.dims[:axis], *rows.dims[axis : axis + 1], *cache.dims[axis + 1 :])
        require(
            rows.dims == fitting and rows.dims[axis] <= cache.dims[axis],
            f"rows of {list(rows.dims)} do not fit a cache of {list(cache.dims)}",
        )
        if len(inputs) > 2 and inputs[2] is not None:
            wanted = f"the indices are {inputs[2].dtype.name}{list(inputs[2].dims)}, want int64[{cache.dims[0]}]"
            require(inputs[2].dims == cache.dims[:1] and inputs[2].dtype in (DType.int32, DType.int64), wanted)
        return (TensorType(cache.dims, cache.dtype),)

    def places(self, cache: numpy.ndarray, rows: numpy.ndarray, starts: numpy.ndarray | None) -> numpy.ndarray:
        """Returns the rows [batch, new rows] of the cache that are written."""
        axis = self.axis % cache.ndim
        size, count = cache.shape[axis], rows.shape[axis]
        first = numpy.zeros(cache.shape[0], numpy.int64) if starts is None else starts
        if self.mode == "circular":
            return (first[:, None] + numpy.arange(count)) % size
        return numpy.clip(first, 0, size - count)[:, None] + numpy.arange(count)

    def forward(self, cache, rows, starts=None):
        axis, result = self.axis % cache.ndim, cache.copy()
        for member, places in enumerate(self.places(cache, rows, starts)):
            numpy.moveaxis(result[member], axis - 1, 0)[places] = numpy.moveaxis(rows[member], axis - 1, 0)
        return result

    def backward(self, gradients, inputs, outputs):
        (gradient,), (cache, rows, *starts) = gradients, inputs
        axis, kept, by_rows = self.axis % cache.ndim, gradient.copy(), numpy.empty_like(rows)
        for member, places in enumerate(self.places(cache, rows, starts[0] if starts else None)):
            numpy.moveaxis(by_rows[member], axis - 1, 0)[...] = numpy.moveaxis(gradient[member], axis - 1, 0)[places]
            numpy.moveaxis(kept[member], axis - 1, 0)[places] = 0
        return kept, by_rows, None

    @classmethod
    def samples(cls):
        cache, rows = numbers(2, 3, 5, 2), numbers(2, 3, 2, 2, seed=1)
        return (
            Sample(cls(), (cache, rows, numpy.array([1, 4]))),
            Sample(cls(mode="circular"), (cache, rows, numpy.array([4, 0]))),
            Sample(cls(1), (cache, numbers(2, 1, 5, 2, seed=1), None)),
        )
