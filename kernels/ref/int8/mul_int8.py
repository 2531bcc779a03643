# SPDX-License-Identifier: MIT
"""int8 multiplication with broadcasting."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant
from aidge_build.contract.kernel_kit.binary_int8 import BINARY_INT8, BinaryInt8
from aidge_build.contract.node import kernel
from aidge_build.operators.arithmetic.affine import FIRST, SECOND
from aidge_build.operators.arithmetic.fixed_point import Rescale, exact_ratio, proved_rescale

from ..shared.broadcast_loop import SOURCE, broadcast_loop
from .rescaling import rescale_constant

_TEXT = broadcast_loop(
    "aidge_ref_mul_int8",
    "int8_t",
    "const int64_t *rescale, const int32_t *zero_points, const int32_t *levels, ",
    "aidge_kit_saturate(aidge_kit_rescale((*a - zero_a) * (*b - zero_b), rescale), levels)",
    before=("const int32_t zero_a = zero_points[0], zero_b = zero_points[1];",),
)


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
            (SOURCE, "kit/rounding.h"),
            (*self.pointers(), rescale_constant([rescale]), Constant("zero_points", zero_points), self.levels(), self.shape()),
            texts=(_TEXT,),
            note="integers proved equal on all 65,536 pairs of values",
        )
