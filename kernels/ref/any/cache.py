# SPDX-License-Identifier: MIT
"""Rows that are written into a cache, any type: in place, with one copy for each piece of memory in which the rows are."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Input, Literal, Output, Struct
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, SAME, Demands, ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType

_ROWS = IOSpec(DType.any_1, SAME)
_SPEC = ImplSpec((_ROWS, _ROWS, IOSpec(DType.any, ROW_MAJOR)), (_ROWS,), predicates=(SAME_QUANTIZATION,))


@kernel("TensorScatter", _SPEC)
class TensorScatter(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(in_place=(0,))

    def call(self) -> Call:
        cache, rows, *indices = self.inputs
        axis = self.operator.axis % cache.rank
        position = cache.storage.position(axis)
        outer = math.prod(cache.layout.stored_dims[:position])
        shape = {
            "outer": outer,
            "pieces": outer // cache.dims[0],
            "rows": cache.dims[axis],
            "bytes": cache.size_bytes // (outer * cache.dims[axis]),
            "written": rows.dims[axis],
            "index_bytes": indices[0].dtype.size_bytes if indices else 0,
            "circular": int(self.operator.mode == "circular"),
        }
        places = Input(2) if indices else Literal(0)
        arguments = (Input(0), Input(1), places, Output(0), Struct("aidge_ref_cache_shape", shape))
        return Call("aidge_ref_write_rows", ("any/cache.h",), arguments)
