# SPDX-License-Identifier: MIT
"""Products of two matrices under the contract `double`, with broadcasting batches; int8 and int16."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant
from aidge_build.contract.kernel_kit.products import BATCH_AXES, product_arguments, product_range, product_spec
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.contracts import HalfwordFactors
from aidge_build.operators.arithmetic.ranges import INT32_LIMIT
from aidge_build.operators.double.products import matrix_factor


def _fits_shifted(view: NodeView) -> str:
    low, high = product_range(view.inputs)
    shift = matrix_factor(view.inputs, view.outputs[0])[1]
    fits = (max(-low, high) << max(shift, 0)) < INT32_LIMIT - 256
    return "" if fits else f"a sum shifted to the left by {shift} bits could leave int32"


SPEC = replace(product_spec(Predicate("sums that int32 holds, also shifted to the left", _fits_shifted)), rounding="double")


@kernel("MatMul", SPEC)
class MatmulDouble(KernelNode):
    instructions_per_mac = 8

    def call(self) -> Call:
        (output,) = self.outputs
        points = [tensor.quantization.zero_point for tensor in (*self.inputs, output)]
        numbers = numpy.array([*points, *matrix_factor(self.inputs, output)], numpy.int32)
        return Call(
            "aidge_ref_matmul_double_int8",
            ("double/matmul.h",),
            product_arguments(self.inputs, output, Constant("numbers", numbers)),
        )


def _halfwords_leave(view: NodeView) -> str:
    if any(tensor.quantization is None or tensor.quantization.zero_point for tensor in (*view.inputs, *view.outputs)):
        return "a tensor has no quantization, or a zero point other than 0"
    if max(tensor.rank for tensor in view.inputs) > BATCH_AXES + 2:
        return f"wants at most {BATCH_AXES} batch axes"
    multiplier, right = _halfword_factor(view)
    largest = view.inputs[0].dims[-1] * multiplier << 30
    return "" if 0 < right and largest >> right < INT32_LIMIT else "a level could leave int32"


def _halfword_factor(view: NodeView) -> list[int]:
    """Multiplier and shift to the right."""
    return HalfwordFactors(numpy.array([matrix_factor(view.inputs, view.outputs[0])], numpy.int64)).numbers[0].tolist()


_SIDE = IOSpec(DType.int16, ROW_MAJOR)


@kernel(
    "MatMul", ImplSpec(_SIDE, predicates=(Predicate("zero points 0, levels within int32", _halfwords_leave),), rounding="double")
)
class MatmulHalfwords(KernelNode):
    instructions_per_mac = 10

    def call(self) -> Call:
        numbers = Constant("numbers", numpy.array(_halfword_factor(self.view), numpy.int32))
        arguments = product_arguments(self.inputs, self.outputs[0], numbers)
        return Call("aidge_ref_matmul_double_int16", ("double/matmul.h",), arguments)
