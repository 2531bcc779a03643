# SPDX-License-Identifier: MIT
"""Indices of extreme elements along an axis, any type: ArgMax, ArgMin and TopK, as generated functions."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..shared.each_expressions import NUMBERS


def _types(view: NodeView) -> str:
    dtype = view.inputs[0].dtype
    return "" if dtype in NUMBERS else f"the elements are {dtype.name}"


UNROLLED = 16  # elements along the axis that are compared without a loop


def _other_axis(view: NodeView) -> str:
    rank, axis = view.inputs[0].rank, view.operator.axis % max(view.inputs[0].rank, 1)
    return "" if rank > 2 and axis == 1 else f"axis {axis} of {rank}, wants the channels of pixels"


_NUMBERS = Predicate("elements are numbers", _types)
_SPEC = ImplSpec(IOSpec(DType.any, ROW_MAJOR), predicates=(REAL, _NUMBERS))
_ARG_SPEC = ImplSpec(inputs=(IOSpec(DType.any, ROW_MAJOR),), outputs=(IOSpec(DType.int64, ROW_MAJOR),), predicates=(_NUMBERS,))
_PIXELS = Predicate("the axis of channels", _other_axis)
_PIXELS_SPEC = ImplSpec(
    inputs=(IOSpec(DType.any, CHANNELS_LAST),), outputs=(IOSpec(DType.int64, ROW_MAJOR),), predicates=(_NUMBERS, _PIXELS)
)


class _Along(KernelNode):
    def sizes(self) -> tuple[Literal, ...]:
        """Outer blocks, elements along the axis, and elements of one block per step of the axis."""
        dims, axis = self.inputs[0].dims, self.operator.axis % self.inputs[0].rank
        return Literal(math.prod(dims[:axis])), Literal(dims[axis]), Literal(math.prod(dims[axis + 1 :]))


@kernel(("ArgMax", "ArgMin"), _ARG_SPEC)
class ArgOfAxis(_Along):
    def call(self) -> Call:
        dtype, last, (outer, length, inner) = self.inputs[0].dtype, self.operator.last, self.sizes()
        sign = (">" if self.node.type == "ArgMax" else "<") + ("=" if last else "")
        stem = f"aidge_ref_{self.node.type.lower()}{'_last' if last else ''}"
        if 1 < length.value <= UNROLLED:
            name, sizes = f"{stem}_{length.value}_{dtype.name}", (outer, inner)
            text = _unrolled(name, dtype.c_type, sign, length.value)
        else:
            name, sizes = f"{stem}_{dtype.name}", (outer, length, inner)
            text = _looped(name, dtype.c_type, sign)
        return Call(name, ("any/arg.h",), (Input(0), Output(0), *sizes), texts=(text,))


def _looped(name: str, c_type: str, sign: str) -> str:
    return f"""/* output = the index of the extreme element along an axis of `length` elements that lie `inner` apart. */
static void {name}(const {c_type} *input, int64_t *output, int32_t outer, int32_t length, int32_t inner)
{{
    int32_t block, i, k;
    for (block = 0; block < outer; block++) {{
        for (i = 0; i < inner; i++) {{
            const {c_type} *at = input + i;
            {c_type} best = *at;
            int32_t place = 0;
            for (k = 1; k < length; k++) {{
                at += inner;
                place = *at {sign} best ? k : place;
                best = *at {sign} best ? *at : best;
            }}
            *output++ = place;
        }}
        input += length * inner;
    }}
}}"""


def _unrolled(name: str, c_type: str, sign: str, length: int) -> str:
    steps = "".join(
        f"""
            at += inner;
            value = *at;
            place = value {sign} best ? {k} : place;
            best = value {sign} best ? value : best;"""
        for k in range(1, length)
    )
    return f"""/* output = the index of the extreme element along an axis of {length} elements that lie `inner` apart. */
static void {name}(const {c_type} *input, int64_t *output, int32_t outer, int32_t inner)
{{
    int32_t block, i;
    for (block = 0; block < outer; block++) {{
        for (i = 0; i < inner; i++) {{
            const {c_type} *at = input + i;
            {c_type} best = *at, value;
            int32_t place = 0;{steps}
            *output++ = place;
        }}
        input += {length} * inner;
    }}
}}"""


@kernel(("ArgMax", "ArgMin"), _PIXELS_SPEC)
class ArgChannels(ArgOfAxis):
    """The channels of a pixel lie side by side."""

    def sizes(self) -> tuple[Literal, ...]:
        channels = self.inputs[0].dims[1]
        return Literal(self.inputs[0].elements // channels), Literal(channels), Literal(1)


@kernel("TopK", _SPEC)
class TopK(_Along):
    def call(self) -> Call:
        dtype, largest = self.inputs[0].dtype, self.operator.largest
        function = f"aidge_ref_top_{'largest' if largest else 'smallest'}_{dtype.name}"
        text = f"""/* The best `count` elements along an axis in order, and their indices:
 * insertion into a sorted list, the first of equal ones wins. */
static void {function}(const {dtype.c_type} *input, {dtype.c_type} *values, int64_t *indices, int32_t outer, int32_t length,
    int32_t inner, int32_t count)
{{
    int32_t block, i, k, place;
    for (block = 0; block < outer; block++) {{
        for (i = 0; i < inner; i++) {{
            int32_t found = 0;
            for (k = 0; k < length; k++) {{
                const {dtype.c_type} x = input[k * inner + i];
                if ((found == count) && !(x {">" if largest else "<"} values[(count - 1) * inner + i])) {{
                    continue;
                }}
                found += found < count ? 1 : 0;
                for (place = found - 1; (place > 0) && (x {">" if largest else "<"} values[(place - 1) * inner + i]); place--) {{
                    values[place * inner + i] = values[(place - 1) * inner + i];
                    indices[place * inner + i] = indices[(place - 1) * inner + i];
                }}
                values[place * inner + i] = x;
                indices[place * inner + i] = k;
            }}
        }}
        input += length * inner;
        values += count * inner;
        indices += count * inner;
    }}
}}"""
        return Call(
            function, ("any/arg.h",), (Input(0), Output(0), Output(1), *self.sizes(), Literal(self.operator.count)), texts=(text,)
        )
