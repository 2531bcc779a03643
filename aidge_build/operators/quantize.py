# SPDX-License-Identifier: MIT
"""QuantizeLinear and DequantizeLinear as the file writes them; recipes turn them into quantized tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.operators.axes import counted_axis
from aidge_build.operators.base import Operator, TensorType, require

QUANTIZED_TYPES = (DType.int8, DType.uint8, DType.int16, DType.uint16)


@dataclass(frozen=True)
class QuantizationNode(Operator):
    """Base of both: data, constant scale (one number, or one per index of `axis`), optional constant zero point."""

    folds: ClassVar = False

    axis: int = 1

    @classmethod
    def _axis(cls, source) -> int:
        require(source.integer("block_size", 0) == 0, "blocked quantization (block_size) is not supported")
        scale, rank = source.constant_input(1), source.input(0).rank
        source.optional_constant(2)
        # A per-tensor scale leaves the attribute without meaning, so it may be out of range.
        return counted_axis(source.integer("axis", 1), rank) if scale.ndim == 1 and scale.size > 1 else 0

    def _check(self, data, scale, zero_point, dtype: DType) -> None:
        require(scale.rank <= 1, f"the scale has the dims {list(scale.dims)}; one number or a list is supported")
        require(scale.dims in ((), (1,)) or scale.dims == (data.dims[self.axis],),
                f"{scale.elements} scales, but axis {self.axis} has {data.dims[self.axis:self.axis + 1]} elements")
        bad = scale.data[~(numpy.isfinite(scale.data) & (scale.data > 0))]
        require(bad.size == 0, f"the scale '{scale.name}' holds {', '.join(map(str, bad[:1]))}, wants positive finite numbers")
        if zero_point is not None:
            require(zero_point.dtype is dtype,
                    f"the zero point '{zero_point.name}' is {zero_point.dtype.name}, the data {dtype.name}")
            require(zero_point.dims == scale.dims or zero_point.elements == scale.elements == 1,
                    f"the zero point has the dims {list(zero_point.dims)}, the scale {list(scale.dims)}")

    def forward_quantized(self, values, inputs, outputs):
        """The node itself says how: its scale and zero point are inputs, whatever the tensors carry."""
        return (self.forward(*values),)

    def quantization(self, scale, zero_point) -> Quantization:
        """What the constant tensors say, as the property of a tensor."""
        scales = tuple(float(value) for value in numpy.float32(scale.data).reshape(-1))
        points = (0,) * len(scales) if zero_point is None else tuple(int(value) for value in zero_point.data.reshape(-1))
        return Quantization(scales, points, self.axis if len(scales) > 1 else None)

    def forward_quantized(self, values, inputs, outputs):
        """These nodes speak about stored values themselves, whatever quantization the tensors carry."""
        return (self.forward(*values),)

    def _along(self, values: numpy.ndarray, rank: int) -> numpy.ndarray:
        if values.size == 1:
            return values.reshape(())
        shape = [1] * rank
        shape[self.axis] = -1
        return values.reshape(shape)


@dataclass(frozen=True)
class QuantizeLinear(QuantizationNode):
    """y = saturate(rint_half_even(float32(x / scale)) + zero point). Source: ONNX operator QuantizeLinear."""

    onnx_names: ClassVar = ("QuantizeLinear",)

    dtype: DType = DType.uint8

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis", "block_size", "output_dtype", "precision", "saturate")
        require(source.integer("precision", 1) in (0, 1), "only division in float32 is supported (attribute precision)")
        zero_point = source.optional_input(2)
        named = source.dtype("output_dtype", None) if source.integer("output_dtype", 0) else None
        dtype = zero_point.dtype if zero_point is not None else named or DType.uint8
        require(named is None or named is dtype, f"output_dtype is {named.name if named else ''}, the zero point {dtype.name}")
        require(dtype in QUANTIZED_TYPES, f"quantizing to {dtype.name} is not supported")
        return cls(cls._axis(source), dtype)

    def infer(self, inputs):
        data, scale, *zero_point = inputs
        require(data.dtype is DType.float32 and scale.dtype is DType.float32,
                f"the input is {data.dtype.name}, the scale {scale.dtype.name}; float32 is supported")
        self._check(data, scale, zero_point[0] if zero_point else None, self.dtype)
        return (TensorType(data.dims, self.dtype),)

    def forward(self, data, scale, zero_point=None):
        # The values came as float64 without change, so this is the float32 division that ONNX asks for.
        quotients = data.astype(numpy.float32) / self._along(scale.astype(numpy.float32), data.ndim)
        levels = numpy.nan_to_num(numpy.rint(quotients).astype(numpy.float64), nan=0.0, posinf=numpy.inf, neginf=-numpy.inf)
        shift = 0.0 if zero_point is None else self._along(zero_point.astype(numpy.float64), data.ndim)
        low, high = self.dtype.range
        return numpy.clip(levels + shift, low, high).astype(self.dtype.numpy)


@dataclass(frozen=True)
class DequantizeLinear(QuantizationNode):
    """y = (x - zero point) * scale in float32. Source: ONNX operator DequantizeLinear."""

    onnx_names: ClassVar = ("DequantizeLinear",)

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis", "block_size", "output_dtype")
        number = source.integer("output_dtype", 0)
        require(not number or source.dtype("output_dtype") is DType.float32, "output_dtype must be float32")
        return cls(cls._axis(source))

    def infer(self, inputs):
        data, scale, *zero_point = inputs
        require(scale.dtype is DType.float32, f"the scale is {scale.dtype.name}; float32 is supported")
        require(data.dtype in (*QUANTIZED_TYPES, DType.int32), f"dequantizing {data.dtype.name} is not supported")
        self._check(data, scale, zero_point[0] if zero_point else None, data.dtype)
        return (TensorType(data.dims, DType.float32),)

    def forward(self, data, scale, zero_point=None):
        shift = 0 if zero_point is None else self._along(zero_point.astype(numpy.int64), data.ndim)
        return (data.astype(numpy.int64) - shift).astype(numpy.float32) * self._along(scale.astype(numpy.float32), data.ndim)
