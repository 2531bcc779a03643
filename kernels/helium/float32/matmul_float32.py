# SPDX-License-Identifier: MIT
"""float32 matrix products of any two tensors: 3 rows by 8 columns at a time."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.matmul_float32 import MatMulFloat32, product_spec
from aidge_build.contract.node import kernel

from ..core.conditions import MVE
from .matmul_text import texts_of


@kernel("MatMul", product_spec(MVE))
class HeliumMatMulFloat32(MatMulFloat32):
    function, source = "aidge_helium_matmul_float32", "float32/matmul.h"
    at_once = "3 rows x 8 columns"

    def call(self) -> Call:
        first, second = self.inputs
        name, texts = texts_of(first.dims[-2], first.dims[-1], second.dims[-1])
        return replace(super().call(), function=name, texts=texts)
