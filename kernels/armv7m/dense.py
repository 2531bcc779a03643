# SPDX-License-Identifier: MIT
"""The dense core in assembly: words of two pixels, 2^23 apart, times int8 weights into sums of 64 bits.

SMLAL adds weight * (first pixel + second pixel * 2^23) to two registers: the low 23 bits are the first pixel's sum (the generator
has proved that it fits), what is above them the second's. `pairs` words of two pixels meet `channels` weights in a step. Where
weights have offsets, those of a group's channels stand behind their taps, and before the column the sums of each pixel's taps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .assembly import Code
from .packing import CHANNEL_WORDS, FIELD, Form

PARAMETERS = (
    "const uint32_t *column, const int8_t *weights, const int32_t *numbers, int8_t *output, aidge_armv7m_block *block, "
    "const int32_t *end"
)
# The frame, in bytes; the arguments on the stack lie behind it and the saved registers.
COLUMN, NUMBERS, OUTPUT, WEIGHTS, COLUMN_END, ENTRY, STRIDE, LOWEST, HIGHEST = (4 * index for index in range(9))
FRAME_BYTES = 36
SAVED_BYTES = 36
BLOCK, END = (FRAME_BYTES + SAVED_BYTES + 4 * index for index in range(2))
SUMS_BYTES = 32  # before the sums of aidge_armv7m_block
GROUP, DONE, EXACT, TABLE, STEPS = 1, 2, 3, 9, 10  # labels


@dataclass(frozen=True)
class Shape:
    """What a step computes: `pairs` words of two pixels x `channels`; `unroll` steps stand in the text."""

    pairs: int
    channels: int
    unroll: int

    core: ClassVar[str] = "dense"
    together: ClassVar[int] = 2  # pixels whose values share words

    def routine(self, form: Form, is_long: bool = False) -> tuple[str, str]:
        """Name and text of the assembly; `is_long`: the taps are several segments, which only thirds.py has."""
        return routine(self, form)

    @property
    def pixels(self) -> int:
        return 2 * self.pairs

    @property
    def step_bytes(self) -> int:
        """Of the column."""
        return 4 * self.pairs

    @property
    def keeps_output(self) -> bool:
        """Whether registers are left for the output and the column's end."""
        return self.pairs * self.channels < 4

    @property
    def sums(self) -> list[tuple[str, str]]:
        """The registers of each sum, low and high: pair after pair of a channel, channel after channel."""
        first = 5 if self.keeps_output else 4
        return [(f"r{first + 2 * index}", f"r{first + 2 * index + 1}") for index in range(self.pairs * self.channels)]

    @property
    def registers(self) -> dict[str, str]:
        """Those of the end of a group."""
        late = ("r11", "r4", "r12") if self.keeps_output else ("r1", "r12", "lr")
        return {"stride": "r0", "factor": "r2", "numbers": "r3", **dict(zip(("output", "low", "high"), late))}

    def instructions(self, form: Form, taps: int) -> int:
        """Of a group of channels of a block, but for the turns of its loop."""
        end = Code(self.registers)
        _end_of_group(end, self, form)
        return taps * (1 + self.channels * (1 + self.pairs)) + end.instructions

    def entry(self, taps: int) -> int:
        """The number of steps of the text that the first turn leaves out, behind the first tap."""
        rest = (taps - 1) % self.unroll
        return self.unroll - rest if rest or taps == 1 else 0


LARGE, MIDDLE, SMALL = Shape(3, 1, 16), Shape(2, 2, 16), Shape(1, 4, 12)
SHAPES = (LARGE, MIDDLE, SMALL)  # the fewer pixels, the less scratch and the more instructions


def routine(shape: Shape, form: Form) -> tuple[str, str]:
    """Name and text of a function that computes all channels of a block of pixels.

    Where some channels have no line it returns 0, or the numbers of a group with such a channel, whose sums are then in
    `block->sums`.
    """
    name = f"aidge_armv7m_dense_{shape.pairs}x{shape.channels}_{form.variant}"
    code = Code(shape.registers)
    _begin(code, shape)
    code.label(GROUP, "a group of channels")
    _step(code, shape, is_first=True)
    code(f"ldr r12, [sp, #{ENTRY}]")
    code.table_jump("r12", [*range(STEPS, STEPS + shape.unroll), DONE], TABLE)
    for index in range(shape.unroll):
        code.label(STEPS + index)
        _step(code, shape)
    code.label(DONE)
    if not shape.keeps_output:
        code(f"ldr lr, [sp, #{COLUMN_END}]")
    code("cmp r0, lr")
    code(f"bne {STEPS}b")
    _end_of_group(code, shape, form)
    sizes = f"{shape.pairs}, {shape.channels}, {form.shift}, {int(form.has_offsets)}"
    call = f"aidge_armv7m_dense(column, weights, numbers, output, block, end, {sizes});"
    what = f"All channels of {shape.pixels} pixels, {shape.channels} at once."
    if form.is_proved:
        return name, code.function(name, PARAMETERS, what, f"(void){call}")
    return name, code.function(name, PARAMETERS, what, f"return {call}", "const int32_t *")


def _begin(code: Code, shape: Shape) -> None:
    code("push {{r4-r11, lr}}")
    code(f"sub sp, sp, #{FRAME_BYTES}")
    code(f"ldr r12, [sp, #{BLOCK}]")
    code("ldm r12, {{r4-r8}}", "column_bytes, entry, stride, lowest, highest")
    code("add r4, r4, r0", "the column's end")
    code("mov r12, sp")
    code("stm r12!, {{r0, r2, r3}}")
    code("str r1, [r12], #4")
    code("stm r12, {{r4-r8}}")
    if shape.keeps_output:
        code("mov {output}, r3")
        code("mov lr, r4")


