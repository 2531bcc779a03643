# SPDX-License-Identifier: MIT
"""Rows as bytes with a scale each."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Input, Literal, Output
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

_REAL = IOSpec(DType.float32, ROW_MAJOR)


@kernel("RowBytes", ImplSpec(inputs=(_REAL,), outputs=(IOSpec(DType.int8, ROW_MAJOR), _REAL)))
class RowBytes(KernelNode):
    def call(self) -> Call:
        rows, *others = self.inputs[0].dims
        shape = Literal(rows), Literal(math.prod(others))
        return Call("aidge_ref_row_bytes", ("float32/row_bytes.h",), (Input(0), Output(0), Output(1), *shape))
