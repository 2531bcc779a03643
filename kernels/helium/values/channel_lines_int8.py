# SPDX-License-Identifier: MIT
"""Linear integer forms for each channel, four channels in the lanes: batch normalization, or two sums or products with constants
of each channel in one pass; PReLU, with one form below zero and another from zero on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.channel_lines import (
    CHANNEL_LINE,
    CHANNEL_LINES,
    CHANNEL_LINES_TYPE,
    NOTE,
    ChannelLinesInt8,
    PReluInt8,
    channel_lines_spec,
    prelu_spec,
)
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ImplSpec, NodeView, Predicate

from ..core.assembly import Assembler, function
from ..core.conditions import MVE

LANES = 4
MANY = 16  # channels of which a few lanes may be idle
PARAMETERS = "const int8_t *input, int8_t *output, const int32_t *lines, int32_t channels, int32_t pixels"


def _idle(view: NodeView) -> str:
    channels = view.outputs[0].dims[1]
    is_worth = channels % LANES == 0 or channels >= MANY
    return "" if is_worth else f"{channels} channels, wants a multiple of {LANES} or at least {MANY}"


def _filled(spec: ImplSpec) -> ImplSpec:
    return replace(spec, predicates=(*spec.predicates, Predicate("channels that fill the lanes", _idle)))


class _Lanes(ChannelLinesInt8):
    kind = "channel_lines"

    def call(self) -> Call:
        channels = self.outputs[0].dims[1]
        rest = channels % LANES != 0
        name = "_".join(("aidge_helium", self.kind, *map(str, self.shifts), *("rest",) * rest))
        lines = numpy.pad(self.numbers(), ((0, -channels % LANES), (0, 0)))
        return Call(
            name,
            ("core/helium.h",),
            (Input(0), Output(0), Constant("lines", lines), *self.sizes(), *self.others()),
            texts=(self.text(name, rest),),
            note=NOTE,
            facts=computed(f"{LANES} channels", 1),
        )

    def others(self) -> tuple[Argument, ...]:
        return ()

    def text(self, name: str, rest: bool) -> str:
        steps = []
        for line, shift in enumerate(self.shifts):
            if line:
                steps += ["vmax.s32 q0, q0, q2", "vmin.s32 q0, q0, q3"]
            steps += [f"vmul.i32 q0, q0, q{4 + 2 * line}", f"vadd.i32 q0, q0, q{5 + 2 * line}", f"vshr.s32 q0, q0, #{shift}"]
        limits = ["mvn r4, #127", "vdup.32 q2, r4", "mov r4, #127", "vdup.32 q3, r4"]
        return _text(name, PARAMETERS, 2 * len(self.shifts), rest, limits, steps)


@kernel(CHANNEL_LINES_TYPE, _filled(channel_lines_spec(MVE)), CHANNEL_LINES)
class HeliumChannelLinesInt8(_Lanes):
    pass


@kernel(CHANNEL_LINE, _filled(channel_lines_spec(MVE)))
class HeliumChannelLineInt8(_Lanes):
    pass


@kernel("PReLU", _filled(prelu_spec(MVE)))
class HeliumPReluInt8(PReluInt8, _Lanes):
    kind = "prelu"

    def others(self) -> tuple[Argument, ...]:
        return (Literal(self.zero),)

    def text(self, name: str, rest: bool) -> str:
        shift = self.shifts[0]
        steps = ["vmul.i32 q1, q0, q6", "vadd.i32 q1, q1, q7"]
        steps += ["vptt.s32 lt, q0, r12", "vmult.i32 q1, q0, q4", "vaddt.i32 q1, q1, q5", f"vshr.s32 q0, q1, #{shift}"]
        parameters = f"{PARAMETERS}, int32_t zero"
        return _text(name, parameters, 4, rest, ["ldr r12, [sp, #88]"], steps)


def _text(name: str, parameters: str, numbers: int, rest: bool, first: Sequence[str], steps: Sequence[str]) -> str:
    """The function: `numbers` of a channel in the registers from q4 on, `steps` from a value in q0 to its result there."""
    loaded = ", ".join(f"q{4 + number}" for number in range(numbers))
    then, those = ("t", ["vctp.32 r6", "vpst"]) if rest else ("", [])
    emit = Assembler()
    emit("push {r4-r7, lr}", "vpush {d8-d15}", "ldr r7, [sp, #84]", "mov r6, r3", *first, why="pixels")
    emit.label(1)
    loads = (f"vld{numbers}{part}.32 {{{loaded}}}, [r2]{'!' * (part == numbers - 1)}" for part in range(numbers))
    emit(*loads, why="of four channels")
    emit("mov r4, r0", "mov r5, r1", "dls lr, r7")
    emit.label(2)
    emit(*those, f"vldrb{then}.s32 q0, [r4]", "add r4, r4, r3", *steps)
    emit("vqmovnb.s32 q0, q0", "vqmovnb.s16 q0, q0", *those, f"vstrb{then}.32 q0, [r5]")
    emit("add r5, r5, r3", "le lr, 2b")
    emit(f"adds r0, r0, #{LANES}", f"adds r1, r1, #{LANES}", f"subs r6, r6, #{LANES}", "bgt 1b")
    emit("vpop {d8-d15}", "pop {r4-r7, pc}")
    return function(name, "Linear integer forms for each channel, channels last.", parameters, emit.lines)
