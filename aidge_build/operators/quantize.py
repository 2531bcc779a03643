# SPDX-License-Identifier: MIT
"""QuantizeLinear and DequantizeLinear as the file writes them; recipes turn them into quantized tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.operators.axes import counted_axis
from aidge_build.operators.bands import ROWS, same_rows
from aidge_build.operators.base import Activated, Operator, TensorType, require
from aidge_build.operators.groups import same_channels
from aidge_build.operators.register import operator

QUANTIZED_TYPES = (DType.int8, DType.uint8, DType.int16, DType.uint16)
ANY_AXIS = 0  # of a node with one scale: its axis is not read


@dataclass(frozen=True)
class QuantizationNode(Operator):
    """Base of both: data, constant scale (one number, or one per index of `axis`), optional constant zero point.

    Both have a gradient for training with quantization (Bengio et al., "Estimating or propagating gradients through stochastic
    neurons", 2013): together they pass it for values that are not saturated.
    """

    folds: ClassVar = False
    straight_through: ClassVar = True

    axis: int = 1

    @classmethod
    def _is_plain(cls, source) -> bool:
        """Whether scale and zero point are constant, and one number or a list."""
        parameters = [tensor for tensor in map(source.optional_input, (1, 2)) if tensor is not None]
        return not source.integer("block_size", 0) and all(tensor.is_constant for tensor in parameters)

    @classmethod
    def _axis(cls, source) -> int:
        scale, rank = source.constant_input(1), source.input(0).rank
        source.optional_constant(2)
        # A per-tensor scale leaves the attribute without meaning, so it may be out of range.
        return counted_axis(source.integer("axis", 1), rank) if scale.ndim == 1 and scale.size > 1 else ANY_AXIS

    def _check(self, data, scale, zero_point, dtype: DType) -> None:
        require(scale.rank <= 1, f"the scale has the dims {list(scale.dims)}; one number or a list is supported")
        require(
            scale.dims in ((), (1,)) or scale.dims == (data.dims[self.axis],),
            f"{scale.elements} scales, but axis {self.axis} has {data.dims[self.axis : self.axis + 1]} elements",
        )
        good = (scale.data > 0) | (scale.data == 0) & self._may_be_pruned(data, scale)
        bad = scale.data[~(numpy.isfinite(scale.data) & good)]
        require(bad.size == 0, f"the scale '{scale.name}' holds {', '.join(map(str, bad[:1]))}, wants positive finite numbers")
        if zero_point is not None:
            require(
                zero_point.dtype is dtype, f"the zero point '{zero_point.name}' is {zero_point.dtype.name}, the data {dtype.name}"
            )
            require(
                zero_point.dims == scale.dims or zero_point.elements == scale.elements == 1,
                f"the zero point has the dims {list(zero_point.dims)}, the scale {list(scale.dims)}",
            )

    def _may_be_pruned(self, data, scale) -> bool:
        """Whether a scale of 0 has a meaning."""
        return False

    def forward_quantized(self, values, inputs, outputs):
        """Returns `forward`: scale and zero point are inputs of the node, whatever quantization the tensors have."""
        return (self.forward(*values),)

    def group(self, inputs, outputs, channels):
        return same_channels(self, inputs, outputs) if inputs[1].elements == 1 else None

    def band(self, inputs, outputs, first, last):
        each = inputs[1].elements > 1 and self.axis == ROWS
        return None if each else same_rows(self, inputs, outputs, first, last)

    def quantization(self, scale, zero_point) -> Quantization:
        """Returns the constant scale and zero point as the property of a tensor."""
        scales = tuple(float(value) for value in numpy.float32(scale.data).reshape(-1))
        points = (0,) * len(scales) if zero_point is None else tuple(int(value) for value in zero_point.data.reshape(-1))
        return Quantization(scales, points, self.axis if len(scales) > 1 else None)

    def _along(self, values: numpy.ndarray, rank: int) -> numpy.ndarray:
        if values.size == 1:
            return values.reshape(())
        shape = [1] * rank
        shape[self.axis] = -1
        return values.reshape(shape)


@operator("QuantizeLinear", "com.microsoft::QuantizeLinear")
class QuantizeLinear(QuantizationNode):
    """y = saturate(rint_half_even(float32(x / scale)) + zero point).

    Source: ONNX operator QuantizeLinear (also of com.microsoft).
    """

    dtype: DType = DType.uint8

    def rounds(self, inputs, outputs):
        """Always true: its scale is an input, even if the output does not state it."""
        return True

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis", "block_size", "output_dtype", "precision", "saturate")
        require(source.integer("precision", 1) in (0, 1), "only division in float32 is supported (attribute precision)")
        zero_point = source.optional_input(2)
        named = source.dtype("output_dtype", None) if source.integer("output_dtype", 0) else None
        dtype = zero_point.dtype if zero_point is not None else named or DType.uint8
        require(named is None or named is dtype, f"output_dtype is {named.name if named else ''}, the zero point {dtype.name}")
        require(dtype in QUANTIZED_TYPES, f"quantizing to {dtype.name} is not supported")
        if not cls._is_plain(source):
            return QuantizeByInput.made(source, dtype)
        return cls(cls._axis(source), dtype)

    def infer(self, inputs):
        data, scale, *zero_point = inputs
        require(
            data.dtype is DType.float32 and scale.dtype is DType.float32,
            f"the input is {data.dtype.name}, the scale {scale.dtype.name}; float32 is supported",
        )
        self._check(data, scale, zero_point[0] if zero_point else None, self.dtype)
        return (TensorType(data.dims, self.dtype),)

    def forward(self, data, scale, zero_point=None):
        # The values came as float64 without change, so this is the float32 division that ONNX asks for.
        quotients = data.astype(numpy.float32) / self._along(scale.astype(numpy.float32), data.ndim)
        levels = numpy.nan_to_num(numpy.rint(quotients).astype(numpy.float64), nan=0.0, posinf=numpy.inf, neginf=-numpy.inf)
        shift = 0.0 if zero_point is None else self._along(zero_point.astype(numpy.float64), data.ndim)
        low, high = self.dtype.range
        return numpy.clip(levels + shift, low, high).astype(self.dtype.numpy)

    def backward(self, gradients, inputs, outputs):
        data, scale, *zero_point = inputs
        scale = self._along(scale, data.ndim)
        shift = self._along(zero_point[0].astype(numpy.float64), data.ndim) if zero_point and zero_point[0] is not None else 0.0
        low, high = self.dtype.range
        levels = data / scale + shift
        inside = (low - 0.5 <= levels) & (levels <= high + 0.5)
        return (gradients[0] * inside / scale, *(None,) * (len(inputs) - 1))


@operator("DequantizeLinear", "com.microsoft::DequantizeLinear")
class DequantizeLinear(QuantizationNode):
    """y = (x - zero point) * scale in float32. Source: ONNX operator DequantizeLinear (also of com.microsoft)."""

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("axis", "block_size", "output_dtype")
        number = source.integer("output_dtype", 0)
        require(not number or source.dtype("output_dtype") is DType.float32, "output_dtype must be float32")
        if not cls._is_plain(source):
            return DequantizeByInput.made(source, DType.float32)
        return cls(cls._axis(source))

    def _may_be_pruned(self, data, scale):
        return data.is_constant or scale.elements == 1

    def infer(self, inputs):
        data, scale, *zero_point = inputs
        require(scale.dtype is DType.float32, f"the scale is {scale.dtype.name}; float32 is supported")
        require(data.dtype in (*QUANTIZED_TYPES, DType.int32), f"dequantizing {data.dtype.name} is not supported")
        self._check(data, scale, zero_point[0] if zero_point else None, data.dtype)
        return (TensorType(data.dims, DType.float32),)

    def forward(self, data, scale, zero_point=None):
        shift = 0 if zero_point is None else self._along(zero_point.astype(numpy.int64), data.ndim)
        return (data.astype(numpy.int64) - shift).astype(numpy.float32) * self._along(scale.astype(numpy.float32), data.ndim)

    def backward(self, gradients, inputs, outputs):
        return (gradients[0] * self._along(inputs[1], gradients[0].ndim), *(None,) * (len(inputs) - 1))


@dataclass(frozen=True)
class ByInput(Operator):
    """Base: quantization with a scale and zero point computed at run time, or with one each for every `block` elements along
    `axis`."""

    axis: int = 0
    block: int = 0
    dtype: DType = DType.uint8

    @classmethod
    def made(cls, source, dtype: DType) -> ByInput:
        """Returns the operator of a QuantizeLinear or DequantizeLinear node."""
        scale, rank, block = source.input(1), source.input(0).rank, source.integer("block_size", 0)
        many = scale.rank > 1 or scale.elements > 1
        axis = counted_axis(source.integer("axis", 1), rank) if many else 0
        require(source.optional_input(2) is None or source.input(2).dims == scale.dims, "scale and zero point differ in dims")
        return cls(axis, block, dtype)

    def infer(self, inputs):
        data, scale, *rest = inputs
        require(
            data.dtype is DType.float32 or scale.dtype is DType.float32 and data.dtype in (*QUANTIZED_TYPES, DType.int32),
            f"the input is {data.dtype.name}, the scale {scale.dtype.name}",
        )
        self.broadcast_views(data.dims, scale.dims)
        return (TensorType(data.dims, self.dtype),)

    def broadcast_views(self, dims: tuple[int, ...], scale: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Returns dims of the data and of the scale with which the scale broadcasts."""
        axis = self.axis
        if self.block:
            wanted = (*dims[:axis], -(-dims[axis] // self.block), *dims[axis + 1 :])
            require(
                scale == wanted and dims[axis] % self.block == 0, f"the scale has the dims {list(scale)}, wants {list(wanted)}"
            )
            return (*dims[:axis], wanted[axis], self.block, *dims[axis + 1 :]), (*wanted[: axis + 1], 1, *wanted[axis + 1 :])
        if scale in ((), (1,)):
            return dims, (1,) * len(dims)
        require(scale == (dims[axis],), f"the scale has the dims {list(scale)}, wants [{dims[axis]}]")
        return dims, tuple(size if place == axis else 1 for place, size in enumerate(dims))

    def group(self, inputs, outputs, channels):
        return same_channels(self, inputs, outputs) if inputs[1].elements == 1 else None

    def band(self, inputs, outputs, first, last):
        each = inputs[1].elements > 1 and (self.axis == ROWS or self.block)
        return None if each else same_rows(self, inputs, outputs, first, last)

    def forward_quantized(self, values, inputs, outputs):
        """Returns `forward`: scale and zero point are inputs of the node, whatever quantization the tensors have."""
        return (self.forward(*values),)


class QuantizeByInput(ByInput):
    """y = saturate(rint_half_even(x / scale) + zero point) with run-time parameters. Replaces QuantizeLinear."""

    def forward(self, data, scale, zero_point=None):
        dims, along = self.broadcast_views(data.shape, scale.shape)
        quotients = data.astype(numpy.float32).reshape(dims) / scale.astype(numpy.float32).reshape(along)
        levels = numpy.nan_to_num(numpy.rint(quotients).astype(numpy.float64), nan=0.0, posinf=numpy.inf, neginf=-numpy.inf)
        levels = levels + (0 if zero_point is None else zero_point.astype(numpy.float64).reshape(along))
        return numpy.clip(levels, *self.dtype.range).astype(self.dtype.numpy).reshape(data.shape)


class DequantizeByInput(ByInput):
    """y = (x - zero point) * scale with run-time parameters. Replaces DequantizeLinear."""

    def forward(self, data, scale, zero_point=None):
        dims, along = self.broadcast_views(data.shape, scale.shape)
        shift = 0 if zero_point is None else zero_point.astype(numpy.int64).reshape(along)
        real = (data.astype(numpy.int64).reshape(dims) - shift).astype(numpy.float32) * scale.astype(numpy.float32).reshape(along)
        return real.reshape(data.shape)


_REAL = numpy.finfo(numpy.float32)


@operator("DynamicQuantizeLinear")
class DynamicQuantizeLinear(Activated):
    """uint8 values, scale and zero point of a tensor, clamped ahead, from its own range including 0.

    A clamp begins at 0 and ends where numbers have all their bits: it is then enough to clamp the range. Values below it
    become 0, and values beyond it 255, the quantized value of 255 scales within their last bits.
    Source: ONNX operator DynamicQuantizeLinear; recipes add the clamp (`clamp_levels`).
    """

    @staticmethod
    def may_clamp(minimum: float, maximum: float) -> bool:
        """Whether clamping the range is enough."""
        return bool(minimum == 0 and (maximum == numpy.inf or 256 * _REAL.tiny <= maximum <= _REAL.max))

    def infer(self, inputs):
        (data,) = inputs
        require(not self.clamps or self.may_clamp(self.minimum, self.maximum), f"a clamp from {self.minimum} to {self.maximum}")
        return TensorType(data.dims, DType.uint8), TensorType((), DType.float32), TensorType((), DType.uint8)

    def forward(self, data):
        data = self.clamp(data.astype(numpy.float32))
        low, high = numpy.minimum(data.min(initial=0), 0), numpy.maximum(data.max(initial=0), 0)
        scale = numpy.float32(high - low) / numpy.float32(255)
        scale = scale if scale > 0 else numpy.float32(1)
        zero_point = numpy.clip(numpy.rint(-low / scale), 0, 255)
        levels = numpy.clip(numpy.rint(data / scale) + zero_point, 0, 255)
        return levels.astype(numpy.uint8), numpy.array(scale), numpy.array(zero_point, numpy.uint8)
