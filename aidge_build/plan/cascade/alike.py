# SPDX-License-Identifier: MIT
"""Whether the calls of two bands are one C function with the same constants."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Literal, Struct


def alike(first: Call, other: Call) -> bool:
    """Whether two calls differ only in numbers and in the fields of structs."""
    if len(first.arguments) != len(other.arguments) or (first.function, first.texts) != (other.function, other.texts):
        return False
    return all(map(_are_alike, first.arguments, other.arguments))


def _are_alike(first: Argument, other: Argument) -> bool:
    if isinstance(first, Constant) and isinstance(other, Constant):
        return (
            first.name == other.name
            and first.values.dtype == other.values.dtype
            and numpy.array_equal(first.values.reshape(-1), other.values.reshape(-1), equal_nan=first.values.dtype.kind == "f")
        )
    if isinstance(first, Struct) and isinstance(other, Struct):
        return first.type == other.type and list(first.fields) == list(other.fields)
    return first == other or isinstance(first, Literal) and isinstance(other, Literal)
