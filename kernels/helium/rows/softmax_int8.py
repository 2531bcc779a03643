# SPDX-License-Identifier: MIT
"""int8 softmax of rows of neighbours, four values at a time: in float32, and where that does not decide in whole numbers."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.softmax import softmax_spec
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import NodeView, Predicate

from ..core.assembly import Assembler, c_function, function
from ..core.conditions import MVE
from .softmax_numbers import softmax_constants

NAME, ROW = "aidge_helium_softmax_int8", "aidge_helium_softmax_row"
SHORTEST = 12  # of many rows: lanes of rows take fewer instructions for those below
MANY = 4  # rows fill the lanes
FEWEST_UNDER_SIZE = 64  # values that are worth a table of all exponentials
PARAMETERS = "const int8_t *input, int8_t *output, const uint32_t *exponentials, const int32_t *numbers"


def _short(view: NodeView) -> str:
    length = view.operator.row_length(view.inputs[0].dims)
    rows = view.outputs[0].elements // length
    return f"{rows} rows of {length} values" if rows >= MANY and length < SHORTEST else ""


def _few(view: NodeView) -> str:
    values = view.outputs[0].elements
    is_few = view.objective == "size" and values < FEWEST_UNDER_SIZE
    return f"{values} values, whose exponentials others keep in 864 B less" if is_few else ""


LONG = Predicate(f"rows of at least {SHORTEST} values, or fewer than {MANY}", _short)
ENOUGH = Predicate(f"under --optimize size at least {FEWEST_UNDER_SIZE} values", _few)


@kernel("Softmax", softmax_spec(MVE, LONG, ENOUGH, shortest=1))
class SoftmaxInt8(KernelNode):
    def call(self) -> Call:
        rows = self.outputs[0].elements // self.operator.row_length(self.inputs[0].dims)
        return Call(
            NAME,
            ("rows/softmax_exactly.h",),
            (Input(0), Output(0), *softmax_constants(self.view, additions=0), Literal(rows)),
            "float32, near a tie whole numbers",
            facts=computed("4 values"),
            texts=(_row_text(), _rows_text()),
        )


def _row_text() -> str:
    """A row by float32. Exponentials and their sum are fractions over 2^32, so that the sum's words need no factor."""
    emit = Assembler()
    emit("%enter")
    emit("ldr %length, [%numbers, #20]", "mvn %largest, #127", "mov %x, %input", "wlstp.8 lr, %length, %known")
    emit.label("values")
    emit("vldrb.u8 q0, [%x], #16", "vmaxv.s8 %largest, q0", "letp lr, %values")
    emit.label("known")
    emit("rsb %largest, %largest, #255", "add %exponentials, %exponentials, %largest, lsl #2", why="the exponential of 0")
    emit("movs %low, #0", "movs %high, #0", "mov %x, %input", "wlstp.32 lr, %length, %added")
    emit.label("terms")
    emit("vldrb.s32 q0, [%x], #4", "vldrw.u32 q1, [%exponentials, q0, uxtw #2]", "vaddlva.u32 %low, %high, q1")
    emit("letp lr, %terms")
    emit.label("added")
    emit("vmov s0, s1, %low, %high", "vcvt.f32.u32 s0, s0, #32", "vcvt.f32.u32 s1, s1", "vadd.f32 s0, s0, s1")
    emit("vldr s1, [%numbers, #4]", "vdiv.f32 s0, s1, s0", "vmov %factor, s0")
    emit("ldrd %unit, %highest, [%numbers, #8]", "ldr %rounding, [%numbers, #16]", "vdup.32 q4, %highest")
    emit("vmov.i32 q3, #0", "wlstp.32 lr, %length, %done")
    emit.label("levels")
    emit("vldrb.s32 q0, [%input], #4", "vldrw.u32 q1, [%exponentials, q0, uxtw #2]")
    emit("vcvt.f32.u32 q1, q1, #32", "vmul.f32 q1, q1, %factor")
    emit("vadd.f32 q0, q1, %rounding", "vsub.f32 q2, q0, %rounding", "vabd.f32 q2, q2, q1", "vfma.f32 q2, q1, %unit")
    emit("vmaxnm.f32 q3, q3, q2", why="the farthest from a level, with all that a quotient may err")
    emit("vmin.s32 q0, q0, q4", "vstrb.32 q0, [%output], #4", "letp lr, %levels")
    emit.label("done")
    emit("movs %farthest, #0", "vmaxnmv.f32 %farthest, q3", "%leave %farthest")
    purpose = "Softmax of a row; returns the float, as its bits, that says whether all values are decided."
    return function(ROW, purpose, PARAMETERS, emit.lines, "uint32_t")


def _rows_text() -> str:
    return c_function(
        NAME,
        f"{PARAMETERS}, int32_t rows",
        [
            "const int32_t length = numbers[AIDGE_HELIUM_SOFTMAX_LENGTH];",
            "for (; rows > 0; rows--) {",
            f"    if ({ROW}(input, output, exponentials, numbers) >= AIDGE_HELIUM_SOFTMAX_DECIDED_BITS) {{",
            "        aidge_helium_softmax_exactly(input, output, exponentials, numbers, 1, 1, length);",
            "    }",
            "    input += length;",
            "    output += length;",
            "}",
        ],
    )
