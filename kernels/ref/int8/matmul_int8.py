# SPDX-License-Identifier: MIT
"""int8 products of two matrices of which both may be computed at run time, with broadcasting batches."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.products import product_arguments, product_multiplier, product_range, product_spec
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.operators.arithmetic.near_halves import near_factors, near_is_exact


@kernel("MatMul", product_spec())
class MatmulInt8(KernelNode):
    instructions_per_mac = 4.5
    narrow_instructions_per_mac = 10

    def call(self) -> Call:
        output = self.outputs[0]
        multiplier, (low, high) = product_multiplier(self.inputs, output), product_range(self.inputs)
        levels = self._levels(int(near_factors(multiplier)[0]))
        is_near = "fpu" not in self.view.features and bool(near_is_exact(multiplier, max(-low, high)).all())
        return Call(
            "aidge_ref_matmul_int8_near" if is_near else "aidge_ref_matmul_int8",
            ("int8/matmul_int8.h",),
            product_arguments(self.inputs, output, Constant("multiplier", multiplier), Constant("levels", levels)),
            facts=computed("1 row x 4 columns", 0),
        )

    def _levels(self, factor: int) -> numpy.ndarray:
        output = self.outputs[0]
        points = [tensor.quantization.zero_point for tensor in self.inputs]
        zero_point, (low, high) = output.quantization.zero_point, output.dtype.range
        return numpy.array([*points, low - zero_point, high - zero_point, zero_point, factor], numpy.int32)
