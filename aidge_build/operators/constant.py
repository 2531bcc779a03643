# SPDX-License-Identifier: MIT
"""Operators with a result that is known at import: constants, shapes, ranges. The importer evaluates them at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.register import operator


@operator("Constant")
@dataclass(frozen=True, eq=False)
class Constant(Operator):
    """These values. Source: ONNX operator Constant; Shape and Size become one, too."""

    values: numpy.ndarray = None

    @classmethod
    def from_onnx(cls, source):
        names = ("value", "value_float", "value_floats", "value_int", "value_ints")
        source.expect_attributes(*names)
        given = [name for name in names if source.has_attribute(name)]
        require(len(given) == 1, f"{len(given)} values are given, wants one")
        (name,) = given
        if name == "value":
            return cls(source.tensor(name))
        if "float" in name:
            return cls(numpy.array(source.reals(name) if name.endswith("s") else source.real(name), numpy.float32))
        return cls(numpy.array(source.integers(name) if name.endswith("s") else source.integer(name), numpy.int64))

    def infer(self, inputs):
        return (TensorType(tuple(self.values.shape), DType(self.values.dtype.name)),)

    def forward(self):
        return self.values


@operator("Shape")
class Shape(Operator):
    """The dims of the input, as a constant. Source: ONNX operator Shape."""

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("end", "start")
        dims = source.input(0).dims
        first, last, _ = slice(source.integer("start", 0), source.integer("end", len(dims))).indices(len(dims))
        return Constant(numpy.array(dims[first:last], numpy.int64)), ()


@operator("Size")
class Size(Operator):
    """The number of elements of the input, as a constant. Source: ONNX operator Size."""

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes()
        return Constant(numpy.array(math.prod(source.input(0).dims), numpy.int64)), ()


@operator("ConstantOfShape")
class ConstantOfShape(Operator):
    """A tensor of these dims full of one value. Source: ONNX operator ConstantOfShape."""

    dims: tuple[int, ...] = ()
    value: int | float | bool = 0.0
    dtype: DType = DType.float32

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("value")
        value = source.tensor("value", numpy.zeros(1, numpy.float32))
        require(value.size == 1, f"the value has {value.size} elements, wants one")
        declared = source.declared_dims(0)
        if not source.input(0).is_constant and declared is not None:
            return Fill(declared, value.reshape(()).item(), DType(value.dtype.name))
        return cls(source.constant_integers(0), value.reshape(()).item(), DType(value.dtype.name)), ()

    def infer(self, inputs):
        require(all(size >= 0 for size in self.dims), f"the shape {list(self.dims)} holds a negative number")
        return (TensorType(self.dims, self.dtype),)

    def forward(self):
        return numpy.full(self.dims, self.value, self.dtype.numpy)


@operator("Range")
class Range(Operator):
    """start, start + delta, ... up to but without limit. Source: ONNX operator Range."""

    start: int | float = 0
    delta: int | float = 1
    count: int = 0
    dtype: DType = DType.int64

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("stash_type")
        declared = source.declared_dims(0)
        if not all(source.input(index).is_constant for index in range(3)) and declared is not None:
            return Count(declared)
        values = [source.constant_input(index) for index in range(3)]
        require(all(value.size == 1 for value in values), "start, limit and delta must be single numbers")
        start, limit, delta = (value.reshape(()).item() for value in values)
        require(all(map(math.isfinite, (start, limit, delta))) and delta != 0, f"start {start}, limit {limit}, delta {delta}")
        steps = math.ceil((limit - start) / delta) if source.input(0).dtype.is_float else -((start - limit) // delta)
        return cls(start, delta, max(0, steps), source.input(0).dtype), ()

    def infer(self, inputs):
        return (TensorType((self.count,), self.dtype),)

    def forward(self):
        return self.start + numpy.arange(self.count) * self.delta


class Fill(ConstantOfShape):
    """`value`, as often as the run-time shape has elements, at most `dims`; then zeros. Replaces ConstantOfShape."""

    empties: ClassVar = True

    def infer(self, inputs):
        (shape,) = inputs
        require(
            shape.dtype is DType.int64 and shape.dims == (len(self.dims),), f"the shape is {shape}, wants int64[{len(self.dims)}]"
        )
        return super().infer(())

    def forward(self, shape):
        flat = numpy.zeros(math.prod(self.dims), self.dtype.numpy)
        flat[: max(0, min(math.prod(int(size) for size in shape), flat.size))] = self.value
        return flat.reshape(self.dims)


@dataclass(frozen=True)
class Count(Operator):
    """start, start + delta, ... up to but without limit, at most `dims` numbers; then zeros. Replaces a Range of run time."""

    empties: ClassVar = True

    dims: tuple[int, ...] = ()

    def infer(self, inputs):
        require(len(self.dims) == 1, f"the result is declared {list(self.dims)}, wants one axis")
        for tensor in inputs:
            require(
                tensor.elements == 1 and tensor.dtype is inputs[0].dtype,
                "start, limit and delta must be single numbers of one type",
            )
        return (TensorType(self.dims, inputs[0].dtype),)

    def forward(self, start, limit, delta):
        start, limit, delta = (value.reshape(()) for value in (start, limit, delta))
        found = start + numpy.arange(self.dims[0]).astype(start.dtype) * delta
        return numpy.where(found < limit if delta > 0 else found > limit, found, 0)
