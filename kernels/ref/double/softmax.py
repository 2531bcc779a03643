# SPDX-License-Identifier: MIT
"""Softmax of int8 and int16 tensors under the contract `double`."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.kernel_kit.rows import ALONG_ONE_AXIS, rows_of
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.float_softmax import exponential_table
from aidge_build.operators.arithmetic.halfword_softmax import difference_factor, exponentials, reciprocals

from ..shared.rows import softmax_shape

LEAST_SCALE = 2.0**-24  # of the output: its levels then fit int32


def _fits(view: NodeView) -> str:
    return "" if view.outputs[0].quantization.scale >= LEAST_SCALE else "levels of such a small output scale could leave int32"


class _Rows(KernelNode):
    def of_rows(self, function: str, header: str, **constants: numpy.ndarray) -> Call:
        """The call of a function with these constants."""
        arrays = (Constant(name, values) for name, values in constants.items())
        return Call(function, (header,), (Input(0), Output(0), *arrays, softmax_shape(rows_of(self.operator, self.outputs[0]))))


@kernel(
    "Softmax",
    ImplSpec(
        IOSpec(DType.int8, SAME),
        predicates=(ALL_QUANTIZED, ALONG_ONE_AXIS, Predicate("levels that int32 holds", _fits)),
        rounding="double",
    ),
)
class SoftmaxDouble(_Rows):
    def call(self) -> Call:
        made = self.outputs[0].quantization
        return self.of_rows(
            "aidge_ref_softmax_double_int8",
            "double/softmax.h",
            terms=exponential_table(self.inputs[0].quantization.scale),
            scale=numpy.array([made.scale], numpy.float32),
            zero_point=numpy.array([made.zero_point], numpy.int32),
        )


MOST_LENGTH = 1 << 15  # of a row, whose exponentials of 15 bits are added up in 31
DIFFERENCE_BITS = 16


def _halfwords_fit(view: NodeView) -> str:
    shift = difference_factor(view.inputs[0].quantization.scale)[1]
    if shift + DIFFERENCE_BITS > 30:
        return f"a difference shifted to the left by {shift} bits could leave int32"
    return "" if view.operator.row_length(view.inputs[0].dims) < MOST_LENGTH else "the sum of such a long row could leave int32"


@kernel(
    "Softmax",
    ImplSpec(
        IOSpec(DType.int16, SAME),
        predicates=(ALL_QUANTIZED, ALONG_ONE_AXIS, Predicate("sums and differences that int32 holds", _halfwords_fit)),
        rounding="double",
    ),
)
class SoftmaxHalfwords(_Rows):
    def call(self) -> Call:
        return self.of_rows(
            "aidge_ref_softmax_double_int16",
            "double/softmax_int16.h",
            exponentials=numpy.array(exponentials(), numpy.int16),
            reciprocals=numpy.array(reciprocals(), numpy.int16),
            factor=numpy.array(difference_factor(self.inputs[0].quantization.scale), numpy.int32),
        )
