# SPDX-License-Identifier: MIT
"""Padding with a constant, any type; negative pads cut."""

from __future__ import annotations

import numpy

from aidge_build.arithmetic.requantize import quantize
from aidge_build.backend.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.export.call import Call, Constant, Input, Literal, Output
from aidge_build.export.node import ExportNode, kernel
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import layout

from .conditions import SAME_QUANTIZATION
from .strided import strided_copy


def _mode(view: NodeView) -> str:
    return "" if view.operator.mode == "constant" else f"mode {view.operator.mode}, wants constant"


@kernel("Pad", ImplSpec(inputs=(IOSpec(DType.any_1, SAME),), outputs=(IOSpec(DType.any_1, SAME),),
                        predicates=(SAME_QUANTIZATION, Predicate("pads with a constant", _mode))))
class Pad(ExportNode):
    def call(self) -> Call:
        (source,), (target,), operator = self.inputs, self.outputs, self.operator
        strides = layout(source.dims, target.storage, source.dtype).strides
        cut = [max(0, -begin) for begin in operator.pads_begin]
        kept = [size - first - max(0, -end) for size, first, end in zip(source.dims, cut, operator.pads_end)]
        targets = target.layout.strides
        shape = strided_copy(kept, strides, targets, source.dtype,
                             source_start=sum(first * stride for first, stride in zip(cut, strides)),
                             target_start=sum(max(0, begin) * stride for begin, stride in zip(operator.pads_begin, targets)))
        value = numpy.array([operator.value])
        if target.quantization is not None:
            value = quantize(value.astype(numpy.float64), target.quantization, target.dtype)
        return Call("aidge_ref_pad", ("pad.h",),
                    (Input(0), Output(0), Constant("value", value.astype(target.dtype.numpy)), Literal(target.elements), shape))
