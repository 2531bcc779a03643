# SPDX-License-Identifier: MIT
"""A function from float32 to int8: four numbers look for their steps at once."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.float_thresholds import number_of
from aidge_build.operators.arithmetic.staircase import Cells, floor_scale, truncated_cells

from ..core.assembly import Assembler, function
from ..core.conditions import MVE

COUNTS = {"size": (64, 256, 1024)}  # of cells, of 2 B in flash: the fewest with few steps in each of them
USUAL_COUNTS = (512, 1024, 2048)
MOST_COMPARED = 4  # steps of a cell
FEW_COMPARED = {"size": MOST_COMPARED, "compact": 2}  # more are worth more cells; elsewhere more than one
MOST_BITS = 32  # by which a conversion to integers multiplies
SMALLEST = 1 << 29  # the key of 2^-63: products with the scale are no subnormal numbers, which vectors take for 0
# steps: rising numbers at which the level changes, NaN behind them; levels: one more than steps; numbers: {bits of the float
# scale, lowest cell, number of cells less 1}: the whole part of x * scale is the cell of x; firsts: how many steps the lowest
# number of each cell has reached (arithmetic/staircase.py).
PARAMETERS = (
    "const float *x, int8_t *y, const float *steps, const int8_t *levels, const int32_t *numbers, const uint16_t *firsts, "
    "int32_t count"
)


def cells_of(keys: numpy.ndarray, objective: str) -> tuple[float, Cells] | None:
    """The scale of the cells, a power of two, and those; None where too many steps share one."""
    found = []
    for count in COUNTS.get(objective, USUAL_COUNTS):
        scale = floor_scale(keys, count)
        cells = Cells.of(keys, lambda numbers, bits=_bits(scale): truncated_cells(numbers, bits), count)
        if cells.most_left <= FEW_COMPARED.get(objective, 1):
            return scale, cells
        found.append((scale, cells))
    few = [one for one in found if one[1].most_left <= MOST_COMPARED]
    return min(few, key=lambda one: one[1].most_left, default=None)


def _bits(scale: float) -> int:
    return math.frexp(scale)[1] - 1


def _crowded(view: NodeView) -> str:
    keys = numpy.array(view.operator.keys, numpy.int64)
    if ((keys < SMALLEST) & (keys > -SMALLEST)).any():
        return "a step next to 0"
    return (
        ""
        if cells_of(keys, view.objective)
        else f"more than {MOST_COMPARED} steps between neighbours of {USUAL_COUNTS[-1]} cells"
    )


APART = Predicate("steps apart from each other and from 0", _crowded)


@kernel(
    "Staircase",
    ImplSpec((IOSpec(DType.float32, SAME),), (IOSpec(DType.int8, SAME),), features=MVE, predicates=(APART,), rounding="any"),
)
class StaircaseFloat32Int8(ElementWise):
    def call(self) -> Call:
        keys = numpy.array(self.operator.keys, numpy.int64)
        scale, cells = cells_of(keys, self.view.objective)
        compared = cells.most_left
        bits = _bits(scale)
        is_short = 0 < bits <= MOST_BITS
        name = f"aidge_helium_staircase_{compared}{f'_bits_{bits}' if is_short else ''}"
        numbers = numpy.array([0, cells.low, len(cells.firsts) - 1], numpy.int32)
        numbers[:1] = numpy.array([scale], numpy.float32).view(numpy.int32)
        return Call(
            name,
            ("core/helium.h",),
            (
                Input(0),
                Output(0),
                Constant("steps", numpy.append(number_of(keys), numpy.float32(math.nan)).astype(numpy.float32)),
                Constant("levels", numpy.array(self.operator.levels, numpy.int8)),
                Constant("numbers", numbers),
                Constant("firsts", numpy.array(cells.firsts, numpy.uint16)),
                Literal(self.outputs[0].elements),
            ),
            texts=(_text(name, bits if is_short else 0, compared),),
            facts=computed("4 values"),
        )


def _text(name: str, bits: int, compared: int) -> str:
    """The C text; `bits` of a number in fixed point are behind the point, 0 if a product finds its cell."""
    emit = Assembler()
    emit("%enter", "ldrd %numbers, %firsts, [%argument.4]", "ldr %count, [%argument.6]")
    emit("ldm %numbers, {%scale, %low, %last}", "vdup.32 %q.low, %low", why="scale, lowest cell, number of cells less 1")
    emit("sub %firsts, %firsts, %low, lsl #1", "add %last, %last, %low", "vdup.32 %q.last, %last", "movs %one, #1")
    emit("wlstp.32 lr, %count, %done")
    emit.label("value")
    emit("vldrw.u32 %q.x, [%x], #16")
    if bits:
        emit(f"vcvt.s32.f32 %q.cell, %q.x, #{bits}")
    else:
        emit("vmul.f32 %q.cell, %q.x, %scale", "vcvt.s32.f32 %q.cell, %q.cell")
    emit("vmax.s32 %q.cell, %q.cell, %q.low", "vmin.s32 %q.cell, %q.cell, %q.last")
    emit("vldrh.u32 %q.reached, [%firsts, %q.cell, uxtw #1]")
    for _ in range(compared):
        emit("vldrw.u32 %q.step, [%steps, %q.reached, uxtw #2]", "vcmp.f32 ge, %q.x, %q.step")
        emit("vpst", "vaddt.i32 %q.reached, %q.reached, %one")
    emit("vldrb.u32 %q.level, [%levels, %q.reached]", "vstrb.32 %q.level, [%y], #4", "letp lr, %value")
    emit.label("done")
    emit("%leave")
    return function(
        name,
        "y[i] = levels[how many steps x[i] has reached], from the first one of its cell on. May work in place.",
        PARAMETERS,
        emit.lines,
    )
