# SPDX-License-Identifier: MIT
"""Batch normalization, or two sums or products with constants of each channel in one pass, four channels in the lanes."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.channel_lines import (
    CHANNEL_LINE,
    CHANNEL_LINES,
    CHANNEL_LINES_TYPE,
    NOTE,
    ChannelLinesInt8,
    channel_lines_spec,
)
from aidge_build.contract.kernel_kit.channel_lines_text import COUNTED, portable
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate

from .assembly import Assembler, function
from .conditions import MVE

LANES = 4
MANY = 16  # channels of which a few lanes may be idle
PARAMETERS = "const int8_t *input, int8_t *output, const int32_t *lines, int32_t channels, int32_t pixels"


def _idle(view: NodeView) -> str:
    channels = view.outputs[0].dims[1]
    is_worth = channels % LANES == 0 or channels >= MANY
    return "" if is_worth else f"{channels} channels, wants a multiple of {LANES} or at least {MANY}"


FILLED = Predicate("channels that fill the lanes", _idle)
_ANY = channel_lines_spec(MVE)
SPEC = replace(_ANY, predicates=(*_ANY.predicates, FILLED))


@kernel(CHANNEL_LINES_TYPE, SPEC, CHANNEL_LINES)
class HeliumChannelLinesInt8(ChannelLinesInt8):
    def call(self) -> Call:
        rest = self.channels % LANES != 0
        name = "_".join(("aidge_helium_channel_lines", *map(str, self.shifts), *("rest",) * rest))
        lines = numpy.pad(self.numbers(), ((0, -self.channels % LANES), (0, 0)))
        return Call(
            name,
            ("helium.h",),
            (Input(0), Output(0), Constant("lines", lines), Literal(self.channels), Literal(self.pixels)),
            texts=(_text(name, self.shifts, rest),),
            note=NOTE,
            facts=computed(f"{LANES} channels", 1),
        )


@kernel(CHANNEL_LINE, SPEC)
class HeliumChannelLineInt8(HeliumChannelLinesInt8):
    pass


def _text(name: str, shifts: tuple[int, ...], rest: bool) -> str:
    count = 2 * len(shifts)
    numbers = ", ".join(f"q{4 + number}" for number in range(count))
    emit = Assembler()
    emit("push {r4-r7, lr}", "vpush {d8-d15}", "ldr r7, [sp, #84]", why="pixels")
    emit("mvn r4, #127", "vdup.32 q2, r4", "mov r4, #127", "vdup.32 q3, r4", "mov r6, r3", why="lowest and highest")
    emit.label(1)
    loads = (f"vld{count}{part}.32 {{{numbers}}}, [r2]{'!' if part == count - 1 else ''}" for part in range(count))
    emit(*loads, why="of four channels")
    emit("mov r4, r0", "mov r5, r1", *(["vctp.32 r6"] if rest else []), "dls lr, r7")
    then = "t" if rest else ""
    skip = ["vpst"] if rest else []
    emit.label(2)
    emit(*skip, f"vldrb{then}.s32 q0, [r4]", "add r4, r4, r3")
    for line, shift in enumerate(shifts):
        if line:
            emit("vmax.s32 q0, q0, q2", "vmin.s32 q0, q0, q3")
        emit(f"vmul.i32 q0, q0, q{4 + 2 * line}", f"vadd.i32 q0, q0, q{5 + 2 * line}", f"vshr.s32 q0, q0, #{shift}")
    emit("vqmovnb.s32 q0, q0", "vqmovnb.s16 q0, q0", *skip, f"vstrb{then}.32 q0, [r5]", "add r5, r5, r3", "le lr, 2b")
    emit(f"adds r0, r0, #{LANES}", f"adds r1, r1, #{LANES}", f"subs r6, r6, #{LANES}", "bgt 1b")
    emit("vpop {d8-d15}", "pop {r4-r7, pc}")
    return function(name, f"{COUNTED[len(shifts)]} for each channel, channels last.", PARAMETERS, emit.lines, portable(shifts))
