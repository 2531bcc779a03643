# SPDX-License-Identifier: MIT
"""QuantizeLinear to int8 and DequantizeLinear from it without any float arithmetic."""

from __future__ import annotations

from dataclasses import astuple

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.float_thresholds import key_guess, quantize_keys
from aidge_build.operators.arithmetic.requantize import dequantize_linear

from ..shared.channels import LinearConversion
from ..shared.without_fpu import TABLE_PAYS

_PARAMETERS = IOSpec(DType.float32, ANY), IOSpec(DType.int8, ANY)
_REAL, _STORED = IOSpec(DType.float32, SAME), IOSpec(DType.int8, SAME)


@kernel("QuantizeLinear", ImplSpec((_REAL, *_PARAMETERS), (_STORED,), predicates=(CONSTANT_PARAMETERS, *TABLE_PAYS)))
class QuantizeByKeys(LinearConversion):
    def call(self) -> Call:
        steps = quantize_keys(self.quantization(), DType.int8)
        keys = numpy.append(numpy.int32([0]), steps)
        guess = key_guess(self.quantization(), steps)
        if guess is not None:
            return Call(
                "aidge_ref_quantize_by_guess",
                ("int8/quantize_by_guess.h",),
                (
                    Input(0),
                    Output(0),
                    Constant("keys", keys),
                    Constant("guess", numpy.array(astuple(guess), numpy.int64).astype(numpy.uint32).view(numpy.int32)),
                    Literal(self.outputs[0].elements),
                ),
            )
        of_nan = numpy.array([self.quantization().zero_point], numpy.int8)
        return Call(
            "aidge_ref_quantize_by_keys",
            ("int8/quantize_by_keys.h",),
            (Input(0), Output(0), Constant("keys", keys), Constant("of_nan", of_nan), Literal(self.outputs[0].elements)),
        )


@kernel("DequantizeLinear", ImplSpec((_STORED, *_PARAMETERS), (_REAL,), predicates=(CONSTANT_PARAMETERS, *TABLE_PAYS)))
class DequantizeByTable(LinearConversion):
    def call(self) -> Call:
        with numpy.errstate(over="ignore"):
            table = dequantize_linear(numpy.arange(-128, 128), self.quantization())
        return Call(
            "aidge_ref_dequantize_by_table",
            ("int8/dequantize_by_table.h",),
            (Input(0), Output(0), Constant("table", table), Literal(self.outputs[0].elements)),
        )
