# SPDX-License-Identifier: MIT
"""Scaler of ai.onnx.ml, float32."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

_SPEC = ImplSpec(IOSpec(DType.float32, ROW_MAJOR))


@kernel("Scaler", _SPEC)
class Scaler(ElementWise):
    def call(self) -> Call:
        operator = self.operator
        columns = max(len(operator.offset), len(operator.scale))
        pairs = numpy.stack(
            [numpy.broadcast_to(numpy.array(values, numpy.float32), columns) for values in (operator.offset, operator.scale)], -1
        )
        return Call(
            "aidge_ref_scaler_float32",
            ("float32/scaler_float32.h",),
            (Input(0), Output(0), Constant("pairs", pairs.reshape(-1)), Literal(self.outputs[0].elements), Literal(columns)),
        )
