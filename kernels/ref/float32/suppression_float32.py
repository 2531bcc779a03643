# SPDX-License-Identifier: MIT
"""float32 boxes of which others that overlap them are left out."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType

_FLOATS = IOSpec(DType.float32, ROW_MAJOR)


@kernel("NonMaxSuppression", ImplSpec((_FLOATS, _FLOATS), (IOSpec(DType.int64, ROW_MAJOR),), (REAL,)))
class NonMaxSuppressionFloat32(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=view.inputs[1].dims[2])

    def call(self) -> Call:
        operator, (batches, classes, boxes) = self.operator, self.inputs[1].dims
        bounds = [operator.overlap, 0.0 if operator.least is None else operator.least]
        sizes = {"batches": batches, "classes": classes, "boxes": boxes, "most": operator.most, "rows": self.outputs[0].dims[0]}
        sizes |= {"centered": int(operator.centered), "bounded": int(operator.least is not None)}
        return Call(
            "aidge_ref_suppression_float32",
            ("float32/suppression_float32.h",),
            (
                Input(0),
                Input(1),
                Output(0),
                Scratch(),
                Constant("bounds", numpy.array(bounds, numpy.float32)),
                Struct("aidge_ref_suppression_shape", sizes),
            ),
        )
