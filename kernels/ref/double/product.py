# SPDX-License-Identifier: MIT
"""Mul of int8 tensors under the contract `double`."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant
from aidge_build.contract.kernel_kit.binary_int8 import BINARY_INT8, BinaryInt8
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.operators.double.products import product_factor

_PRODUCT_BITS = 16  # of two stored values less their zero points


def _fits_shifted(view: NodeView) -> str:
    shift = product_factor(view.inputs, view.outputs[0])[1]
    return "" if shift + _PRODUCT_BITS <= 30 else f"a product shifted to the left by {shift} bits could leave int32"


SPEC = replace(
    BINARY_INT8,
    predicates=(*BINARY_INT8.predicates, Predicate("products that int32 holds, also shifted to the left", _fits_shifted)),
    rounding="double",
)


@kernel("Mul", SPEC)
class ProductDouble(BinaryInt8):
    def call(self) -> Call:
        (output,) = self.outputs
        low, high, zero_point = self.bounds()
        points = (tensor.quantization.zero_point for tensor in self.inputs)
        numbers = [*points, zero_point, *product_factor(self.inputs, output), low, high]
        return Call(
            "aidge_ref_product_double_int8",
            ("double/product.h",),
            (*self.pointers(), Constant("numbers", numpy.array(numbers, numpy.int32)), self.shape()),
        )
