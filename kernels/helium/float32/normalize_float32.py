# SPDX-License-Identifier: MIT
"""float32 normalizations, four values at a time."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Literal, Output, Struct, computed
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..conditions import MVE


def _statistics(view: NodeView) -> str:
    return "mean and deviation are outputs, too" if len(view.outputs) > 1 else ""


_SPEC = ImplSpec(
    inputs=(IOSpec(DType.float32, ROW_MAJOR),),
    outputs=(IOSpec(DType.float32, ROW_MAJOR),),
    features=MVE,
    predicates=(REAL, Predicate("one output", _statistics)),
)


class _Normalize(KernelNode):
    def parameter(self, index: int, name: str) -> Argument:
        """An input that need not be given: then a null pointer."""
        if len(self.inputs) <= index or self.inputs[index] is None:
            return Literal(0)
        tensor = self.inputs[index]
        return Constant(name, tensor.data) if tensor.is_constant else Input(index)

    def epsilon(self) -> Constant:
        return Constant("epsilon", numpy.array([self.operator.epsilon], numpy.float32))


@kernel(("LayerNormalization", "RMSNormalization"), _SPEC)
class NormalizeFloat32(_Normalize):
    def call(self) -> Call:
        dims, axis = self.inputs[0].dims, self.operator.axis
        return Call(
            "aidge_helium_normalize_float32",
            ("float32/normalize.h",),
            (
                Input(0),
                self.parameter(1, "scale"),
                self.parameter(2, "bias"),
                Output(0),
                self.epsilon(),
                Literal(int(self.node.type == "LayerNormalization")),
                Literal(math.prod(dims[:axis])),
                Literal(math.prod(dims[axis:])),
            ),
            facts=computed("4 values"),
        )


@kernel(("GroupNormalization", "InstanceNormalization"), _SPEC)
class NormalizeGroupsFloat32(_Normalize):
    """Groups of channels whose values are neighbours, each channel, or each group, with a scale and a bias."""

    def call(self) -> Call:
        data, scale = self.inputs[:2]
        groups = self.operator.group_count(data.dims)
        runs = scale.dims[0] // groups
        length = math.prod(data.dims[1:]) // (groups * runs)
        shape = Struct("aidge_helium_groups_float32", {"batches": data.dims[0], "groups": groups, "runs": runs, "length": length})
        return Call(
            "aidge_helium_normalize_groups_float32",
            ("float32/normalize_groups.h",),
            (Input(0), self.parameter(1, "scale"), self.parameter(2, "bias"), Output(0), self.epsilon(), shape),
            facts=computed("4 values"),
        )
