# SPDX-License-Identifier: MIT
"""float32 products of a matrix and a vector, or of two vectors: matrices with one row or column."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from .gemm_float32 import GemmFloat32


def _no_vector(view: NodeView) -> str:
    return "" if 1 in (view.inputs[0].rank, view.inputs[1].rank) else "no input is a vector"


@kernel("MatMul", ImplSpec(IOSpec(DType.float32, ROW_MAJOR), predicates=(Predicate("one input is a vector", _no_vector),)))
class MatmulVectorFloat32(GemmFloat32):
    def call(self) -> Call:
        first, second = self.inputs
        if first.rank == 1:
            first = first.with_(dims=(1, *first.dims), format=None, data=None if first.data is None else first.data[None, :])
        if second.rank == 1:
            second = second.with_(dims=(*second.dims, 1), format=None, data=None if second.data is None else second.data[:, None])
        self.inputs = (first, second)
        return super().call()
