# SPDX-License-Identifier: MIT
"""What the int8 convolutions and fully connected layers share: constants of the accumulation, and their proof."""

from __future__ import annotations

import numpy

from aidge_build.arithmetic.ranges import require_int32
from aidge_build.arithmetic.requantize import clamp_levels, multipliers
from aidge_build.contract.call import Argument, Constant, Input, Literal, Output
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ANY, CHANNELS_LAST, ImplSpec, IOSpec
from aidge_build.errors import AidgeError
from aidge_build.graph.dtype import DType

from .conditions import CONSTANT_PARAMETERS, QUANTIZED, SYMMETRIC_WEIGHTS


def linear_spec(form: str = CHANNELS_LAST) -> ImplSpec:
    """int8 data in and out, int8 weights, int32 bias."""
    return ImplSpec(
        inputs=(IOSpec(DType.int8, form), IOSpec(DType.int8, ANY), IOSpec(DType.int32, ANY)),
        outputs=(IOSpec(DType.int8, form),),
        predicates=(CONSTANT_PARAMETERS, QUANTIZED, SYMMETRIC_WEIGHTS),
    )


class LinearInt8(KernelNode):
    """int32 accumulation of (x - zero point) * w + bias, requantized per output channel."""

    def arguments(self, rows: numpy.ndarray, packed: numpy.ndarray, padded: bool) -> tuple[Argument, ...]:
        """The leading arguments of the kernels. `rows` [outputs, taps] is for the proof, `packed` for the kernel.

        The zero point's part, -zero point * sum of the weights, is added to the bias beforehand; a kernel that leaves
        out taps (`padded`) needs the bias as it is, too, and gets both.
        """
        data, (output,) = self.inputs[0], self.outputs
        zero_point, result = data.quantization.zero_point, output.quantization
        bias = self.inputs[2].data if len(self.inputs) > 2 and self.inputs[2] is not None else numpy.zeros(len(rows), numpy.int32)
        require_int32(rows, bias, zero_point, *data.dtype.range)
        whole = bias - zero_point * rows.astype(numpy.int64).sum(axis=1)
        biases = numpy.stack([bias, whole]) if padded else whole
        factors = multipliers(data.quantization.scale, self.inputs[1].quantization.scales, result.scale)
        if not numpy.isfinite(factors).all():
            raise AidgeError(
                f"the multiplier of output channel {int(numpy.argmin(numpy.isfinite(factors)))} is not finite",
                code="RANGE",
                hint="the output scale is far too small: quantize the layer again",
            )
        low, high = clamp_levels(self.operator.minimum, self.operator.maximum, result, output.dtype)
        levels = [low - result.zero_point, high - result.zero_point, result.zero_point]
        levels = numpy.array([zero_point, *levels] if padded else levels, numpy.int32)
        return (
            Input(0),
            Output(0),
            Constant("weights", packed.astype(numpy.int8)),
            Constant("bias", biases.astype(numpy.int32)),
            Constant("multipliers", factors),
            Constant("levels", levels),
            Literal(int(len(factors) > 1)),
        )
