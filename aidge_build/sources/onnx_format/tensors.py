# SPDX-License-Identifier: MIT
"""TensorProto to numpy: sizes are compared as Python integers before anything is allocated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy
import onnx

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.sources.onnx_format.text import text_of
from aidge_build.sources.onnx_format.types import NARROW, Narrow, dtype_of

_FIELDS = {
    DType.float32: "float_data",
    DType.float64: "double_data",
    DType.int64: "int64_data",
    DType.uint32: "uint64_data",
    DType.uint64: "uint64_data",
}
_EXTERNAL_KEYS = ("location", "offset", "length", "checksum", "basepath")


def read_tensor(proto: onnx.TensorProto, external: Mapping[str, bytes], narrow: bool = False) -> numpy.ndarray:
    """The values as a read-only array; text as an array of numpy's text type; with `narrow` elements of 2 and 4 bits as bytes."""
    dims = tuple(proto.dims)
    if any(size < 0 for size in dims):
        raise AidgeError(f"the dims {list(dims)} hold a negative number", code="TENSOR")
    if proto.HasField("segment"):
        raise AidgeError("tensors stored in segments are not supported", code="TENSOR")
    elements = math.prod(dims)
    if proto.data_type == onnx.TensorProto.STRING:
        return _text(proto, elements, dims)
    if narrow and proto.data_type in NARROW:
        return _unpacked(proto, NARROW[proto.data_type], elements, dims, external)
    dtype = dtype_of(proto.data_type)
    field = _FIELDS.get(dtype, "int32_data")
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        return _from_bytes(_external_bytes(proto, elements * dtype.size_bytes, external), dtype, dims)
    typed = getattr(proto, field)
    if proto.HasField("raw_data"):
        if len(typed):
            raise AidgeError(f"the values are stored twice, in raw_data and in {field}", code="TENSOR")
        _expect_size(len(proto.raw_data), elements * dtype.size_bytes, dims, dtype, "bytes")
        return _from_bytes(proto.raw_data, dtype, dims)
    _expect_size(len(typed), elements, dims, dtype, f"values in {field}")
    return _from_numbers(typed, dtype, dims)


