# SPDX-License-Identifier: MIT
"""Element types of tensors."""

from __future__ import annotations

import enum
from functools import cache, cached_property

import numpy
from numpy import ndarray  # within the class, `numpy` is a property


class DType(enum.Enum):
    """An element type; the value is numpy's name for it. `any*` and packed types occur in specs only, never on a tensor.

    `any` matches every type; `any_1` to `any_5` match any type, but each the same type everywhere in one spec. No tensor has a
    packed type (`int4`; `dual_int4`: two int4 in a byte): a spec that names one accepts no node.
    """

    float16 = "float16"
    float32 = "float32"
    float64 = "float64"
    int8 = "int8"
    int16 = "int16"
    int32 = "int32"
    int64 = "int64"
    uint8 = "uint8"
    uint16 = "uint16"
    uint32 = "uint32"
    uint64 = "uint64"
    bool = "bool"
    boolean = "bool"  # the inherited name
    int2 = "packed int2"
    int3 = "packed int3"
    int4 = "packed int4"
    uint2 = "packed uint2"
    uint3 = "packed uint3"
    uint4 = "packed uint4"
    binary = "packed binary"
    dual_int3 = "packed dual_int3"
    dual_int4 = "packed dual_int4"
    dual_uint3 = "packed dual_uint3"
    dual_uint4 = "packed dual_uint4"
    quad_int2 = "packed quad_int2"
    quad_uint2 = "packed quad_uint2"
    octo_binary = "packed octo_binary"
    complex64 = "packed complex64"
    any = "any"
    any_1 = "any_1"
    any_2 = "any_2"
    any_3 = "any_3"
    any_4 = "any_4"
    any_5 = "any_5"

    @cached_property
    def is_wildcard(self) -> builtins_bool:
        """Whether it matches more than one type."""
        return self.name.startswith("any")

    @cached_property
    def is_of_tensors(self) -> builtins_bool:
        """Whether a tensor may have it."""
        return self in C_TYPES

    @cached_property
    def numpy(self) -> numpy.dtype:
        """The type in numpy."""
        return numpy.dtype(self.value)

    @cached_property
    def size_bytes(self) -> int:
        """The bytes of one element."""
        return self.numpy.itemsize

    @cached_property
    def is_float(self) -> builtins_bool:
        """Whether its elements are floating-point numbers."""
        return self.name.startswith("float")

    @cached_property
    def c_type(self) -> str:
        """The C type that holds one element."""
        return C_TYPES[self]

    @cached_property
    def range(self) -> tuple[int, int]:
        """The smallest and largest value of an integer type."""
        limits = numpy.iinfo(self.numpy)
        return int(limits.min), int(limits.max)

    @property
    def values(self) -> ndarray:
        """All values of an integer type, from the smallest on."""
        low, high = self.range
        return numpy.arange(low, high + 1).astype(self.numpy)

    def holds(self, values: ndarray) -> builtins_bool:
        """Whether the integer type can represent each of these integers."""
        low, high = self.range
        return bool(((low <= values) & (values <= high)).all())

    def __repr__(self) -> str:
        return self.name


@cache
def element_type(kind: numpy.dtype) -> DType:
    """Returns the type of an array's elements, in any byte order; ValueError if no tensor has it. Cached: numpy builds the name
    again on each read."""
    return DType(kind.name)


builtins_bool = bool
dtype = DType  # the spelling of the inherited API: dtype.int8

C_TYPES = {
    DType.float16: "uint16_t",
    DType.float32: "float",
    DType.float64: "double",
    DType.int8: "int8_t",
    DType.int16: "int16_t",
    DType.int32: "int32_t",
    DType.int64: "int64_t",
    DType.uint8: "uint8_t",
    DType.uint16: "uint16_t",
    DType.uint32: "uint32_t",
    DType.uint64: "uint64_t",
    DType.bool: "uint8_t",
}
