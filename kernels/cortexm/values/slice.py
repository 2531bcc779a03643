# SPDX-License-Identifier: MIT
"""Slices that are one run of neighbours, any type, by LDM and STM: what the state of a layer that streams keeps of its frames."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.kernel_kit.orders import in_each_order
from aidge_build.contract.kernel_kit.runs import FEW_AXES
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import layout

from ..core.conditions import FEATURES
from .runs import Runs


def _source_strides(view: NodeView) -> tuple[int, ...]:
    (source,), (target,) = view.inputs, view.outputs
    return layout(source.dims, target.storage, source.dtype).strides


def _is_run(view: NodeView) -> bool:
    operator, (target,) = view.operator, view.outputs
    axes = zip(operator.counts, operator.steps, _source_strides(view), target.layout.strides)
    return all(count == 1 or step * source == own for count, step, source, own in axes)


def _unfit(view: NodeView) -> str:
    is_run = any(map(_is_run, in_each_order(view)))
    return "" if is_run and view.outputs[0].elements else "its elements are not neighbours in the input"


_SIDE = IOSpec(DType.any_1, SAME)


@kernel(
    "Slice",
    ImplSpec(_SIDE, predicates=(SAME_QUANTIZATION, FEW_AXES, Predicate("one run of neighbours", _unfit)), features=FEATURES),
)
class Slice(KernelNode):
    def call(self) -> Call:
        (target,), operator = self.outputs, self.operator
        if not _is_run(self.view):  # but it would have been in another storage order: that was chosen after the kernel
            bounds = zip(operator.starts, operator.counts, operator.steps)
            return Runs.copying.call(self, [start + step * numpy.arange(count) for start, count, step in bounds])
        first = sum(start * stride for start, stride in zip(operator.starts, _source_strides(self.view)))
        size = target.dtype.size_bytes
        arguments = (Input(0), Output(0), Literal(first * size), Literal(target.elements * size))
        return Call("aidge_cortexm_slice", ("values/slice.h",), arguments)
