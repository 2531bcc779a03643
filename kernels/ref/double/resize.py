# SPDX-License-Identifier: MIT
"""Resize by weighted means of four pixels under the contract `double`, int8 and int16."""

from __future__ import annotations

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.contract.call import Call, Constant, Input, Literal, Output, Struct
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED, SAME_QUANTIZATION, STORED_BYTES_OR_HALFWORDS
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.double.resize import places_of


def _unmeant(view: NodeView) -> str:
    if view.operator.selects:
        return "it is a copy"
    try:
        places_of(view.operator, view.inputs[0].dims)
    except AidgeError as error:
        return error.what
    return ""


_STORED = IOSpec(DType.any_1, SAME)


@kernel(
    "Resize",
    ImplSpec(
        _STORED,
        predicates=(STORED_BYTES_OR_HALFWORDS, ALL_QUANTIZED, SAME_QUANTIZATION, Predicate("means of four pixels", _unmeant)),
        rounding="double",
    ),
)
class ResizeDouble(KernelNode):
    def call(self) -> Call:
        (data,), (output,) = self.inputs, self.outputs
        rows, columns = places_of(self.operator, data.dims)
        names = "batches", "channels", "height", "width"
        shape = {**dict(zip(names, output.dims)), "in_steps": data.layout.strides, "out_steps": output.layout.strides}
        return Call(
            "aidge_ref_resize_double",
            ("double/resize.h",),
            (
                Input(0),
                Output(0),
                Constant("rows", rows.astype(numpy.int32)),
                Constant("columns", columns.astype(numpy.int32)),
                Literal(int(data.dtype is DType.int16)),
                Struct("aidge_ref_resize_double_shape", shape),
            ),
        )
