# SPDX-License-Identifier: MIT
"""int8 addition and subtraction with broadcasting."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant
from aidge_build.contract.kernel_kit.binary_int8 import BINARY_INT8, BinaryInt8
from aidge_build.contract.node import kernel
from aidge_build.operators.arithmetic.affine import Affine, proved_affine
from aidge_build.operators.arithmetic.fixed_point import exact_ratio


@kernel(("Add", "Sub"), BINARY_INT8)
class AddInt8(BinaryInt8):
    def total(self) -> Affine:
        """The sum in integers, proved on all pairs of stored values."""
        first, second, result = (tensor.quantization for tensor in (*self.inputs, *self.outputs))
        sign = -1 if self.node.type == "Sub" else 1
        ratios = exact_ratio(first.scale, result.scale), sign * exact_ratio(second.scale, result.scale)
        low, high, zero_point = self.bounds()
        return proved_affine(ratios, (first.zero_point, second.zero_point, zero_point), low, high, self.meaning())

    def call(self) -> Call:
        found = self.total()
        numbers = [found.first, found.second, found.offset, found.shift]
        if found.is_narrow:
            name, total = "add_int8", numpy.array(numbers, numpy.int32)
        else:
            name, total = "add_wide_int8", numpy.array([*numbers, found.divisor], numpy.int64)
        return Call(
            f"aidge_ref_{name}",
            (f"int8/{name}.h",),
            (*self.pointers(), Constant("sum", total), self.levels(), self.shape()),
            note="integers proved equal on all 65,536 pairs of values",
        )