def _unpacked(
    proto: onnx.TensorProto, narrow: Narrow, elements: int, dims: tuple[int, ...], external: Mapping[str, bytes]
) -> numpy.ndarray:
    """Returns elements that share bytes, the first one in the lowest bits."""
    count = -(-elements * narrow.bits // 8)
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        content = _external_bytes(proto, count, external)
    elif proto.HasField("raw_data"):
        content = proto.raw_data
    else:
        content = _in_range(proto.int32_data, DType.uint8).astype(numpy.uint8).tobytes()
    _expect_size(len(content), count, dims, narrow.dtype, f"bytes of {narrow.bits} bits for each element")
    return _frozen(unpacked(numpy.frombuffer(content, numpy.uint8), narrow)[:elements].reshape(dims))


def unpacked(content: numpy.ndarray, narrow: Narrow) -> numpy.ndarray:
    """The elements along the last axis of packed bytes, which may be more than there are elements."""
    parts = [content >> shift & (1 << narrow.bits) - 1 for shift in range(0, 8, narrow.bits)]
    values = numpy.stack(parts, axis=-1).reshape(*content.shape[:-1], -1).astype(numpy.int16)
    low, high = narrow.range
    return numpy.where(values > high, values + 2 * low, values).astype(narrow.dtype.numpy)


def _text(proto: onnx.TensorProto, elements: int, dims: tuple[int, ...]) -> numpy.ndarray:
    if len(proto.string_data) != elements:
        raise AidgeError(f"text{list(dims)} wants {elements} values, the file holds {len(proto.string_data)}", code="TENSOR")
    return _frozen(text_array(map(text_of, proto.string_data)).reshape(dims))


def text_array(words: Iterable[str]) -> numpy.ndarray:
    """Returns words as an array of Python's strings: numpy's text type pads each to the longest, and drops NUL at the end."""
    found = list(words)
    values = numpy.empty(len(found), object)
    values[:] = found
    return values


def names_a_file(data: bytes) -> bool:
    """Whether a model's bytes may name a file with weights: the key of its path is always written out."""
    return _EXTERNAL_KEYS[0].encode() in data


def external_location(proto: onnx.TensorProto) -> str | None:
    """The relative path of the file that holds the values, or None when they are in the model itself."""
    return _external_entries(proto)["location"] if proto.data_location == onnx.TensorProto.EXTERNAL else None


def _external_entries(proto: onnx.TensorProto) -> dict[str, str]:
    entries: dict[str, str] = {}
    for entry in proto.external_data:
        key = text_of(entry.key)
        if key not in _EXTERNAL_KEYS or key in entries:
            raise AidgeError(f"external data: unknown or repeated key {key!r}", code="EXTERNAL")
        entries[key] = text_of(entry.value)
    if not entries.get("location"):
        raise AidgeError("external data without a location", code="EXTERNAL")
    return entries


def _external_bytes(proto: onnx.TensorProto, wanted: int, external: Mapping[str, bytes]) -> bytes:
    entries = _external_entries(proto)
    location = entries["location"]
    offset, length = _count(entries, "offset", 0), _count(entries, "length", wanted)
    if location not in external:
        raise AidgeError(
            f"external data '{location}' is missing", code="EXTERNAL", hint="keep the data file in the folder of the model file"
        )
    if length != wanted:
        raise AidgeError(f"external data '{location}': length {length}, but dims and type want {wanted} bytes", code="EXTERNAL")
    content = external[location]
    if offset + length > len(content):
        raise AidgeError(
            f"external data '{location}' has {len(content)} bytes, the tensor is at {offset} to {offset + length}",
            code="EXTERNAL",
        )
    return content[offset : offset + length]


def _count(entries: Mapping[str, str], key: str, default: int) -> int:
    written = entries.get(key)
    if written is None:
        return default
    if not (written.isascii() and written.isdigit() and len(written) < 20):
        raise AidgeError(f"external data '{entries['location']}': {key} {written!r} is not a count of bytes", code="EXTERNAL")
    return int(written)


def _expect_size(found: int, wanted: int, dims: tuple[int, ...], dtype: DType, unit: str) -> None:
    if found != wanted:
        raise AidgeError(f"{dtype.name}{list(dims)} wants {wanted} {unit}, the file holds {found}", code="TENSOR")


def _from_bytes(content: bytes, dtype: DType, dims: tuple[int, ...]) -> numpy.ndarray:
    stored = numpy.frombuffer(content, numpy.dtype(numpy.uint8) if dtype is DType.bool else dtype.numpy.newbyteorder("<"))
    values = stored != 0 if dtype is DType.bool else stored.astype(dtype.numpy, copy=False)
    return _frozen(values.reshape(dims))


def _from_numbers(typed, dtype: DType, dims: tuple[int, ...]) -> numpy.ndarray:
    if dtype is DType.float16:
        return _frozen(_in_range(typed, DType.uint16).astype(numpy.uint16).view(numpy.float16).reshape(dims))
    if dtype is DType.bool:
        return _frozen((numpy.array(typed, numpy.int32) != 0).reshape(dims))
    values = numpy.array(typed, dtype.numpy) if dtype.is_float else _in_range(typed, dtype).astype(dtype.numpy)
    return _frozen(values.reshape(dims))


def _in_range(typed, dtype: DType) -> numpy.ndarray:
    values = numpy.array(typed, numpy.uint64 if dtype in (DType.uint32, DType.uint64) else numpy.int64)
    low, high = dtype.range
    if values.size and not (low <= int(values.min()) and int(values.max()) <= high):
        raise AidgeError(f"values outside the range of {dtype.name}", code="TENSOR")
    return values


def _frozen(values: numpy.ndarray) -> numpy.ndarray:
    values.flags.writeable = False
    return values
