# SPDX-License-Identifier: MIT
"""Two sums or products with constants of each channel in one pass, four channels in the lanes."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.kernel_kit.channel_lines import (
    CHANNEL_LINES,
    CHANNEL_LINES_TYPE,
    NOTE,
    ChannelLinesInt8,
    channel_lines_spec,
)

from .assembly import Assembler, function
from .conditions import MVE

LANES = 4
MANY = 16  # channels of which a few lanes may be idle
PARAMETERS = "const int8_t *input, int8_t *output, const int32_t *lines, int32_t channels, int32_t pixels"


def _idle(view: NodeView) -> str:
    channels = view.outputs[0].dims[1]
    is_worth = channels % LANES == 0 or channels >= MANY
    return "" if is_worth else f"{channels} channels, wants a multiple of {LANES} or at least {MANY}"


SPEC = channel_lines_spec(MVE)


@kernel(
    CHANNEL_LINES_TYPE,
    replace(SPEC, predicates=(Predicate("channels that fill the lanes", _idle), *SPEC.predicates)),
    CHANNEL_LINES,
)
class HeliumChannelLinesInt8(ChannelLinesInt8):
    def call(self) -> Call:
        first, second = (line.shift for line in self.lines())
        rest = self.channels % LANES != 0
        name = f"aidge_helium_channel_lines_{first}_{second}{'_rest' if rest else ''}"
        lines = numpy.pad(self.numbers(), ((0, -self.channels % LANES), (0, 0)))
        return Call(
            name,
            ("helium.h",),
            (Input(0), Output(0), Constant("lines", lines), Literal(self.channels), Literal(self.pixels)),
            texts=(_text(name, first, second, rest),),
            note=NOTE,
            facts=computed(f"{LANES} channels", 1),
        )


def _text(name: str, first: int, second: int, rest: bool) -> str:
    emit = Assembler()
    emit("push {r4-r7, lr}", "vpush {d8-d15}", "ldr r7, [sp, #84]", why="pixels")
    emit("mvn r4, #127", "vdup.32 q2, r4", "mov r4, #127", "vdup.32 q3, r4", "mov r6, r3", why="lowest and highest")
    emit.label(1)
    emit(*(f"vld4{part}.32 {{q4, q5, q6, q7}}, [r2]{'!' if part == 3 else ''}" for part in range(4)), why="of four channels")
    emit("mov r4, r0", "mov r5, r1", *(["vctp.32 r6"] if rest else []), "dls lr, r7")
    then = "t" if rest else ""
    skip = ["vpst"] if rest else []
    emit.label(2)
    emit(*skip, f"vldrb{then}.s32 q0, [r4]", "add r4, r4, r3", "vmul.i32 q0, q0, q4", "vadd.i32 q0, q0, q5")
    emit(f"vshr.s32 q0, q0, #{first}", "vmax.s32 q0, q0, q2", "vmin.s32 q0, q0, q3", "vmul.i32 q0, q0, q6")
    emit("vadd.i32 q0, q0, q7", f"vshr.s32 q0, q0, #{second}", "vqmovnb.s32 q0, q0", "vqmovnb.s16 q0, q0")
    emit(*skip, f"vstrb{then}.32 q0, [r5]", "add r5, r5, r3", "le lr, 2b")
    emit(f"adds r0, r0, #{LANES}", f"adds r1, r1, #{LANES}", f"subs r6, r6, #{LANES}", "bgt 1b")
    emit("vpop {d8-d15}", "pop {r4-r7, pc}")
    plain = f"""    int32_t channel, place, value;
    for (channel = 0; channel < channels; channel++, lines += 4) {{
        for (place = channel; place < channels * pixels; place += channels) {{
            value = (input[place] * lines[0] + lines[1]) >> {first};
            value = value < -128 ? -128 : value > 127 ? 127 : value;
            value = (value * lines[2] + lines[3]) >> {second};
            output[place] = (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
        }}
    }}"""
    return function(name, "Two lines for each channel, channels last.", PARAMETERS, emit.lines, plain)
