# SPDX-License-Identifier: MIT
"""float32 matrix products of any two tensors: MatMul with broadcasting batches, and Gemm; of a float32 and an int8 tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Output, Struct
from aidge_build.contract.kernel_kit.float_layers import Products
from aidge_build.contract.kernel_kit.float_steps import unit_of
from aidge_build.contract.kernel_kit.linear_float32 import parameter
from aidge_build.contract.kernel_kit.matmul_float32 import (
    MATRICES,
    STORED,
    StoredMatMul,
    StoredProduct,
    product_spec,
    stored_spec,
)
from aidge_build.contract.kernel_kit.products import BATCH_AXES
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor

Matrices = tuple[tuple[int, ...], tuple[int, ...]]  # dims and steps with all batch axes; an axis of length 1 repeats


@kernel(("MatMul", "Gemm"), ImplSpec(IOSpec(DType.float32, ROW_MAJOR), predicates=(MATRICES,)))
class GemmFloat32(KernelNode):
    instructions_per_mac = 8

    def call(self) -> Call:
        operator, is_gemm = self.operator, self.node.type == "Gemm"
        first, second, *rest = self.inputs
        third = rest[0] if rest else None
        alpha, beta = (operator.alpha, operator.beta) if is_gemm else (1.0, 0.0)
        sides = matrix(first, is_gemm and operator.transpose_a), matrix(second, is_gemm and operator.transpose_b)
        pointers = parameter(self, 0, "first"), parameter(self, 1, "second")
        if third is None:
            call = product_call(*sides, pointers, alpha)
            return call if is_gemm else replace(call, steps=Products(unit_of(self.view.features)))
        c_steps = matrix(third, False)[1][-2:]
        return product_call(*sides, (*pointers, parameter(self, 2, "third")), alpha, beta, c_steps)


@kernel("StoredMatMul", stored_spec(), STORED)
class StoredMatMulFloat32(StoredMatMul):
    """A product with a second matrix that is read as it is stored."""

    instructions_per_mac = GemmFloat32.instructions_per_mac

    def call(self) -> Call:
        product = StoredProduct.of(self.view)
        call = product_call(matrix(product.first, False), matrix(product.second, False), product.arguments)
        return replace(call, steps=product.steps(unit_of(self.view.features)))


@kernel("MatMul", product_spec(frozenset(), second=DType.int8))
class BytesMatMul(KernelNode):
    """A second matrix of bytes: rows of a cache."""

    instructions_per_mac = 10

    def call(self) -> Call:
        first, second = self.inputs
        pointers = parameter(self, 0, "first"), parameter(self, 1, "second")
        return bytes_call(matrix(first, False), matrix(second, False), pointers)


@kernel("StoredMatMul", stored_spec(second=DType.int8), STORED)
class StoredBytesMatMul(StoredMatMul):
    """The same as they are stored."""

    instructions_per_mac = BytesMatMul.instructions_per_mac

    def call(self) -> Call:
        product = StoredProduct.of(self.view)
        return bytes_call(matrix(product.first, False), matrix(product.second, False), product.arguments)


def bytes_call(first: Matrices, second: Matrices, pointers: Sequence[Argument]) -> Call:
    """Returns the call of first * second, int8."""
    arguments = (*pointers, Output(0), shape_of(first, second))
    return Call("aidge_ref_product_bytes", ("float32/product_bytes.h",), arguments)


def product_call(
    first: Matrices,
    second: Matrices,
    pointers: Sequence[Argument],
    alpha: float = 1.0,
    beta: float = 0.0,
    third_steps: tuple[int, int] = (0, 0),
) -> Call:
    """Returns the call of alpha * first * second + beta * third; `pointers` are the two or three operands."""
    shape = shape_of(first, second, third_steps)
    operands = pointers if len(pointers) > 2 else (*pointers, Constant("third", numpy.zeros(1, numpy.float32)))
    factors = Constant("factors", numpy.array([alpha, beta], numpy.float32))
    return Call("aidge_ref_gemm_float32", ("float32/gemm_float32.h",), (*operands, Output(0), factors, shape))


def shape_of(first: Matrices, second: Matrices, third_steps: tuple[int, int] = (0, 0)) -> Struct:
    """Returns the struct of both products."""
    (a_dims, a_steps), (b_dims, b_steps) = first, second
    return Struct(
        "aidge_ref_gemm_shape",
        {
            "dims": tuple(max(sizes) for sizes in zip(a_dims[:-2], b_dims[:-2])),
            "first_batch_steps": a_steps[:-2],
            "second_batch_steps": b_steps[:-2],
            "rows": a_dims[-2],
            "inner": a_dims[-1],
            "columns": b_dims[-1],
            "first_row_step": a_steps[-2],
            "first_inner_step": a_steps[-1],
            "second_inner_step": b_steps[-2],
            "second_column_step": b_steps[-1],
            "third_row_step": third_steps[0],
            "third_column_step": third_steps[1],
        },
    )


def matrix(tensor: Tensor, transposed: bool = False) -> Matrices:
    """Returns the dims and steps of a matrix with all batch axes."""
    missing = BATCH_AXES + 2 - tensor.rank
    dims = (1,) * missing + tensor.dims
    steps = [0 if size == 1 else step for size, step in zip(dims, (0,) * missing + tensor.layout.strides)]
    order = [*range(BATCH_AXES), *((BATCH_AXES + 1, BATCH_AXES) if transposed else (BATCH_AXES, BATCH_AXES + 1))]
    return tuple(dims[axis] for axis in order), tuple(steps[axis] for axis in order)
