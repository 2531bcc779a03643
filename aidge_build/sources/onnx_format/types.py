# SPDX-License-Identifier: MIT
"""ONNX element types and ours."""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType

_DTYPES: dict[int, DType] = {
    onnx.TensorProto.FLOAT: DType.float32,
    onnx.TensorProto.DOUBLE: DType.float64,
    onnx.TensorProto.FLOAT16: DType.float16,
    onnx.TensorProto.INT8: DType.int8,
    onnx.TensorProto.INT16: DType.int16,
    onnx.TensorProto.INT32: DType.int32,
    onnx.TensorProto.INT64: DType.int64,
    onnx.TensorProto.UINT8: DType.uint8,
    onnx.TensorProto.UINT16: DType.uint16,
    onnx.TensorProto.UINT32: DType.uint32,
    onnx.TensorProto.UINT64: DType.uint64,
    onnx.TensorProto.BOOL: DType.bool,
}
ONNX_TYPE_NAMES: dict[DType, str] = {
    DType.float32: "tensor(float)",
    DType.float64: "tensor(double)",
    **{dtype: f"tensor({dtype.name})" for dtype in DType if dtype.is_of_tensors and dtype not in (DType.float32, DType.float64)},
}


@dataclass(frozen=True)
class Narrow:
    """An element type of less than a byte: `bits` of them, read as the whole type `dtype`."""

    bits: int
    dtype: DType

    @property
    def range(self) -> tuple[int, int]:
        """The lowest and the highest value."""
        return (-(1 << self.bits - 1), (1 << self.bits - 1) - 1) if self.dtype is DType.int8 else (0, (1 << self.bits) - 1)


NARROW: dict[int, Narrow] = {
    onnx.TensorProto.INT4: Narrow(4, DType.int8),
    onnx.TensorProto.UINT4: Narrow(4, DType.uint8),
    onnx.TensorProto.INT2: Narrow(2, DType.int8),
    onnx.TensorProto.UINT2: Narrow(2, DType.uint8),
}


_NUMBERS = {dtype: number for number, dtype in _DTYPES.items()}


def number_of(dtype: DType) -> int:
    """The ONNX element type number of our type."""
    return _NUMBERS[dtype]


def dtype_of(number: int) -> DType:
    """Returns the DType of an ONNX element type number; others are refused by their ONNX name."""
    if number in _DTYPES:
        return _DTYPES[number]
    names = {value: name for name, value in onnx.TensorProto.DataType.items()}
    raise AidgeError(
        f"the element type {names.get(number, number)} is not supported",
        code="TYPE",
        hint=f"supported are {', '.join(dtype.name for dtype in _DTYPES.values())}",
    )
