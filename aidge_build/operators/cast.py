# SPDX-License-Identifier: MIT
"""Conversion between element types."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.bands import same_rows
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers


@operator("Cast")
class Cast(Operator):
    """The values in another type: to an integer towards zero, to a bool as != 0. Source: ONNX operator Cast."""

    to: DType = DType.float32

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("round_mode", "saturate", "to")  # the others only concern float8
        return cls(source.dtype("to"))

    def infer(self, inputs):
        (data,) = inputs
        return (TensorType(data.dims, self.to),)

    def band(self, inputs, outputs, first, last):
        return same_rows(self, inputs, outputs, first, last)

    def forward(self, data):
        if self.to.is_float:
            return data
        require(
            data.dtype.kind != "f" or bool(numpy.isfinite(data).all()) or self.to is DType.bool,
            f"NaN or infinity has no value in {self.to.name}",
        )
        return data.astype(self.to.numpy)

    def backward(self, gradients, inputs, outputs):
        return (gradients[0] if self.to.is_float and inputs[0].dtype.kind == "f" else None,)

    @classmethod
    def samples(cls):
        return Sample(cls(DType.float64), (numbers(2, 3),)), Sample(cls(DType.int32), (numbers(2, 3).astype(numpy.int8),))


@operator("CastLike")
class CastLike(Cast):
    """The values in the type of another tensor; it becomes a Cast to that type. Source: ONNX operator CastLike."""

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("round_mode", "saturate")
        return Cast(source.input(1).dtype), source.input_names[:1]
