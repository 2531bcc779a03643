# SPDX-License-Identifier: MIT
"""Triangles, one-hot codes and running sums."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import REAL, SAME_QUANTIZATION
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..shared.each_expressions import INTEGERS, NUMBERS, wide

LARGEST_SHIFT = 1 << 20


def _not_numbers(view: NodeView) -> str:
    wrong = [tensor.dtype.name for tensor in view.inputs if tensor.dtype not in NUMBERS]
    return f"the elements are {wrong[0]}" if wrong else ""


ARE_NUMBERS = Predicate("elements are numbers", _not_numbers)


def _wide_quantized(view: NodeView) -> str:
    data = view.inputs[0]
    return "quantized elements of more than a byte" if data.quantization is not None and data.dtype.size_bytes > 1 else ""


@kernel(
    "Trilu",
    ImplSpec(
        IOSpec(DType.any_1, ROW_MAJOR),
        predicates=(SAME_QUANTIZATION, Predicate("a zero is the same byte throughout", _wide_quantized)),
    ),
)
class Trilu(KernelNode):
    def call(self) -> Call:
        *batch, rows, columns = self.inputs[0].dims
        shift = max(-LARGEST_SHIFT, min(LARGEST_SHIFT, self.operator.shift))
        quantization = self.inputs[0].quantization
        fill = 0 if quantization is None else quantization.zero_point
        numbers = (math.prod(batch), rows, columns, self.inputs[0].dtype.size_bytes, int(self.operator.upper), shift, fill)
        return Call("aidge_ref_trilu", ("any/trilu.h",), (Input(0), Output(0), *map(Literal, numbers)))


@kernel("OneHot", ImplSpec(IOSpec(DType.any, ROW_MAJOR), predicates=(REAL, ARE_NUMBERS)))
class OneHot(KernelNode):
    def call(self) -> Call:
        (indices, values), axis = self.inputs, self.operator.axis
        index, value = indices.dtype, values.dtype
        function = f"aidge_ref_one_hot_{index.name}_{value.name}"
        low = "" if index.name.startswith("u") else "(index >= -depth) && "
        text = f"""/* output[.., k, ..] = on where k is the index, else off; values: {{off, on}}. */
static void {function}(const {index.c_type} *indices, const {value.c_type} *values, {value.c_type} *output,
    int32_t outer, int32_t depth,
    int32_t inner)
{{
    int32_t block, i, k;
    for (block = 0; block < outer; block++) {{
        for (k = 0; k < depth; k++) {{
            for (i = 0; i < inner; i++) {{
                const {index.c_type} x = indices[block * inner + i];
                const int64_t index = (x >= -2147483648.0) && (x <= 2147483647.0) ? (int64_t)x : (int64_t)depth;
                *output++ = {low}((index == k) || (index == k - depth)) ? values[1] : values[0];
            }}
        }}
    }}
}}"""
        if index in INTEGERS:
            text = text.replace("(x >= -2147483648.0) && (x <= 2147483647.0) ? (int64_t)x : (int64_t)depth", "(int64_t)x")
        else:
            text = text.replace("2147483648.0)", "2147483648.0f)").replace("2147483647.0)", "2147483520.0f)")
        return Call(
            function,
            ("any/arg.h",),
            (
                Input(0),
                Input(1),
                Output(0),
                Literal(math.prod(indices.dims[:axis])),
                Literal(self.operator.depth),
                Literal(math.prod(indices.dims[axis:])),
            ),
            texts=(text,),
        )


@kernel("CumSum", ImplSpec(IOSpec(DType.any, ROW_MAJOR), predicates=(REAL, ARE_NUMBERS)))
class CumSum(KernelNode):
    def call(self) -> Call:
        (data,), operator = self.inputs, self.operator
        c = data.dtype.c_type
        total = c if data.dtype is DType.float32 else wide(data.dtype)
        parts = ("exclusive", operator.exclusive), ("reverse", operator.reverse), (data.dtype.name, True)
        function = "_".join(["aidge_ref_cumsum", *(part for part, is_there in parts if is_there)])
        place = "((length - 1 - k) * inner + i)" if operator.reverse else "(k * inner + i)"
        steps = [f"const int32_t at = {place};", f"const {total} x = ({total})input[at];"]
        steps += [f"output[at] = ({c})sum;", "sum += x;"] if operator.exclusive else ["sum += x;", f"output[at] = ({c})sum;"]
        body = "\n                ".join(steps)
        text = f"""/* Running sums along an axis of `length` elements that lie `inner` apart. */
static void {function}(const {c} *input, {c} *output, int32_t outer, int32_t length, int32_t inner)
{{
    int32_t block, i, k;
    for (block = 0; block < outer; block++) {{
        for (i = 0; i < inner; i++) {{
            {total} sum = 0;
            for (k = 0; k < length; k++) {{
                {body}
            }}
        }}
        input += length * inner;
        output += length * inner;
    }}
}}"""
        axis = operator.axis % data.rank
        return Call(
            function,
            ("any/arg.h",),
            (
                Input(0),
                Output(0),
                Literal(math.prod(data.dims[:axis])),
                Literal(data.dims[axis]),
                Literal(math.prod(data.dims[axis + 1 :])),
            ),
            texts=(text,),
        )
