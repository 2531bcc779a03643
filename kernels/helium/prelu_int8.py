# SPDX-License-Identifier: MIT
"""PReLU with a slope for each channel in integers, four channels in the lanes."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, computed
from aidge_build.contract.kernel_kit.prelu_int8 import NOTE, PReluNode, portable, prelu_spec
from aidge_build.contract.node import kernel

from .assembly import Assembler, function
from .channel_lines_int8 import FILLED, LANES
from .conditions import MVE

PARAMETERS = "const int8_t *input, int8_t *output, const int32_t *lines, int32_t channels, int32_t pixels, int32_t zero"

_ANY = prelu_spec(MVE)


@kernel("PReLU", replace(_ANY, predicates=(*_ANY.predicates, FILLED)))
class HeliumPReluInt8(PReluNode):
    def call(self) -> Call:
        channels = self.outputs[0].dims[1]
        rest = channels % LANES != 0
        name = f"aidge_helium_prelu_{self.shift}{'_rest' if rest else ''}"
        lines = numpy.pad(self.numbers(), ((0, -channels % LANES), (0, 0)))
        return Call(
            name,
            ("helium.h",),
            (Input(0), Output(0), Constant("lines", lines), *self.sizes()),
            texts=(_text(name, self.shift, rest),),
            note=NOTE,
            facts=computed(f"{LANES} channels", 1),
        )


def _text(name: str, shift: int, rest: bool) -> str:
    emit = Assembler()
    emit("push {r4-r7, lr}", "vpush {d8-d15}", "ldrd r7, r12, [sp, #84]", "mov r6, r3", why="pixels, zero")
    emit.label(1)
    emit(*(f"vld4{part}.32 {{q4, q5, q6, q7}}, [r2]{'!' if part == 3 else ''}" for part in range(4)), why="of four channels")
    emit("mov r4, r0", "mov r5, r1", "dls lr, r7")
    then, those = ("t", ["vctp.32 r6", "vpst"]) if rest else ("", [])
    emit.label(2)
    emit(*those, f"vldrb{then}.s32 q0, [r4]", "add r4, r4, r3", "vmul.i32 q1, q0, q6", "vadd.i32 q1, q1, q7")
    emit("vptt.s32 lt, q0, r12", "vmult.i32 q1, q0, q4", "vaddt.i32 q1, q1, q5", why="below zero")
    emit(f"vshr.s32 q1, q1, #{shift}", "vqmovnb.s32 q1, q1", "vqmovnb.s16 q1, q1")
    emit(*those, f"vstrb{then}.32 q1, [r5]", "add r5, r5, r3", "le lr, 2b")
    emit(f"adds r0, r0, #{LANES}", f"adds r1, r1, #{LANES}", f"subs r6, r6, #{LANES}", "bgt 1b")
    emit("vpop {d8-d15}", "pop {r4-r7, pc}")
    return function(name, "Two lines for each channel, channels last.", PARAMETERS, emit.lines, portable(shift))
