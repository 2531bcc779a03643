# SPDX-License-Identifier: MIT
"""float32 distances between the rows of two matrices."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

_FLOAT = IOSpec(DType.float32, ROW_MAJOR)


@kernel("CDist", ImplSpec(inputs=(_FLOAT, _FLOAT), outputs=(_FLOAT,)))
class CDist(KernelNode):
    def call(self) -> Call:
        (rows, length), (others, _) = self.inputs[0].dims, self.inputs[1].dims
        name = {"sqeuclidean": "squared_distances", "euclidean": "distances"}[self.operator.metric]
        return Call(
            f"aidge_ref_{name}_float32",
            (f"float32/{name}_float32.h",),
            (Input(0), Input(1), Output(0), Literal(rows), Literal(others), Literal(length)),
        )
