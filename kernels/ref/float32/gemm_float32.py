# SPDX-License-Identifier: MIT
"""float32 matrix products of any two tensors: MatMul with broadcasting batches, and Gemm."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Output, Struct
from aidge_build.contract.kernel_kit.linear_float32 import parameter
from aidge_build.contract.kernel_kit.matmul_float32 import MATRICES
from aidge_build.contract.kernel_kit.products import BATCH_AXES
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import layout, row_major
from aidge_build.graph.tensor import Tensor


@kernel(("MatMul", "Gemm"), ImplSpec(IOSpec(DType.float32, ROW_MAJOR), predicates=(MATRICES,)))
class GemmFloat32(KernelNode):
    instructions_per_mac = 8

    def call(self) -> Call:
        operator, is_gemm = self.operator, self.node.type == "Gemm"
        first, second, *rest = self.inputs
        third = rest[0] if rest else None
        alpha, beta = (operator.alpha, operator.beta) if is_gemm else (1.0, 0.0)
        a_dims, a_steps = self._matrix(first, is_gemm and operator.transpose_a)
        b_dims, b_steps = self._matrix(second, is_gemm and operator.transpose_b)
        c_steps = self._matrix(third, False)[1][-2:] if third is not None else (0, 0)
        shape = Struct(
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
                "third_row_step": c_steps[0],
                "third_column_step": c_steps[1],
            },
        )
        zero = Constant("third", numpy.zeros(1, numpy.float32))
        return Call(
            "aidge_ref_gemm_float32",
            ("float32/gemm_float32.h",),
            (
                parameter(self, 0, "first"),
                parameter(self, 1, "second"),
                zero if third is None else parameter(self, 2, "third"),
                Output(0),
                Constant("factors", numpy.array([alpha, beta], numpy.float32)),
                shape,
            ),
        )

    @staticmethod
    def _matrix(tensor: Tensor, transposed: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Dims and steps with all batch axes; axes of length 1 repeat."""
        dims = (1,) * (BATCH_AXES + 2 - tensor.rank) + tensor.dims
        steps = [0 if size == 1 else step for size, step in zip(dims, layout(dims, row_major(len(dims)), tensor.dtype).strides)]
        order = [*range(BATCH_AXES), *((BATCH_AXES + 1, BATCH_AXES) if transposed else (BATCH_AXES, BATCH_AXES + 1))]
        return tuple(dims[axis] for axis in order), tuple(steps[axis] for axis in order)
