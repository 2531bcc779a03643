# SPDX-License-Identifier: MIT
"""float32 matrix products of any two tensors: 3 rows by 8 columns at a time."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.call import Call, Input, Output, computed
from aidge_build.contract.kernel_kit.float_steps import VECTORS
from aidge_build.contract.kernel_kit.matmul_float32 import (
    FEW_ROWS_BY_COLUMNS,
    MATRICES,
    ONE_ROW_OF_FOURS,
    STORED,
    STORED_APART,
    STORED_SEEN,
    MatMulFloat32,
    StoredMatMul,
    StoredProduct,
    is_inner,
    position_bytes,
    product_spec,
    seen_spec,
    shape_of,
    stored_spec,
)
from aidge_build.contract.kernel_kit.members import members
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import NodeView, Predicate
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


def _other_axis(view: NodeView) -> str:
    transpose = members(view)[0].operator if view.node.type.startswith("Stored") else None
    reads_rows = transpose is None or transpose.permutation[-1] == len(transpose.permutation) - 1
    return "" if reads_rows == is_inner(view) else "the rows of the cache are not stored in one piece"


ROWS_IN_ONE_PIECE = Predicate("rows of the cache in one piece", _other_axis)


@kernel("SeenMatMul", seen_spec(MVE, ONE_ROW_OF_FOURS, MATRICES, ROWS_IN_ONE_PIECE))
class HeliumSeenMatMul(KernelNode):
    """Rows of a cache up to a position."""

    def call(self) -> Call:
        return _seen(self.view, StoredProduct(*self.inputs[:2], (Input(0), Input(1), Input(2))))


@kernel("StoredSeenMatMul", seen_spec(MVE, STORED_APART, ONE_ROW_OF_FOURS, ROWS_IN_ONE_PIECE), STORED_SEEN)
class HeliumStoredSeenMatMul(StoredMatMul):
    """The same as they are stored."""

    def call(self) -> Call:
        return _seen(self.view, StoredProduct.of(self.view))


def _seen(view: NodeView, product: StoredProduct) -> Call:
    first, second = product.first, product.second
    form = Second(second.dtype is DType.int8, True)
    name, texts = stored_texts_of(1, first.dims[-1], second.dims[-1], second.layout.strides[-2:], form)
    shape = shape_of((first, second), view.outputs[0])
    arguments = (*product.arguments, Output(0), position_bytes(view), shape)
    steps = product.seen_steps(view, VECTORS, 1 if product.reads_rows else LANES)
    return Call(name, (SOURCE, "kit/seen.h"), arguments, texts=texts, facts=computed("4 columns"), steps=steps)
