# SPDX-License-Identifier: MIT
"""Tensors made from numbers of run time: ConstantOfShape and Range whose inputs are computed."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, Predicate
from aidge_build.graph.dtype import DType

from ..shared.each_expressions import NUMBERS, wide

_ANY = IOSpec(DType.any, ROW_MAJOR)


@kernel("Fill", ImplSpec(inputs=(IOSpec(DType.int64, ROW_MAJOR),), outputs=(_ANY,), predicates=(REAL,)))
class Fill(KernelNode):
    def call(self) -> Call:
        (target,) = self.outputs
        value = numpy.array([self.operator.value], target.dtype.numpy)
        return Call(
            "aidge_ref_fill",
            ("any/fill_shape.h",),
            (
                Input(0),
                Output(0),
                Constant("value", value),
                Literal(target.rank),
                Literal(target.elements),
                Literal(target.dtype.size_bytes),
            ),
        )


@kernel(
    "Count",
    ImplSpec(
        _ANY,
        predicates=(
            REAL,
            Predicate(
                "the numbers have a C type",
                lambda view: "" if view.outputs[0].dtype in NUMBERS else f"{view.outputs[0].dtype.name} has none",
            ),
        ),
    ),
)
class Count(KernelNode):
    def call(self) -> Call:
        (target,) = self.outputs
        kind = target.dtype.c_type
        whole = wide(target.dtype) if not target.dtype.is_float else "float"
        function = f"aidge_ref_count_{target.dtype.name}"
        text = f"""/* start, start + delta, ... up to but without limit; zeros behind. */
static void {function}(const {kind} *start, const {kind} *limit, const {kind} *delta, {kind} *output, int32_t count)
{{
    int32_t i;
    for (i = 0; i < count; i++) {{
        const {kind} value = ({kind})(({whole})*start + ({whole})i * ({whole})*delta);
        output[i] = (*delta > 0 ? value < *limit : value > *limit) ? value : ({kind})0;
    }}
}}"""
        return Call(
            function, ("shared/each.h",), (Input(0), Input(1), Input(2), Output(0), Literal(target.elements)), texts=(text,)
        )
