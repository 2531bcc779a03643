# SPDX-License-Identifier: MIT
"""float32 recurrent layers: RNN, GRU, LSTM."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.recurrent import FLOATS, optional_input, recurrent_shape
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, ROW_MAJOR, Demands, ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType


@kernel(
    ("RNN", "GRU", "LSTM"),
    ImplSpec(
        inputs=(IOSpec(DType.float32, ROW_MAJOR), IOSpec(DType.any, ANY)),
        outputs=(IOSpec(DType.float32, ROW_MAJOR),),
        predicates=(REAL, FLOATS),
    ),
)
class Recurrent(KernelNode):
    instructions_per_mac = 9.5

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        rows = view.operator.gates + (1 if view.node.type == "GRU" else 0)
        return Demands(scratch_bytes=4 * rows * view.operator.hidden)

    def call(self) -> Call:
        name, operator = self.node.type.lower(), self.operator
        inputs = [
            Input(0),
            Input(1),
            Input(2),
            *(optional_input(self, index) for index in ((3, 4, 5, 6, 7) if name == "lstm" else (3, 4, 5))),
        ]
        limits = [operator.limit, *([operator.cell_limit] if name == "lstm" else [])]
        return Call(
            f"aidge_ref_{name}_float32",
            (f"float32/{name}_float32.h",),
            (
                *inputs,
                *map(Output, range(len(self.outputs))),
                Scratch(),
                Constant("limit", numpy.array(limits, numpy.float32)),
                recurrent_shape(self),
            ),
        )
