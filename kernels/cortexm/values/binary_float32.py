# SPDX-License-Identifier: MIT
"""float32 sum, difference, product and quotient with broadcasting: eight values at a time in the registers of the FPU."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Literal, Output, computed
from aidge_build.contract.kernel_kit.broadcast import broadcast, operand
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.assembly import Routine
from ..core.float32 import FEATURES, NO_OTHER_CLAMP, Limits, in_turns, listed, values

TOGETHER = 8
SHORTEST = 8  # values side by side; of shorter runs the calls take more than they gain
SIGNS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}
_WAYS = {(1, 1): "", (1, 0): "_by_one", (0, 1): "_of_one"}
PARAMETERS = "const float *first, const float *second, float *output, int32_t count"
FLOAT = IOSpec(DType.float32, SAME)


def _short(view: NodeView) -> str:
    """Storage orders are known only later: what of an order decides is left out."""
    whole = view.layer.whole if view.layer else view  # bands of it may be shorter
    sizes = [tensor.elements for tensor in whole.inputs]
    return "" if max(sizes) >= SHORTEST and whole.outputs[0].elements == max(sizes) else "few values, or both repeat"


@kernel(
    tuple(SIGNS),
    ImplSpec((FLOAT, FLOAT), (FLOAT,), features=FEATURES, predicates=(REAL, NO_OTHER_CLAMP, Predicate("many values", _short))),
)
class BinaryFloat32(ElementWise):
    assembly = "needed"

    def call(self) -> Call:
        (first, second), (output,) = self.inputs, self.outputs
        shape = broadcast(first, second, output)
        function, text = routine(
            self.node.type, (shape.fields["first_step"], shape.fields["second_step"]), self.operator.minimum == 0
        )
        pointers = (operand(0, "first", first, output), operand(1, "second", second, output), Output(0))
        if shape.fields["runs"] == 1:
            return Call(
                function, ("values/binary_float32.h",), (*pointers, Literal(shape.fields["length"])), texts=(text,), facts=FACTS
            )
        rows = _ROWS.format(name=f"{function}_rows", function=function)
        return Call(f"{function}_rows", ("values/binary_float32.h",), (*pointers, shape), texts=(text, rows), facts=FACTS)


FACTS = computed(f"{TOGETHER} values")
_ROWS = """/* Run by run. */
static void {name}(const float *first, const float *second, float *output, const aidge_kit_broadcast_shape *shape)
{{
    aidge_kit_broadcast_place place = {{{{0, 0, 0, 0}}, 0, 0}};
    int32_t run;
    for (run = 0; run < shape->runs; run++) {{
        {function}(first + place.first, second + place.second, output, shape->length);
        output += shape->length;
        aidge_kit_broadcast_next(shape, &place);
    }}
}}"""


def routine(kind: str, steps: tuple[int, int], has_relu: bool) -> tuple[str, str]:
    """Name and text of a run; `steps` of both operands, 0 of one that is a single number."""
    name = f"aidge_cortexm_{kind.lower()}{_WAYS[steps]}{'_relu' * has_relu}_float32"
    code = Routine()
    code("%enter")
    if 0 in steps:
        code(f"vldr %s.number, [%{('first', 'second')[steps.index(0)]}]", "the one number")
    in_turns(code, TOGETHER, lambda count: _values(code, kind, steps, count, has_relu))
    code("%leave")
    operands = [f"*{pointer}{'++' * step}" for pointer, step in zip(("first", "second"), steps)]
    relu = "*output = *output < 0.0f ? 0.0f : *output; " if has_relu else ""
    result = f"aidge_cortexm_kept({operands[0]} {SIGNS[kind]} {operands[1]})"
    portable = f"for (; count > 0; count--) {{ *output = {result}; {relu}output++; }}"
    return name, code.function(name, PARAMETERS, f"{kind} of runs of values.", portable)


def _values(code: Routine, kind: str, steps: tuple[int, int], count: int, has_relu: bool) -> None:
    """Results are where the vector was, or the first one."""
    operands = [values(name, count) if step else ["%s.number"] * count for name, step in zip(("first", "second"), steps)]
    for pointer, step, names in zip(("first", "second"), steps, operands):
        if step:
            code(f"vldmia %{pointer}!, {listed(names)}")
    results = operands[steps.index(1)]
    for result, first, second in zip(results, *operands):
        code(f"v{kind.lower()}.f32 {result}, {first}, {second}")
    Limits(0.0 if has_relu else -math.inf, math.inf).store(code, results, "%output")
