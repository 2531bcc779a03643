# SPDX-License-Identifier: MIT
"""int8 multiplication of two tensors."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.rows_int8 import PROVED_PRODUCT, ProductInt8, rows_specs
from aidge_build.contract.node import kernel

from ..core.assembly import FEATURES
from .elements import pairs_text

NAME = "aidge_rvv_mul_int8"
_NUMBERS = ("factor", "other", "offset", "zero", "low", "high")
_LINES = (
    "vsub.vx v8, v8, {factor}",
    "vsub.vx v16, v16, {other}",
    "vmul.vv v24, v8, v16",
    "vfcvt.f.x.v v24, v24",
    "vmv.v.x v8, {offset}",
    "vfmul.vv v24, v24, v8",
    "vfcvt.x.f.v v24, v24",
    "vadd.vx v24, v24, {zero}",
)


@kernel("Mul", rows_specs(FEATURES, PROVED_PRODUCT))
class MulInt8(ProductInt8):
    def call(self) -> Call:
        low, high, zero_point = self.bounds()
        points = [tensor.quantization.zero_point for tensor in self.inputs]
        factor = int(self.multiplier().view(numpy.int32))
        return self.by_rows(
            NAME,
            "core/target.h",
            Constant("numbers", numpy.array([*points, factor, zero_point, low, high], numpy.int32)),
            pairs_text(NAME, "y = (a - zero point) * (b - zero point) * a float.", _NUMBERS, _LINES),
            note="a float32 multiplier, proved equal on all 65,536 pairs of values",
            facts=computed("a vector of values", 0),
        )