def _step(code: Code, shape: Shape, is_first: bool = False) -> None:
    """A tap of all pixels and channels of the group."""
    load = {1: "ldr r2, [r0], #4", 2: "ldrd r2, r3, [r0], #8", 3: "ldm r0!, {{r2-r4}}"}[shape.pairs]
    code(load, "a tap of the pixels")
    for channel in range(shape.channels):
        code("ldrsb r12, [r1], #1", "a weight")
        for pair in range(shape.pairs):
            low, high = shape.sums[channel * shape.pairs + pair]
            code(f"{'smull' if is_first else 'smlal'} {low}, {high}, r12, r{2 + pair}")


def _end_of_group(code: Code, shape: Shape, form: Form) -> None:
    for low, high in shape.sums:
        code(f"lsrs r2, {low}, #{FIELD}", "the highest bit that leaves is the sign of the first pixel's sum")
        code(f"sbfx {low}, {low}, #0, #{FIELD}")
        code(f"adc {high}, r2, {high}, lsl #{32 - FIELD}")
    if form.has_offsets:
        _add_offsets(code, shape)
    code(f"ldr {{numbers}}, [sp, #{NUMBERS}]")
    if not shape.keeps_output:
        code(f"str r1, [sp, #{WEIGHTS}]")
        code(f"ldr {{output}}, [sp, #{OUTPUT}]")
    code(f"ldr {{stride}}, [sp, #{STRIDE}]")
    for channel in range(shape.channels):
        pairs = shape.sums[channel * shape.pairs : (channel + 1) * shape.pairs]
        code(f"ldr {{factor}}, [{{numbers}}], #{4 * CHANNEL_WORDS}")
        if not form.is_proved:
            code("cmp {factor}, #0")
            code(f"beq.w {EXACT}f")
        _store_channel(code, form, [register for pair in pairs for register in pair])
    code(f"ldr {{stride}}, [sp, #{END}]")
    code(f"str {{numbers}}, [sp, #{NUMBERS}]")
    if not shape.keeps_output:
        code(f"str {{output}}, [sp, #{OUTPUT}]")
        code(f"ldr r1, [sp, #{WEIGHTS}]")
    code("cmp {numbers}, {stride}")
    code(f"ldr r0, [sp, #{COLUMN}]")
    code(f"bne {GROUP}b")
    if not form.is_proved:
        code("movs r0, #0")
    code.label(4)
    code(f"add sp, sp, #{FRAME_BYTES}")
    code("pop {{r4-r11, pc}}")
    if not form.is_proved:
        code.label(EXACT, "a channel without a line: the caller computes the group")
        code(f"ldr r0, [sp, #{BLOCK}]")
        code(f"adds r0, r0, #{SUMS_BYTES}", "sums")
        code(f"stm r0, {{{{{shape.sums[0][0]}-{shape.sums[-1][1]}}}}}")
        code(f"ldr r0, [sp, #{NUMBERS}]")
        code("b 4b")


def _add_offsets(code: Code, shape: Shape) -> None:
    code(f"ldr r0, [sp, #{COLUMN}]")
    for channel in range(shape.channels):
        code("ldrsb r12, [r1], #1", "what the weights of a channel lack")
        for pair in range(shape.pairs):
            low, high = shape.sums[channel * shape.pairs + pair]
            code(f"ldrd r2, r3, [r0, #{8 * pair - 4 * shape.pixels}]", "sums of two pixels")
            code(f"mla {low}, r12, r2, {low}")
            code(f"mla {high}, r12, r3, {high}")


def _store_channel(code: Code, form: Form, sums: list[str]) -> None:
    """The sums of a channel's pixels to the output, which ends at the next channel."""
    count = len(sums)
    straight = [pixel for pixel in (0, 2, 4) if pixel < count]
    moved = {3: ", lsl #1", 5: ", lsl #2"}
    if count == 2:
        _store(code, form, sums[1], "[{output}, {stride}]")
        _store(code, form, sums[0], "[{output}], #1")
        return
    for pixel, address in zip(straight, ("[{output}]", "[{output}, {stride}, lsl #1]", "[{output}, {stride}, lsl #2]")):
        _store(code, form, sums[pixel], address)
    code("add {output}, {output}, {stride}")
    for pixel in (3, 5)[: count // 2 - 1]:
        _store(code, form, sums[pixel], f"[{{output}}, {{stride}}{moved[pixel]}]")
    _store(code, form, sums[1], "[{output}], #1")
    code("sub {output}, {output}, {stride}")


def _store(code: Code, form: Form, value: str, address: str) -> None:
    store(code, form, value, address, (f"[sp, #{LOWEST}]", f"[sp, #{HIGHEST}]"))


def store(code: Code, form: Form, value: str, address: str, limits: tuple[str, str]) -> None:
    """The level of a sum to the output, by the line whose numbers lie before `numbers`."""
    code(f"ldrd {{low}}, {{high}}, [{{numbers}}, #{4 - 4 * CHANNEL_WORDS}]")
    code(f"smlal {{low}}, {{high}}, {value}, {{factor}}")
    code(f"ssat {{high}}, #8, {{high}}{f', asr #{form.shift}' if form.shift else ''}")
    if form.is_clamped:
        for limit, condition in zip(limits, ("lt", "gt")):
            code(f"ldr {{low}}, {limit}")
            code("cmp {high}, {low}")
            code(f"it {condition}")
            code(f"mov{condition} {{high}}, {{low}}")
    code(f"strb {{high}}, {address}")
