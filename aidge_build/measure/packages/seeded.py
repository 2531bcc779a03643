# SPDX-License-Identifier: MIT
"""Inputs that a few lines of C make as well: the self-test of a package stores no input for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor

# x' = MULTIPLIER x + INCREMENT modulo 2^32 (Numerical Recipes in C, 7.1, after Knuth and Lewis). Only the upper half of x is
# used.
MULTIPLIER, INCREMENT, SEED = 1664525, 1013904223, 1
_HALF = 1 << 15


def numbers(count: int) -> numpy.ndarray:
    """The upper 16 bits of the first `count` members of the sequence: uint32 [count], each below 65536."""
    with numpy.errstate(over="ignore"):
        powers = numpy.cumprod(numpy.full(count, MULTIPLIER, numpy.uint32), dtype=numpy.uint32)
        sums = numpy.cumsum(numpy.concatenate([numpy.ones(1, numpy.uint32), powers[:-1]]), dtype=numpy.uint32)
        sequence = powers * numpy.uint32(SEED) + sums * numpy.uint32(INCREMENT)
    return sequence >> numpy.uint32(16)


def expression(tensor: Tensor) -> str:
    """Returns the C expression that turns a number `drawn(&seed)` into an element of this input."""
    kind = tensor.dtype
    if tensor.names:
        return f"({kind.c_type})((int32_t)(drawn(&seed) % {len(tensor.names) + 1}u) - 1)"
    if kind in (DType.float32, DType.float64):
        return f"({kind.c_type})((int32_t)drawn(&seed) - {_HALF}) / {_HALF}"
    if kind is DType.float16:
        return "(uint16_t)(drawn(&seed) & 0xbbffu)"
    if kind in (DType.int8, DType.uint8):
        low = -128 if kind is DType.int8 else 0
        return f"({kind.c_type})((int32_t)(drawn(&seed) >> 8){' - 128' if low else ''})"
    if kind in (DType.int16, DType.uint16):
        return f"({kind.c_type})((int32_t)drawn(&seed){f' - {_HALF}' if kind is DType.int16 else ''})"
    return f"({kind.c_type})(drawn(&seed) >> 15)"


def elements(tensor: Tensor, drawn: numpy.ndarray) -> numpy.ndarray:
    """The same elements in numpy, in the order and type in which the firmware has them.

    Integers of one or two bytes take all their values, floats are between -1 and 1, words any that the model knows or none; wider
    integers, which may be places, and bool are 0 and 1.
    """
    kind, wide = tensor.dtype, drawn.astype(numpy.int64)
    if tensor.names:
        return (wide % (len(tensor.names) + 1) - 1).astype(kind.numpy)
    if kind in (DType.float32, DType.float64):
        return ((wide - _HALF) / _HALF).astype(kind.numpy)
    if kind is DType.float16:
        return (wide & 0xBBFF).astype(numpy.uint16).view(numpy.float16)
    if kind in (DType.int8, DType.uint8):
        return ((wide >> 8) - (128 if kind is DType.int8 else 0)).astype(kind.numpy)
    if kind in (DType.int16, DType.uint16):
        return (wide - (_HALF if kind is DType.int16 else 0)).astype(kind.numpy)
    return (wide >> 15).astype(kind.numpy)


def seeded_vectors(inputs: Sequence[Tensor], count: int) -> dict[str, numpy.ndarray]:
    """Returns `count` vectors for these inputs, [vector, dims...] by name: drawn vector by vector, input by input, element by
    element."""
    sizes = [max(1, tensor.elements) for tensor in inputs]
    drawn = numbers(count * sum(sizes)).reshape(count, -1)
    starts = numpy.cumsum([0, *sizes])
    return {
        tensor.name: numpy.stack([tensor.from_stored(elements(tensor, row[start : start + size])) for row in drawn]).reshape(
            count, *tensor.dims
        )
        for tensor, start, size in zip(inputs, starts, sizes, strict=False)
    }
