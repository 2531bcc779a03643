# SPDX-License-Identifier: MIT
"""float32 sum, difference, product and quotient with broadcasting: one generated C function each."""

from __future__ import annotations

from aidge_build.contract.call import Call, Literal, Output
from aidge_build.contract.kernel_kit.broadcast import broadcast, operand
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..shared.broadcast_loop import SOURCE, broadcast_loop
from .linear_float32 import bounds

_SIGNS = {"Add": "+", "Div": "/", "Mul": "*", "Sub": "-"}
_SIDE = IOSpec(DType.float32, SAME)


@kernel(sorted(_SIGNS), ImplSpec(inputs=(_SIDE, _SIDE), outputs=(_SIDE,)))
class BinaryFloat32(ElementWise):
    def call(self) -> Call:
        kind = self.node.type.lower()
        (first, second), (output,) = self.inputs, self.outputs
        pointers = (operand(0, "first", first, output), operand(1, "second", second, output), Output(0), bounds(self.operator))
        shape = broadcast(first, second, output)
        value = f"aidge_ref_clamp_float32(*{{}} {_SIGNS[self.node.type]} *{{}}, bounds)"
        if shape.fields["runs"] > 1:
            name = f"aidge_ref_{kind}_float32"
            text = broadcast_loop(name, "float", "const float *bounds, ", value.format("a", "b"))
            return Call(name, (SOURCE, "float32/clamp_float32.h"), (*pointers, shape), texts=(text,))
        name = f"aidge_ref_{kind}_run_float32"
        run = (Literal(shape.fields[name]) for name in ("length", "first_step", "second_step"))
        text = _RUN.format(name=name, value=value.format("first", "second"))
        return Call(name, ("shared/each.h", "float32/clamp_float32.h"), (*pointers, *run), texts=(text,))


_RUN = """/* An element of the output from one of each input, float32: one run, in which an operand with step 0 repeats. */
static void {name}(const float *first, const float *second, float *output, const float *bounds, int32_t length,
    int32_t first_step, int32_t second_step)
{{
    for (; length > 0; length--) {{
        *output++ = {value};
        first += first_step;
        second += second_step;
    }}
}}"""
