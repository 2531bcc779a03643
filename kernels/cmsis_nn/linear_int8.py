# SPDX-License-Identifier: MIT
"""Shared by the int8 layers of this library: 31-bit multipliers, levels, scratch, and the sources of the checkout."""

from __future__ import annotations

import math

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.contract.call import Argument, Call, Constant, Input, Output, Scratch, Struct
from aidge_build.contract.kernel_files import KernelFiles
from aidge_build.contract.kernel_kit.checkout import closure
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS, QUANTIZED, SYMMETRIC_WEIGHTS
from aidge_build.contract.kernel_kit.linear import linear_constants
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ANY, CHANNELS_LAST, Demands, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType


def linear_spec(form: str = CHANNELS_LAST) -> ImplSpec:
    """int8 data and weights, int32 bias; rounded twice, as CMSIS-NN does unless it is told otherwise."""
    return ImplSpec(
        (IOSpec(DType.int8, form), IOSpec(DType.int8, ANY), IOSpec(DType.int32, ANY)),
        (IOSpec(DType.int8, form),),
        predicates=(CONSTANT_PARAMETERS, QUANTIZED, SYMMETRIC_WEIGHTS),
        rounding="cmsis-nn",
    )


def fixed_point(factor: float) -> tuple[int, int]:
    """factor = multiplier * 2^(shift - 31) with a 31-bit multiplier."""
    mantissa, shift = math.frexp(factor)
    multiplier = round(mantissa * (1 << 31))
    if multiplier == 1 << 31:
        multiplier, shift = multiplier // 2, shift + 1
    if not -31 <= shift <= 30:
        raise AidgeError(f"the requantization factor {factor:g} is out of range", code="RANGE")
    return multiplier, shift


class CmsisLinear(KernelNode):
    """`scratch_bytes` is the larger of what the DSP and the MVE version of the function ask for."""

    @classmethod
    def scratch_bytes(cls, view) -> int:
        raise NotImplementedError

    @classmethod
    def demands(cls, view) -> Demands:
        return Demands(cls.scratch_bytes(view), 16)

    def linear_call(self, glue: str, functions: tuple[str, ...], packed: numpy.ndarray, shape: Struct) -> Call:
        """`packed` are the weights as CMSIS-NN reads them; `shape` is the glue's struct."""
        data, weights, output = self.inputs[0], self.inputs[1], self.outputs[0]
        outputs = weights.dims[0]
        numbers = linear_constants(self.operator, self.inputs, output, weights.data.reshape(outputs, -1))
        scales = weights.quantization.scales if not weights.quantization.per_tensor else weights.quantization.scales * outputs
        pairs = [fixed_point(float(data.quantization.scale) * scale / float(output.quantization.scale)) for scale in scales]
        levels = [-numbers.input_zero_point, numbers.zero_point, numbers.low, numbers.high]
        constants: tuple[Argument, ...] = tuple(
            Constant(name, numpy.array(values, kind))
            for name, values, kind in (
                ("weights", packed, numpy.int8),
                ("bias", numbers.plain_bias, numpy.int32),
                ("multipliers", [pair[0] for pair in pairs], numpy.int32),
                ("shifts", [pair[1] for pair in pairs], numpy.int32),
                ("levels", levels, numpy.int32),
            )
        )
        sources, files = closure(KernelFiles.of(type(self)).files, functions, "arm_")
        return Call(
            f"aidge_cmsis_nn_{glue}",
            (*sources, f"{glue}.h"),
            (Input(0), Output(0), *constants, Scratch(), shape),
            note="rounded as CMSIS-NN does",
            files=files,
        )
