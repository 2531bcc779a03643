# SPDX-License-Identifier: MIT
"""ArgMax over the int8 channels of pixels, eight pixels at a time.

A channel and how many are left become one number, value * 256 + left. The largest of them is the largest value, and of equal ones
the first.
"""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.assembly import Assembler, function
from ..core.conditions import MVE

PIXELS = 8  # of a turn
MOST_CHANNELS = 255


def _unfit(view: NodeView) -> str:
    data, operator = view.inputs[0], view.operator
    if data.rank < 3 or operator.axis % data.rank != 1 or operator.last:
        return "wants the first of the channels of pixels"
    channels = data.dims[1]
    if not 2 <= channels <= MOST_CHANNELS or data.elements < PIXELS * channels:
        return f"{channels} channels, wants 2 to {MOST_CHANNELS} of at least {PIXELS} pixels"
    return ""


@kernel(
    "ArgMax",
    ImplSpec(
        inputs=(IOSpec(DType.int8, CHANNELS_LAST),),
        outputs=(IOSpec(DType.int64, ROW_MAJOR),),
        features=MVE,
        predicates=(Predicate("channels of pixels", _unfit),),
    ),
)
class ArgMaxInt8(KernelNode):
    def call(self) -> Call:
        data = self.inputs[0]
        sizes = Literal(data.elements // data.dims[1]), Literal(data.dims[1])
        return Call(NAME, ("core/helium.h",), (Input(0), Output(0), *sizes), texts=(_text(),), facts=computed(f"{PIXELS} pixels"))


NAME = "aidge_helium_argmax_int8"


def _text() -> str:
    """r0, r1: channels and indices; r2: the pixels behind this turn; r3: how many channels. The last turn may begin earlier."""
    emit = Assembler()
    emit(
        "push {r4-r6, lr}",
        "vpush {d8-d13}",
        "movs r4, #0",
        "vidup.u16 q4, r4, #1",
        "vmul.i16 q4, q4, r3",
        why="where pixels begin",
    )
    emit("mov r4, #256", "vdup.16 q5, r4", "vdup.16 q6, r3", "vmov.i32 q3, #0")
    emit("rsb r4, r3, r3, lsl #3", "subs r5, r3, #1", f"subs r2, #{PIXELS}", why="the channels of all but one pixel")
    emit.label(1)
    emit("vldrb.s16 q1, [r0, q4]", "adds r0, #1", "vmlas.s16 q1, q5, r3", "dls lr, r5")
    emit.label(2)
    emit("vldrb.s16 q0, [r0, q4]", "adds r0, #1", "vmlas.s16 q0, q5, lr", "vmax.s16 q1, q1, q0", "le lr, 2b")
    emit("vmovlb.u8 q1, q1", "vsub.i16 q1, q6, q1", "vmovlb.u16 q0, q1", "vmovlt.u16 q2, q1", "vmov.i32 q1, #0")
    emit(*(f"vst4{part}.32 {{q0, q1, q2, q3}}, [r1]{'!' * (part == 3)}" for part in range(4)), why="int64")
    emit("adds r0, r0, r4", f"subs r2, #{PIXELS}", "bpl 1b")
    emit(f"adds r12, r2, #{PIXELS}", "beq 3f", "mla r0, r2, r3, r0", "add r1, r1, r2, lsl #3", "movs r2, #0", "b 1b")
    emit.label(3)
    emit("vpop {d8-d13}", "pop {r4-r6, pc}")
    return function(
        NAME,
        "The index of the largest channel of each pixel, the first of equal ones, of at least 8 pixels.",
        "const int8_t *input, int64_t *output, int32_t pixels, int32_t channels",
        emit.lines,
    )
