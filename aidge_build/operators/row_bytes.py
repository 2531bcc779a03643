# SPDX-License-Identifier: MIT
"""Rows as bytes with a scale each: what a cache of keys and values holds if it shall need a quarter of the RAM."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.sample import Sample, numbers

LARGEST = 127
LEAST = 1e-30  # a row of smaller numbers counts as zeros


class RowBytes(Operator):
    """int8 rows [N, ...] and float32 scales [N, 1] of rows [N, ...]: scale = largest magnitude of the row / 127, level =
    rint(x * (127 / largest magnitude)), computed in float32; NaN has level 0. It has no ONNX name: only recipes make it."""

    by_steps: ClassVar = True

    def infer(self, inputs):
        (rows,) = inputs
        require(rows.dtype is DType.float32 and rows.rank > 0, f"the rows are {rows.dtype.name} of rank {rows.rank}")
        return TensorType(rows.dims, DType.int8), TensorType((rows.dims[0], 1), DType.float32)

    def forward(self, data):
        rows = data.reshape(len(data), math.prod(data.shape[1:]))
        largest = numpy.fmax.reduce(numpy.abs(rows), axis=1, keepdims=True, initial=LEAST).astype(numpy.float32)
        has_levels = largest > numpy.float32(LEAST)
        factors = numpy.where(has_levels, numpy.float32(LARGEST) / largest, numpy.float32(0))
        with numpy.errstate(invalid="ignore"):  # an infinite number times 0
            levels = numpy.nan_to_num(numpy.rint(rows.astype(numpy.float32) * factors), nan=0)
        scales = numpy.where(has_levels, largest / numpy.float32(LARGEST), numpy.float32(0))
        return levels.astype(numpy.int8).reshape(data.shape), scales

    @classmethod
    def samples(cls):
        return (Sample(cls(), (numbers(3, 2, 4),)),)
