# SPDX-License-Identifier: MIT
"""A tensor of the file as the import sees it: numpy's type, elements of constants, quantization."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.sources.formats.tflite.file import TfliteQuantization, TfliteTensor
from aidge_build.sources.formats.tflite.order import Order, file_order

# Element types that have none of their own here are widened: constants only.
_WIDENED = {"FLOAT16": numpy.float16, "INT4": numpy.int8}
TYPES = {
    "FLOAT32": DType.float32,
    "FLOAT16": DType.float32,
    "INT4": DType.int8,
    "INT8": DType.int8,
    "INT16": DType.int16,
    "INT32": DType.int32,
    "INT64": DType.int64,
    "UINT8": DType.uint8,
    "UINT16": DType.uint16,
    "UINT32": DType.uint32,
    "BOOL": DType.bool,
}
QUANTIZED = (DType.int8, DType.uint8, DType.int16)  # types of stored values with a real meaning


@dataclass(frozen=True, eq=False)
class Value:
    """`dims`, `data` and the axis of the quantization count as in the file; `order` is the order of axes of `name` in the graph.

    `stated` are scales that the file gives for integer types outside of `QUANTIZED`: for a bias, which has zero points 0.
    """

    index: int
    name: str
    dims: tuple[int, ...]
    open_dims: tuple[int, ...]
    dtype: DType
    quantization: Quantization | None
    order: Order
    data: numpy.ndarray | None = None
    stated: tuple[float, ...] = ()

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.dims)

    @property
    def is_constant(self) -> bool:
        """Whether its elements are known."""
        return self.data is not None

    def __str__(self) -> str:
        return f"{self.dtype.name}{list(self.dims)}"


def refused_type(tensor: TfliteTensor, computed: bool) -> str:
    """Returns why no graph holds such a tensor; "" for a tensor that a graph may hold."""
    if tensor.type not in TYPES or computed and tensor.type in _WIDENED:
        kind = "computed" if computed else "constant"
        return f"tensor '{tensor.name}' is {tensor.type}, which is not supported for a {kind} tensor"
    if tensor.is_sparse:
        return f"tensor '{tensor.name}' is sparse; store it dense"
    return ""


def value_of(tensor: TfliteTensor, name: str, order: Order) -> Value:
    """The tensor with the elements that the file holds."""
    dtype = TYPES[tensor.type]
    quantization = _quantization(tensor) if dtype in QUANTIZED else None
    stated = tensor.quantization.scales if tensor.quantization is not None and quantization is None else ()
    data = None if tensor.raw is None and 0 not in tensor.dims else _elements(tensor)
    if data is not None and quantization is not None and not quantization.per_tensor:
        data = _pruned(data, tensor.quantization.scales, quantization)
    return Value(tensor.index, name, tensor.dims, tensor.open_dims, dtype, quantization, order, data, stated)


def in_file(tensor: TfliteTensor, is_computed: bool) -> Value:
    """Returns the file's facts about a tensor, in the file's order; a computed tensor has no elements."""
    value = value_of(tensor, tensor.name, file_order(len(tensor.dims)))
    return replace(value, data=None) if is_computed else value


def _quantization(tensor: TfliteTensor) -> Quantization | None:
    found = tensor.quantization
    if found is None:
        return None
    axis = None if len(found.scales) == 1 else found.axis
    if axis is not None and not (0 <= axis < len(tensor.dims) and tensor.dims[axis] == len(found.scales)):
        raise AidgeError(
            f"tensor '{tensor.name}' has the dims {list(tensor.dims)} and {len(found.scales)} scales on axis {axis}",
            code="QUANTIZATION",
        )
    try:
        quantization = Quantization(_scales(tensor, found), found.zero_points, axis)
    except AidgeError as error:
        raise error.within(f"tensor '{tensor.name}'")
    low, high = TYPES[tensor.type].range
    if any(not low <= point <= high for point in found.zero_points):
        raise AidgeError(f"tensor '{tensor.name}' has a zero point outside of {tensor.type}", code="QUANTIZATION")
    return quantization


def _scales(tensor: TfliteTensor, found: TfliteQuantization) -> tuple[float, ...]:
    """Returns the file's scales. For constants that are all 0, and for pruned channels, a converter writes the scale 0 but
    derives other values from the smallest normal float32; that is returned in place of 0. Such elements are 0 in any scale, and
    with this scale the factors of their products stay within bounds.
    """
    is_zero = not (any(found.scales) or any(found.zero_points) or tensor.raw is None or any(tensor.raw))
    if tensor.raw is None or not (is_zero or len(found.scales) > 1):
        return found.scales
    return tuple(scale or float(numpy.finfo(numpy.float32).tiny) for scale in found.scales)


def _pruned(data: numpy.ndarray, stated: tuple[float, ...], quantization: Quantization) -> numpy.ndarray:
    """The elements, where a channel's scale is 0 its zero point: the real number 0, whatever is stored."""
    dead = quantization.along(tuple(scale == 0 for scale in stated), data.ndim, bool)
    return numpy.where(dead, quantization.along(quantization.zero_points, data.ndim, data.dtype), data)


def _elements(tensor: TfliteTensor) -> numpy.ndarray:
    raw: memoryview | bytes = b"" if tensor.raw is None else tensor.raw
    count: int = math.prod(tensor.dims)
    stored = numpy.dtype(_WIDENED.get(tensor.type, TYPES[tensor.type].numpy))
    wanted = (count + 1) // 2 if tensor.type == "INT4" else count * stored.itemsize
    if len(raw) != wanted:
        raise AidgeError(
            f"the constant '{tensor.name}' has {len(raw)} bytes, its dims {list(tensor.dims)} want {wanted}", code="MODEL_FILE"
        )
    values = numpy.frombuffer(raw, stored.newbyteorder("<")) if count else numpy.empty(0, stored)
    if tensor.type == "INT4":
        values = _halves(values, count)
    return values.astype(TYPES[tensor.type].numpy).reshape(tensor.dims)


def _halves(packed: numpy.ndarray, count: int) -> numpy.ndarray:
    """Returns the two numbers of four bits in each byte, the low half first."""
    low, high = (packed << 4).astype(numpy.int8) >> 4, packed.astype(numpy.int8) >> 4
    return numpy.stack([low, high], axis=-1).reshape(-1)[:count]
