# SPDX-License-Identifier: MIT
"""Convolutions and fully connected layers of int8 tensors under the contract `double`."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import BYTES_OR_HALFWORDS, CONSTANT_PARAMETERS, QUANTIZED, SYMMETRIC_WEIGHTS
from aidge_build.contract.kernel_kit.linear import LinearConstants, linear_constants
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.contracts import ONCE
from aidge_build.operators.arithmetic.ranges import INT32_LIMIT, largest_accumulators

from ..shared.linear_shape import linear_shape


def _fits_shifted(view: NodeView) -> str:
    numbers = LinearDouble(view).numbers()
    shifts = numbers.multipliers[:, 1]
    left = numpy.where(shifts < ONCE, numpy.maximum(shifts, 0), 0)
    data = view.inputs[0]
    largest = largest_accumulators(numbers.weights, numbers.plain_bias, numbers.input_zero_point, *data.dtype.range)
    fits = (largest.astype(numpy.int64) << left) < INT32_LIMIT
    return "" if fits.all() else f"a sum shifted to the left by {int(left.max())} bits could leave int32"


@kernel(
    ("FC", *(f"{kind}{rank}D" for kind in ("Conv", "ConvDepthWise") for rank in (1, 2, 3))),
    ImplSpec(
        inputs=(IOSpec(DType.int8, SAME), IOSpec(DType.any, ANY), IOSpec(DType.int32, ANY)),
        outputs=(IOSpec(DType.int8, SAME),),
        predicates=(
            CONSTANT_PARAMETERS,
            BYTES_OR_HALFWORDS,
            QUANTIZED,
            SYMMETRIC_WEIGHTS,
            Predicate("sums that int32 holds, also shifted to the left", _fits_shifted),
        ),
        rounding="double",
    ),
)
class LinearDouble(KernelNode):
    instructions_per_mac = 12

    def numbers(self) -> LinearConstants:
        """The constants of the layer; weights [outputs, taps]."""
        weights = self.inputs[1].data
        return linear_constants(self.operator, self.inputs, self.outputs[0], weights.reshape(len(weights), -1))

    def call(self) -> Call:
        (data, weights, *_), (output,) = self.inputs, self.outputs
        numbers = self.numbers()
        bounds = [numbers.low - numbers.zero_point, numbers.high - numbers.zero_point, numbers.zero_point]
        return Call(
            "aidge_ref_linear_double_wide" if weights.dtype is DType.int16 else "aidge_ref_linear_double",
            ("double/linear.h",),
            (
                Input(0),
                Output(0),
                Constant("weights", weights.data),
                Constant("bias", numbers.plain_bias.astype(numpy.int32)),
                Constant("factors", numbers.multipliers if numbers.per_channel else numbers.multipliers[:1]),
                Constant("levels", numpy.array([numbers.input_zero_point, *bounds], numpy.int32)),
                Literal(2 * int(numbers.per_channel)),
                linear_shape(self.operator, data, output),
            ),
        )
