# SPDX-License-Identifier: MIT
"""`aidge_core.export_utils.data_conversion` as libraries of the inherited style import it: names of types in C."""

from __future__ import annotations

from collections.abc import Mapping

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import identifier
from aidge_build.graph.dtype import C_TYPES, DType

__all__ = ["aidge2c", "datatype_converter_aidge2c", "sanitize_cpp_identifier"]

# The C type of each element type. A library that takes float16 brings the class of that name.
datatype_converter_aidge2c: Mapping[DType, str] = {**C_TYPES, DType.float16: "half_float::half"}

sanitize_cpp_identifier = identifier


def aidge2c(datatype: DType, conversion_map: Mapping[DType, str] = datatype_converter_aidge2c) -> str:
    """The C type that holds an element of this type; AidgeError for one that has none."""
    if datatype not in conversion_map:
        raise AidgeError(
            f"the element type {datatype!r} has no C type", code="REGISTRY", tried=[kind.name for kind in conversion_map]
        )
    return conversion_map[datatype]
