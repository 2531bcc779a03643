# SPDX-License-Identifier: MIT
"""A function from float32 to int8: the FPU finds the cell of a number, integers are compared there."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.staircase import Cells, floor_scale, truncated_cells

from .assembly import Routine
from .conditions import FEATURES

CELL_BITS = {"size": 6}  # of the number of a cell, of 2 B in flash
USUAL_CELL_BITS = 9
MOST_BITS = 32  # behind the point of a number in fixed point; 1 at least
_UNREACHED = 0x7FFFFFFF
PARAMETERS = (
    "const float *input, int8_t *output, const int32_t *keys, const int8_t *levels, const int32_t *low, const uint16_t *firsts, "
    "int32_t count"
)


def _bits(keys: numpy.ndarray, objective: str) -> tuple[int, int]:
    """Behind the point of a number, and of the number of a cell."""
    of_cell = CELL_BITS.get(objective, USUAL_CELL_BITS)
    return int(math.log2(floor_scale(keys, 1 << of_cell))), of_cell


def _far(view: NodeView) -> str:
    bits, _ = _bits(numpy.array(view.operator.keys, numpy.int64), view.objective)
    return "" if 1 <= bits <= MOST_BITS else f"steps that want cells of the width 2^{-bits}"


NEAR = Predicate("steps within a number of fixed-point cells", _far)


@kernel(
    "Staircase",
    ImplSpec(
        (IOSpec(DType.float32, SAME),),
        (IOSpec(DType.int8, SAME),),
        features=FEATURES | {"fpu"},
        predicates=(NEAR,),
        rounding="any",
    ),
)
class StaircaseFloat32Int8(ElementWise):
    def call(self) -> Call:
        keys = numpy.array(self.operator.keys, numpy.int64)
        bits, of_cell = _bits(keys, self.view.objective)
        cells = Cells.of(keys, lambda found: truncated_cells(found, bits), 1 << of_cell)
        name, text = routine(bits, of_cell)
        return Call(
            name,
            ("staircase.h",),
            (
                Input(0),
                Output(0),
                Constant("keys", numpy.append(keys, _UNREACHED).astype(numpy.int32)),
                Constant("levels", numpy.array(self.operator.levels, numpy.int8)),
                Constant("low", numpy.array([cells.low], numpy.int32)),
                Constant("firsts", numpy.array(cells.firsts, numpy.uint16)),
                Literal(self.outputs[0].elements),
            ),
            texts=(text,),
            facts=computed("1 value"),
        )


def routine(bits: int, of_cell: int) -> tuple[str, str]:
    """Name and text of a loop over numbers with so many bits after the point."""
    name = f"aidge_cortexm_staircase_{bits}_{of_cell}"
    code = Routine()
    code("%enter")
    code("ldrd %low, %firsts, [%argument.4]")
    code("ldr %count, [%argument.6]")
    code("ldr %low, [%low]")
    code("cmp %count, #0")
    code("ble %done")
    code.label("turn", "a number")
    code("vldmia %input!, {%s.number}")
    code("vmov %number, %s.number")
    code(f"vcvt.s32.f32 %s.number, %s.number, #{bits}")
    code("vmov %place, %s.number")
    code("qsub %place, %place, %low")
    code(f"usat %place, #{of_cell}, %place")
    code("ldrh %place, [%firsts, %place, lsl #1]")
    code("asr %key, %number, #31")
    code("eor %number, %number, %key, lsr #1", "its key")
    code("ldr %key, [%keys, %place, lsl #2]")
    code("cmp %number, %key")
    code("blt %found")
    code.label("step", "a step that it has reached")
    code("adds %place, %place, #1")
    code("ldr %key, [%keys, %place, lsl #2]")
    code("cmp %number, %key")
    code("bge %step")
    code.label("found")
    code("ldrb %place, [%levels, %place]")
    code("subs %count, %count, #1")
    code("strb %place, [%output], #1")
    code("bne %turn")
    code.label("done")
    code("%leave")
    portable = f"aidge_cortexm_staircase(input, output, keys, levels, low, firsts, count, {bits}, {(1 << of_cell) - 1});"
    return name, code.function(name, PARAMETERS, "A function by its steps; staircase.h says what is given.", portable)
