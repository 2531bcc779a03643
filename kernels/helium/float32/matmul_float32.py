# SPDX-License-Identifier: MIT
"""float32 matrix products of any two tensors: 3 rows by 8 columns at a time."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.call import Call, Output, computed
from aidge_build.contract.kernel_kit.float_steps import VECTORS
from aidge_build.contract.kernel_kit.matmul_float32 import (
    FEW_ROWS_BY_COLUMNS,
    STORED,
    MatMulFloat32,
    StoredMatMul,
    StoredProduct,
    product_spec,
    shape_of,
    stored_spec,
)
from aidge_build.contract.node import kernel
from aidge_build.graph.dtype import DType

from ..core.conditions import MVE
from .matmul_text import LANES, Second, stored_texts_of, texts_of

SOURCE = "float32/matmul.h"


@kernel("MatMul", product_spec(MVE))
class HeliumMatMulFloat32(MatMulFloat32):
    function, source = "aidge_helium_matmul_float32", SOURCE
    at_once, unit = "3 rows x 8 columns", VECTORS

    def call(self) -> Call:
        first, second = self.inputs
        name, texts = texts_of(first.dims[-2], first.dims[-1], second.dims[-1], Second(second.dtype is DType.int8))
        return replace(super().call(), function=name, texts=texts)


@kernel("StoredMatMul", stored_spec(MVE, FEW_ROWS_BY_COLUMNS), STORED)
class HeliumStoredMatMulFloat32(StoredMatMul):
    """The keys and values of attention, for example, where a cache holds them."""

    def call(self) -> Call:
        product = StoredProduct.of(self.view)
        first, second = product.first, product.second
        steps = second.layout.strides[-2:]
        form = Second(second.dtype is DType.int8)
        name, texts = stored_texts_of(first.dims[-2], first.dims[-1], second.dims[-1], steps, form)
        shape = shape_of((first, second), self.outputs[0])
        at_once = "3 rows x 8 columns" if product.reads_rows else "4 columns"
        arguments = (*product.arguments, Output(0), shape)
        steps = product.steps(VECTORS, 1 if product.reads_rows else LANES)
        return Call(name, (SOURCE,), arguments, texts=texts, facts=computed(at_once), steps=steps)


@kernel("MatMul", product_spec(MVE, second=DType.int8))
class HeliumBytesMatMul(HeliumMatMulFloat32):
    """A second matrix of bytes: rows of a cache."""


@kernel("StoredMatMul", stored_spec(MVE, FEW_ROWS_BY_COLUMNS, second=DType.int8), STORED)
class HeliumStoredBytesMatMul(HeliumStoredMatMulFloat32):
    """The same as they are stored."""
