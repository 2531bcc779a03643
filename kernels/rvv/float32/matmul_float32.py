# SPDX-License-Identifier: MIT
"""float32 products of any two matrices: the second one has its elements where a layer has its weights."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.matmul_float32 import product_spec
from aidge_build.contract.kernel_kit.products import matrix_dims
from aidge_build.contract.node import kernel

from ..core.assembly import WITH_FLOATS
from ..core.floats import Floats
from ..sums.matmul_int8 import Product


@kernel("MatMul", product_spec(WITH_FLOATS))
class MatmulFloat32(Product):
    def call(self) -> Call:
        bias = numpy.zeros(matrix_dims(self.inputs)[2])
        floats = Floats(bias, bias, (-math.inf, math.inf))
        return self.product(floats.rounding, floats.words())
