# SPDX-License-Identifier: MIT
"""Base of int8 operations on two tensors: the spec, and the result for all pairs of stored values."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Argument, Constant, Output, Struct
from aidge_build.contract.kernel_kit.broadcast import broadcast, operand
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.affine import FIRST, SECOND
from aidge_build.operators.arithmetic.requantize import clamp_levels
from aidge_build.operators.base import Operator

BINARY_INT8 = ImplSpec(
    inputs=(IOSpec(DType.int8, SAME), IOSpec(DType.int8, SAME)), outputs=(IOSpec(DType.int8, SAME),), predicates=(ALL_QUANTIZED,)
)


def meaning_of_pairs(operator: Operator, *quantizations: Quantization) -> numpy.ndarray:
    """Returns the stored result of each pair of stored values, int64 [256, 256]. The last quantization belongs to the result."""
    values = [values.astype(numpy.int8) for values in (FIRST, SECOND)]
    *inputs, output = (Tensor("", FIRST.shape, DType.int8, quantization=quantization) for quantization in quantizations)
    return evaluate(operator, values, inputs, (output,))[0].astype(numpy.int64)


class BinaryInt8(ElementWise):
    """An operation on two int8 tensors with broadcasting."""

    def pointers(self) -> tuple[Argument, ...]:
        """Returns both inputs and the output, as the functions take them."""
        (output,) = self.outputs
        return operand(0, "first", self.inputs[0], output), operand(1, "second", self.inputs[1], output), Output(0)

    def shape(self) -> Struct:
        """Returns the struct of the broadcast of the inputs."""
        return broadcast(*self.inputs, *self.outputs)

    def bounds(self) -> tuple[int, int, int]:
        """Returns the lowest and highest stored value of the output, and its zero point."""
        (output,) = self.outputs
        low, high = clamp_levels(self.operator.minimum, self.operator.maximum, output.quantization, output.dtype)
        return low, high, output.quantization.zero_point

    def levels(self) -> Constant:
        """The bounds as a constant: lowest and highest stored value, zero point."""
        return Constant("levels", numpy.array(self.bounds(), numpy.int32))

    def meaning(self) -> numpy.ndarray:
        """The stored result for each pair of stored values, int64 [256, 256]."""
        return meaning_of_pairs(self.operator, *(tensor.quantization for tensor in (*self.inputs, *self.outputs)))
