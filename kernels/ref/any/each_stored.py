# SPDX-License-Identifier: MIT
"""Max, Min and Where of stored values that all mean the same: elements are handed on, whatever they stand for."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..shared.each import each
from ..shared.each_expressions import expression


def _differ(view: NodeView) -> str:
    quantized = [tensor for tensor in (*view.inputs, *view.outputs) if tensor.dtype is not DType.bool]
    if any(tensor.quantization is None or not tensor.quantization.per_tensor for tensor in quantized):
        return "a tensor has no quantization, or several scales"
    first = quantized[-1].quantization
    same = all(tensor.quantization == first for tensor in quantized)
    return "" if same else "the tensors differ in scale or zero point"


_STORED = IOSpec(DType.any_1, SAME)
_PREDICATES = (Predicate("every input and the output have the same quantization", _differ),)


@kernel(("Max", "Min"), ImplSpec(_STORED, predicates=_PREDICATES, rounding="any"))
class ExtremeStored(ElementWise):
    def call(self) -> Call:
        return each(expression(self.view), self.inputs, range(len(self.inputs)), self.outputs[0])


@kernel("Where", ImplSpec((IOSpec(DType.bool, SAME), _STORED), (_STORED,), predicates=_PREDICATES, rounding="any"))
class ChoiceStored(ExtremeStored):
    """The condition has an element type of its own."""
