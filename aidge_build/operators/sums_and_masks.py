# SPDX-License-Identifier: MIT
"""Running sums, one-hot codes and triangles of matrices."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy

from aidge_build.operators.axes import counted_axis
from aidge_build.operators.bands import ROWS, same_rows
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.kinds import Moved
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers


@operator("CumSum")
class CumSum(Operator):
    """The sum of all elements before (and, unless `exclusive`, at) each place along `axis`; `reverse` counts from the end.

    Source: ONNX operator CumSum, with a constant axis.
    """

    by_steps: ClassVar = True

    axis: int = 0
    exclusive: bool = False
    reverse: bool = False

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("exclusive", "reverse")
        axes = source.constant_integers(1)
        require(len(axes) == 1, f"axis has {len(axes)} numbers, wants one")
        return cls(
            counted_axis(axes[0], source.input(0).rank), bool(source.integer("exclusive", 0)), bool(source.integer("reverse", 0))
        ), source.input_names[:1]

    def infer(self, inputs):
        (data,) = inputs
        return (TensorType(data.dims, data.dtype),)

    def band(self, inputs, outputs, first, last):
        return None if self.axis == ROWS else same_rows(self, inputs, outputs, first, last)

    def forward(self, data):
        turned = numpy.flip(data, self.axis) if self.reverse else data
        if self.exclusive:
            turned = numpy.roll(turned, 1, self.axis)
            turned[(slice(None),) * self.axis + (slice(1),)] = 0
        sums = numpy.cumsum(turned, self.axis, dtype=data.dtype)
        return numpy.flip(sums, self.axis) if self.reverse else sums

    def backward(self, gradients, inputs, outputs):
        return (replace(self, reverse=not self.reverse).forward(gradients[0]),)

    @classmethod
    def samples(cls):
        forms = ((False, False), (False, True), (True, False), (True, True))
        return tuple(Sample(cls(1, exclusive, reverse), (numbers(2, 4),)) for exclusive, reverse in forms)


@operator("OneHot")
class OneHot(Operator):
    """The value `on` at the index along a new axis of length `depth`, `off` elsewhere; a wrong index gives no `on`.

    Inputs: indices, values [off, on]. Source: ONNX operator OneHot, with a constant depth.
    """

    axis: int = -1
    depth: int = 1

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis")
        depth = source.constant_input(1)
        require(depth.size == 1, f"depth has {depth.size} numbers, wants one")
        axis = counted_axis(source.integer("axis", -1), source.input(0).rank + 1)
        return cls(axis, int(depth.reshape(()).item())), (source.input_names[0], source.input_names[2])

    def infer(self, inputs):
        indices, values = inputs
        require(self.depth > 0, f"depth is {self.depth}")
        require(values.dims == (2,), f"the values have the dims {list(values.dims)}, want [2]")
        return (TensorType((*indices.dims[: self.axis], self.depth, *indices.dims[self.axis :]), values.dtype),)

    def forward(self, indices, values):
        places = numpy.arange(self.depth).reshape(-1, *(1,) * (indices.ndim - self.axis))
        indices = numpy.expand_dims(indices, self.axis)
        valid = (-self.depth <= indices) & (indices < self.depth)
        return numpy.where(valid & (numpy.mod(indices, self.depth).astype(numpy.int64) == places), values[1], values[0])


@operator("Trilu")
class Trilu(Moved):
    """The upper or lower triangle of matrices, from the diagonal `shift` on; zeros elsewhere. Source: ONNX operator Trilu."""

    empties: ClassVar = True

    upper: bool = True
    shift: int = 0

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("upper")
        shift = source.constant_integers(1) if source.optional_input(1) is not None else (0,)
        require(len(shift) == 1, f"k has {len(shift)} numbers, wants one")
        return cls(bool(source.integer("upper", 1)), shift[0]), source.input_names[:1]

    def infer(self, inputs):
        (data,) = inputs
        require(data.rank >= 2, f"the input has rank {data.rank}, wants at least 2")
        return (TensorType(data.dims, data.dtype),)

    def forward(self, data):
        return (numpy.triu if self.upper else numpy.tril)(data, self.shift)

    @classmethod
    def samples(cls):
        return tuple(Sample(cls(upper, shift), (numbers(2, 3, 4),)) for upper in (True, False) for shift in (-1, 0, 2))
