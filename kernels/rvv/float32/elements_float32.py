# SPDX-License-Identifier: MIT
"""float32 operations on two tensors, and clamps: a vector of values at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.broadcast import broadcast, operand
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.kernel_kit.rows_int8 import rows_text
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.assembly import WITH_FLOATS, Routine
from ..core.floats import emit_limits
from ..values.rows import row_text

SHORTEST = 8  # values in a row; of shorter rows the calls take more than they gain
FACTS = computed("a vector of values")
FLOAT = IOSpec(DType.float32, SAME)


def _short(view: NodeView) -> str:
    """Storage orders are known only later: what depends on them is left out."""
    whole = view.layer.whole if view.layer else view  # its bands may be shorter
    sizes = [tensor.elements for tensor in whole.inputs]
    return "" if len(sizes) == 2 and max(sizes) >= SHORTEST and whole.outputs[0].elements == max(sizes) else "few values"


@kernel(
    ("Add", "Sub", "Mul", "Div"),
    ImplSpec((FLOAT, FLOAT), (FLOAT,), features=WITH_FLOATS, predicates=(REAL, Predicate("two inputs, many values", _short))),
)
class BinaryFloat32(ElementWise):
    def call(self) -> Call:
        (first, second), (output,) = self.inputs, self.outputs
        shape = broadcast(first, second, output)
        fields = shape.fields
        steps = fields["first_step"], fields["second_step"]
        is_limited = math.isfinite(self.operator.minimum) or math.isfinite(self.operator.maximum)
        ways = "_of_one" * (steps[0] == 0) + "_by_one" * (steps[1] == 0) + "_limited" * is_limited
        name = f"aidge_rvv_{self.node.type.lower()}_float32{ways}"
        texts = [_text(name, {"first": steps[0], "second": steps[1]}, [f"vf{self.node.type.lower()}.vv v8, v8, v16"], is_limited)]
        pointers = (
            operand(0, "first", first, output),
            operand(1, "second", second, output),
            Output(0),
            _numbers(self.operator.minimum, self.operator.maximum),
        )
        if fields["runs"] == 1:
            return Call(name, ("core/target.h",), (*pointers, Literal(fields["length"])), texts=tuple(texts), facts=FACTS)
        texts.append(rows_text(name, "float"))
        return Call(f"{name}_rows", ("core/repeats.h", "core/target.h"), (*pointers, shape), texts=tuple(texts), facts=FACTS)


@kernel(("Clip", "ReLU", "HardSigmoid", "HardSwish"), ImplSpec(FLOAT, features=WITH_FLOATS, predicates=(REAL,)))
class FunctionFloat32(ElementWise):
    def call(self) -> Call:
        kind, operator = self.node.type, self.operator
        slope, lines, after = [], (), ()
        low, high = (operator.minimum, operator.maximum) if kind == "Clip" else (0.0, math.inf)
        if kind.startswith("Hard"):
            high, lines = 1.0, ("vmv.v.v v16, v8", "vfmul.vf v8, v8, {scale}", "vfadd.vf v8, v8, {added}")
            slope, after = [1 / 6, 0.5], ("vfmul.vv v8, v8, v16",)
        if kind == "HardSigmoid":
            slope, after = [operator.alpha, operator.beta], ()
        name = f"aidge_rvv_{kind.lower() if slope else 'clamp'}_float32"
        arguments = Input(0), Output(0), _numbers(low, high, *slope), Literal(self.outputs[0].elements)
        text = _text(name, {"first": 1}, lines, True, after)
        return Call(name, ("core/target.h",), arguments, texts=(text,), facts=FACTS)


def _numbers(*numbers: float) -> Constant:
    return Constant("numbers", numpy.array(numbers, numpy.float32).view(numpy.int32))


def _text(name: str, operands: dict[str, int], lines: Sequence[str], is_limited: bool, after: Sequence[str] = ()) -> str:
    """Returns the C function of a row: `lines` compute v8 from v8 and v16, and the limits come before the lines `after`. Operands
    have the step of their values, 0 or 1."""

    def body(code: Routine) -> None:
        for register, (pointer, step) in zip(("v8", "v16"), operands.items()):
            code(f"vle32.v {register}, ({{{pointer}}})" if step else f"vlse32.v {register}, ({{{pointer}}}), zero")
        code.lines(*lines)
        if is_limited:
            emit_limits(code, ["v8"])
        code.lines(*after, "vse32.v v8, ({output})")

    pointers = dict.fromkeys(operands, "const float *") | {"output": "float *"}
    repeats = [each for each, step in operands.items() if not step]
    numbers = ("lowest", "highest", "scale", "added")[: 2 * is_limited + 2 * (len(lines) > 1)]
    return row_text(name, "A row of float32.", pointers, numbers, body, repeats)
