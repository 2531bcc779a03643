# SPDX-License-Identifier: MIT
"""float32 LayerNormalization and RMSNormalization, four values at a time."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.conditions import REAL

from ..conditions import MVE


def _statistics(view: NodeView) -> str:
    return "mean and deviation are outputs, too" if len(view.outputs) > 1 else ""


@kernel(
    ("LayerNormalization", "RMSNormalization"),
    ImplSpec(
        inputs=(IOSpec(DType.float32, ROW_MAJOR),),
        outputs=(IOSpec(DType.float32, ROW_MAJOR),),
        features=MVE,
        predicates=(REAL, Predicate("one output", _statistics)),
    ),
)
class NormalizeFloat32(KernelNode):
    def _parameter(self, index: int, name: str) -> Argument:
        if len(self.inputs) <= index or self.inputs[index] is None:
            return Literal(0)
        tensor = self.inputs[index]
        return Constant(name, tensor.data) if tensor.is_constant else Input(index)

    def call(self) -> Call:
        dims, axis = self.inputs[0].dims, self.operator.axis
        return Call(
            "aidge_helium_normalize_float32",
            ("float32/normalize.h",),
            (
                Input(0),
                self._parameter(1, "scale"),
                self._parameter(2, "bias"),
                Output(0),
                Constant("epsilon", numpy.array([self.operator.epsilon], numpy.float32)),
                Literal(int(self.node.type == "LayerNormalization")),
                Literal(math.prod(dims[:axis])),
                Literal(math.prod(dims[axis:])),
            ),
            facts=computed("4 values"),
        )
