# SPDX-License-Identifier: MIT
"""Convolutions and fully connected layers of int16 tensors with int8 weights under the contract `double`."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS, QUANTIZED, SYMMETRIC_WEIGHTS
from aidge_build.contract.kernel_kit.linear import LinearConstants, linear_constants
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.contracts import ONCE
from aidge_build.operators.arithmetic.ranges import INT32_LIMIT, largest_accumulators

from ..shared.linear_shape import linear_shape

INT64_LIMIT = 1 << 63


def _leaves(view: NodeView) -> str:
    """Why a product or a level could be too large, or zero points are not 0."""
    if view.inputs[0].quantization.zero_point or view.outputs[0].quantization.zero_point:
        return "a zero point is not 0"
    numbers = LinearHalfwords(view).numbers()
    largest = largest_accumulators(numbers.weights, numbers.plain_bias, 0, *view.inputs[0].dtype.range)
    for sum_, (multiplier, right) in zip(largest.tolist(), factors_of(numbers).tolist()):
        product = sum_ * multiplier + (1 << (right - 1))
        if product >= INT64_LIMIT or product >> right >= INT32_LIMIT:
            return f"a sum of {sum_} times its factor could leave int64 or, once shifted, int32"
    return ""


def factors_of(numbers: LinearConstants) -> numpy.ndarray:
    """Of each output {multiplier, shift to the right}."""
    multiplier, right = numbers.multipliers.astype(numpy.int64).T
    return numpy.stack([multiplier, numpy.where(right >= ONCE, right - ONCE, right)], axis=1)


@kernel(
    ("FC", *(f"{kind}{rank}D" for kind in ("Conv", "ConvDepthWise") for rank in (1, 2, 3))),
    ImplSpec(
        inputs=(IOSpec(DType.int16, SAME), IOSpec(DType.int8, ANY), IOSpec(DType.any, ANY)),
        outputs=(IOSpec(DType.int16, SAME),),
        predicates=(
            CONSTANT_PARAMETERS,
            QUANTIZED,
            SYMMETRIC_WEIGHTS,
            Predicate("zero points 0, products within int64, levels within int32", _leaves),
        ),
        rounding="double",
    ),
)
class LinearHalfwords(KernelNode):
    instructions_per_mac = 14

    def numbers(self) -> LinearConstants:
        """The constants of the layer; weights [outputs, taps]."""
        weights = self.inputs[1].data
        rows = weights.reshape(len(weights), -1)
        return linear_constants(self.operator, self.inputs, self.outputs[0], rows, in_int32=False)

    def call(self) -> Call:
        (data, weights, *_), (output,) = self.inputs, self.outputs
        numbers = self.numbers()
        factors = factors_of(numbers).astype(numpy.int32)
        return Call(
            "aidge_ref_linear_double_int16",
            ("double/linear_int16.h",),
            (
                Input(0),
                Output(0),
                Constant("weights", weights.data),
                Constant("bias", numbers.plain_bias),
                Constant("factors", factors if numbers.per_channel else factors[:1]),
                Constant("levels", numpy.array([numbers.low, numbers.high], numpy.int32)),
                Literal(2 * int(numbers.per_channel)),
                linear_shape(self.operator, data, output),
            ),
        )
