# SPDX-License-Identifier: MIT
"""int8 multiplication with broadcasting."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant
from aidge_build.contract.kernel_kit.binary_int8 import BINARY_INT8, BinaryInt8
from aidge_build.contract.node import kernel
from aidge_build.operators.arithmetic.affine import FIRST, SECOND
from aidge_build.operators.arithmetic.fixed_point import Rescale, exact_ratio, proved_rescale

from .rescaling import rescale_constant


@kernel("Mul", BINARY_INT8)
class MulInt8(BinaryInt8):
    def call(self) -> Call:
        first, second, result = (tensor.quantization for tensor in (*self.inputs, *self.outputs))
        products = (FIRST - first.zero_point) * (SECOND - second.zero_point)
        low, high, zero_point = self.bounds()
        meaning = self.meaning()

        def is_exact(rescale: Rescale) -> bool:
            return numpy.array_equal(numpy.clip(rescale.apply(products) + zero_point, low, high), meaning)

        ratio = exact_ratio(first.scale, result.scale) * exact_ratio(second.scale)
        rescale = proved_rescale(ratio, int(abs(products).max()), is_exact, "this product on all pairs of stored values")
        zero_points = numpy.array([first.zero_point, second.zero_point], numpy.int32)
        return Call(
            "aidge_ref_mul_int8",
            ("int8/mul_int8.h",),
            (*self.pointers(), rescale_constant([rescale]), Constant("zero_points", zero_points), self.levels(), self.shape()),
            note="integers proved equal on all 65,536 pairs of values",
        )
