# SPDX-License-Identifier: MIT
"""Element-wise operators on plain numbers and truth values of any type."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.base.errors import AidgeError
from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.float_functions import FunctionSteps
from aidge_build.contract.kernel_kit.float_steps import unit_of
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..shared.each import each
from ..shared.each_expressions import ALL_TYPES, expression


def _types(view: NodeView) -> str:
    if expression(view) is None:
        return (
            f"{view.node.type} of {', '.join(tensor.dtype.name for tensor in view.inputs if tensor is not None)} "
            "has no C expression"
        )
    return ""


@kernel(ALL_TYPES, ImplSpec(IOSpec(DType.any, SAME), predicates=(REAL, Predicate("the types have a C expression", _types))))
class EachAny(KernelNode):
    def call(self) -> Call:
        found = expression(self.view)
        if found is None:
            raise AidgeError(_types(self.view), code="KERNEL")
        given = [(index, tensor) for index, tensor in enumerate(self.inputs) if tensor is not None]
        call = each(found, [tensor for _, tensor in given], [index for index, _ in given], self.outputs[0])
        steps = FunctionSteps.of(unit_of(self.view.features), self.operator)
        return call if steps is None else replace(call, steps=steps)
