# SPDX-License-Identifier: MIT
"""float32 operations on two tensors and functions of one value: four values at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.broadcast import broadcast, operand
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.linear_float32 import limits, limits_between
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.conditions import MVE
from .elements import BINARY, CLAMPED, Loop
from .real import clamp_between, clamp_of

# Numbers of functions of one value: {alpha, beta}.
NUMBERS = {
    "Abs": lambda operator: (0.0, 0.0),
    "Neg": lambda operator: (0.0, 0.0),
    "LeakyReLU": lambda operator: (operator.alpha, 0.0),
    "HardSigmoid": lambda operator: (operator.alpha, operator.beta),
    "HardSwish": lambda operator: (1 / 6, 0.5),
}
FLOAT = IOSpec(DType.float32, SAME)
FACTS = computed("4 values")


def _not_two(view: NodeView) -> str:
    return "" if len(view.inputs) == 2 else f"{len(view.inputs)} inputs, wants 2"


@kernel(tuple(BINARY), ImplSpec(FLOAT, features=MVE, predicates=(REAL, Predicate("two inputs", _not_two))))
class BinaryFloat32(ElementWise):
    def call(self) -> Call:
        (first, second), (output,) = self.inputs, self.outputs
        is_clamped = self.node.type in CLAMPED
        bounds = limits(self.operator) if is_clamped else limits_between(-math.inf, math.inf)
        shape = broadcast(first, second, output)
        repeats = "a" if shape.fields["first_step"] == 0 else "b" if shape.fields["second_step"] == 0 else ""
        loop = Loop(self.node.type, clamp_of(self.operator) if is_clamped else "", repeats, _begins_again(shape.fields))
        operands = (operand(0, "first", first, output), operand(1, "second", second, output))
        name, texts = loop.name, (loop.text(),)
        if shape.fields["runs"] == 1 or loop.again:
            runs = [Literal(shape.fields["runs"])] if loop.again else []
            arguments = (*operands, Output(0), Literal(shape.fields["length"]), bounds, *runs)
        else:
            name = f"{loop.name}_runs"
            arguments, texts = (*operands, Output(0), bounds, shape), (*texts, _runs(name, loop))
        return Call(name, ("float32/elements.h",), arguments, texts=texts, facts=FACTS)


def _begins_again(fields: Mapping[str, Any]) -> str:
    """The operand that is the same for all of several runs, where the other one is as long as they are together; "" for none."""
    steps = {"a": (fields["first_step"], *fields["first_steps"]), "b": (fields["second_step"], *fields["second_steps"])}
    alone, length = fields["dims"][-1], fields["length"]
    if 1 < alone == fields["runs"] and steps["a"][0] == steps["b"][0] == 1:
        for name, other in ("ab", "ba"):
            if steps[name][-1] == 0 and steps[other][-1] == length:
                return name
    return ""


def _runs(name: str, loop: Loop) -> str:
    """The C function that calls the loop for each run of values in which neither operand begins again."""
    return f"""/* {loop.operation} of float32 with broadcasting. */
static void {name}(
    const float *a, const float *b, float *y, const float *limits, const aidge_kit_broadcast_shape *shape)
{{
    aidge_kit_broadcast_place place;
    int32_t run;
    (void)memset(&place, 0, sizeof place);
    for (run = 0; run < shape->runs; run++) {{
        {loop.name}(a + place.first, b + place.second, y, shape->length, limits);
        y += shape->length;
        aidge_kit_broadcast_next(shape, &place);
    }}
}}"""


@kernel(("Clip", "ReLU", *NUMBERS), ImplSpec(FLOAT, features=MVE, predicates=(REAL,)))
class UnaryFloat32(ElementWise):
    def call(self) -> Call:
        kind, operator = self.node.type, self.operator
        low, high = (operator.minimum, operator.maximum) if kind == "Clip" else (0.0 if kind == "ReLU" else -math.inf, math.inf)
        loop = Loop(kind if kind in NUMBERS else "Identity", clamp_between(low, high))
        numbers = NUMBERS[kind](operator) if kind in NUMBERS else (0.0, 0.0)
        arguments = (
            Input(0),
            Output(0),
            Constant("numbers", numpy.array(numbers, numpy.float32)),
            Literal(self.outputs[0].elements),
            limits_between(low, high),
        )
        return Call(loop.name, ("float32/elements.h",), arguments, texts=(loop.text(),), facts=FACTS)
