# SPDX-License-Identifier: MIT
"""The gradient of a table if a pass read few rows: only these rows are stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy


@dataclass(frozen=True, eq=False)
class RowGradient(numpy.lib.mixins.NDArrayOperatorsMixin):
    """A gradient of shape `dims` that is zero except in `rows`; read as an array, it is the whole table.

    `rows` are ascending, each once, int64 [count]; `values` are their gradients, float64 [count, *dims[1:]].
    """

    dims: tuple[int, ...]
    rows: numpy.ndarray
    values: numpy.ndarray

    @classmethod
    def of_reads(cls, dims: tuple[int, ...], reads: numpy.ndarray, gradients: numpy.ndarray) -> RowGradient:
        """Returns the gradient of a table, given the `gradients` of the read rows, of shape [*reads.shape, *dims[1:]].

        A negative number in `reads` counts from the end, as in the ONNX operator Gather. A row that was read several times gets
        the sum of its gradients.
        """
        rows, places = numpy.unique(reads.reshape(-1) % max(dims[0], 1), return_inverse=True)
        sums = numpy.zeros((rows.size, *dims[1:]))
        numpy.add.at(sums, places.reshape(-1), gradients.reshape(reads.size, *dims[1:]))
        return cls(dims, rows, sums)

    def __array__(self, dtype=None, copy=None) -> numpy.ndarray:
        whole = numpy.zeros(self.dims, dtype or self.values.dtype)
        whole[self.rows] = self.values
        return whole

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        return getattr(ufunc, method)(*(numpy.asarray(one) if one is self else one for one in inputs), **keywords)

    def __getitem__(self, places):
        return numpy.asarray(self)[places]

    def __getattr__(self, name: str):
        if name.startswith("__"):  # numpy asks for other ways to read an array
            raise AttributeError(name)
        return getattr(numpy.asarray(self), name)

    def __add__(self, other):
        if not isinstance(other, RowGradient):
            return super().__add__(other)
        rows = numpy.concatenate([self.rows, other.rows])
        return RowGradient.of_reads(self.dims, rows, numpy.concatenate([self.values, other.values]))
