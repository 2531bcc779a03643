# SPDX-License-Identifier: MIT
"""Add and Sub of int8 tensors under the contract `double`."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant, Literal
from aidge_build.contract.kernel_kit.binary_int8 import BINARY_INT8, BinaryInt8
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.operators.arithmetic.fixed_sums import FixedSum, fixed_sum

_MOST_SHIFT = 1  # a sum of both addends has 29 bits


def _fits_shifted(view: NodeView) -> str:
    shift = _factors(view).total[1]
    return "" if shift <= _MOST_SHIFT else f"a sum shifted to the left by {shift} bits could leave int32"


def _factors(view: NodeView) -> FixedSum:
    return fixed_sum(*(tensor.quantization.scale for tensor in (*view.inputs, *view.outputs)))


SPEC = replace(
    BINARY_INT8,
    predicates=(*BINARY_INT8.predicates, Predicate("sums that int32 holds, also shifted to the left", _fits_shifted)),
    rounding="double",
)


@kernel(("Add", "Sub"), SPEC)
class SumDouble(BinaryInt8):
    def call(self) -> Call:
        tensors = (*self.inputs, *self.outputs)
        factors = _factors(self.view)
        pairs = factors.first, factors.second, factors.total
        scales = [number for tensor, pair in zip(tensors, pairs) for number in (tensor.quantization.zero_point, *pair)]
        low, high, _ = self.bounds()
        return Call(
            "aidge_ref_sum_double_int8",
            ("double/sum.h",),
            (
                *self.pointers(),
                Constant("scales", numpy.array(scales, numpy.int32)),
                Constant("levels", numpy.array([low, high], numpy.int32)),
                Literal(-1 if self.node.type == "Sub" else 1),
                self.shape(),
            ),
        )
