# SPDX-License-Identifier: MIT
"""The dense core in assembly: 2 pixels x 4 output channels, over a column of activations that two pixels share.

Registers: the sums of pixel 0 in a0..a3, of pixel 1 in b0..b3. With packed weights the sums of the odd channels hold
256 * their own + that of the even channel, so that one SXTB16 serves two channels and one SUB at the end separates them.
What the inner loop does not need waits in FPU registers, or on the stack of a core that has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aidge_build.arithmetic import near_halves
from aidge_build.kernel_kit.linear_int8 import HIGH_SHIFT

from .assembly import Routine, Waiting
from .conditions import GROUP
from .packing import EVEN, INTEGER, Stream

REGISTERS = {
    "column": "r0",
    "stream": "r1",
    "x0": "r2",
    "x1": "r3",
    **{f"a{index}": f"r{4 + index}" for index in range(4)},
    **{f"b{index}": f"r{8 + index}" for index in range(4)},
    "w0": "r12",
    "w1": "lr",
}
WAITING = {  # in FPU registers; s0-s7 are for the requantization
    "pairs": 8,
    "output": 9,
    "second_output": 10,
    "end": 11,
    "base": 12,
    "begin": 13,
    "zero": 14,
    "limits": 15,
    "input": 16,
    "second_input": 17,
    "column_end": 18,
    "back_input": 19,
    "back_output": 20,
    "output_step": 21,
    "input_step": 22,
}
ENTRY = "input_step"  # waits there in layers that have no such step
ROUNDING = 0x4B400000  # 1.5 * 2^23 in float32: to what it is added is rounded to integers, ties to even
HEAD_BYTES = 12  # of the stream, before `begin`
_TABLE, _DONE, _STEPS = 20, 21, 30  # labels


def routine_of(stream: Stream) -> Routine:
    """An empty routine for this stream."""
    if stream.has_fpu:
        return Routine(REGISTERS, Waiting(WAITING))
    places = {name: place for name, place in WAITING.items() if name not in ("zero", "limits")}
    if stream.fixed:
        return Routine(REGISTERS, Waiting(places, ("limits",) * (stream.form != INTEGER and stream.is_clamped), has_fpu=False))
    return Routine(REGISTERS, Waiting(places, near_words(stream.form != INTEGER, stream.is_clamped), has_fpu=False))


def near_words(is_needed: bool, is_clamped: bool) -> tuple[str, ...]:
    """What waits on the stack for the requantization without an FPU."""
    return ("near_start", "near_zero", *(("lowest", "highest") if is_clamped else ())) if is_needed else ()


def step(code: Routine, is_packed: bool, is_first: bool = False) -> None:
    """One pair of taps from the column."""
    code("ldrd {x0}, {x1}, [{column}], #8", "a pair of taps of both pixels")
    multiply(code, is_packed, is_first)


def multiply(code: Routine, is_packed: bool, is_first: bool = False, taps: tuple[str, str] = ("x0", "x1")) -> None:
    """16 multiply-accumulates of a pair of taps. The first one takes the biases, which stand in b0..b3."""
    if is_packed:
        code("ldrd {w0}, {w1}, [{stream}], #8", "weights of 4 channels")
        _multiply(code, (("w0", 1), ("w1", 3)), is_first, taps)
        code("sxtb16 {w0}, {w0}")
        code("sxtb16 {w1}, {w1}")
        _multiply(code, (("w0", 0), ("w1", 2)), is_first, taps)
    else:
        for channel in (0, 2):
            code("ldrd {w0}, {w1}, [{stream}], #8", f"weights of channels {channel} and {channel + 1}")
            _multiply(code, (("w0", channel), ("w1", channel + 1)), is_first, taps)


def biases_to_pixel_0(code: Routine) -> None:
    """What the first multiplication does where it cannot be told from the others."""
    for channel in range(4):
        code(f"mov {{a{channel}}}, {{b{channel}}}")


def _multiply(code: Routine, weights: tuple[tuple[str, int], ...], is_first: bool, taps: tuple[str, str]) -> None:
    for weight, channel in weights:
        for pixel, tap in zip("ab", taps):
            addend = f"b{channel}" if is_first else f"{pixel}{channel}"
            code(f"smlad {{{pixel}{channel}}}, {{{weight}}}, {{{tap}}}, {{{addend}}}")


def unpack(code: Routine, places: Sequence[tuple[str, str]]) -> None:
    """Words of 4 taps of both pixels as int16 into the column, which ends behind them: taps 0 and 2 of both, then 1 and 3.

    `places` are the ends of the loads: a register with an offset or a step. Two words at a time leave in one instruction.
    """
    for index, (first, second) in enumerate(places):
        low = "b" if index % 2 else "a"
        code(f"ldr {{w0}}, [{first}")
        code(f"ldr {{w1}}, [{second}")
        for tap, rotation in ((0, ""), (2, ", ror #8")):
            code(f"sxtb16 {{{low}{tap}}}, {{w0}}{rotation}")
            code(f"sxtb16 {{{low}{tap + 1}}}, {{w1}}{rotation}")
        if index % 2:
            code("stm {column}!, {{r4-r11}}", "2 words of both pixels")
        elif index + 1 == len(places):
            code("stm {column}!, {{r4-r7}}")


TURN = 3  # instructions of one turn of a loop beside its steps
START = 4  # instructions that move the biases where no first step takes them


def split_steps(steps: int, limit: int, start: int = START) -> tuple[int, int]:
    """How many steps stand in front of a loop, and how many in it, both together at most `limit` unless all fit: what costs the
    fewest instructions. `start` is what it costs to have nothing in front of the loop."""
    if steps <= limit:
        return steps, 0

    def cost(ahead: int, body: int) -> tuple[int, int]:
        return (steps - ahead) // body * TURN + (0 if ahead else start), ahead + body

    choices = [(ahead, body) for body in range(1, limit + 1) for ahead in range(limit - body + 1) if (steps - ahead) % body == 0]
    return min(choices, key=lambda choice: cost(*choice))


def all_steps(code: Routine, is_packed: bool, ahead: int, body: int) -> None:
    """All pairs of taps: `ahead` of them, and `body` in each turn of a loop; label 4. The biases stand in b0..b3."""
    for index in range(ahead):
        step(code, is_packed, index == 0)
    if not body:
        return
    if not ahead:
        biases_to_pixel_0(code)
    code.label(4, f"{body} pairs of taps")
    for _ in range(body):
        step(code, is_packed)
    code.get("{x0}", "column_end")
    code("cmp {column}, {x0}")
    code("bne 4b")


def any_steps(code: Routine, is_packed: bool, body: int) -> None:
    """As many pairs of taps as the layer has, at least 2: the first one, then turns of `body`, a power of two. ENTRY says where
    in the text the first turn begins, (1 - pairs of taps) % body. Labels from 20 on."""
    step(code, is_packed, True)
    code.get("{x0}", ENTRY)
    code.table_jump("{x0}".format_map(REGISTERS), [*range(_STEPS, _STEPS + body), _DONE], _TABLE, is_far=True)
    for index in range(body):
        code.label(_STEPS + index)
        step(code, is_packed)
    code.label(_DONE)
    code.get("{x0}", "column_end")
    code("cmp {column}, {x0}")
    code(f"bne {_STEPS}b")


def epilogue(code: Routine, stream: Stream, pixels: str = "ab") -> None:
    """Requantize and store 4 sums of each pixel; labels 5 and 6, without an FPU 8 and 9, too. The output of one pixel alone is in
    w1, and stays there."""
    if stream.is_packed:
        for pixel in pixels:
            for channel in (1, 3):
                code(f"sub {{{pixel}{channel}}}, {{{pixel}{channel}}}, {{{pixel}{channel - 1}}}")
    if "b" in pixels and not _stores_late(stream):
        code.get("{column}, {w1}", "output")
    rounded_form = _fixed_form if stream.fixed else _float_form if stream.has_fpu else _near_form
    integer_form = _word_form if stream.leaves_words else _integer_form
    if not stream.is_stated:
        target = "column" if "b" in pixels else "w1"
        if stream.form:
            integer_form(code, stream, pixels, target)
        else:
            rounded_form(code, stream, pixels, target)
            code(f"add {{{target}}}, {{{target}}}, #4")
        if "b" in pixels:
            code.put("output", "{column}")
        return
    code("ldr {x0}, [{stream}], #4", "2 * first channel + 1 if the integer form is proved")
    code("lsrs {x0}, {x0}, #1")
    code(f"add {{column}}, {{{'column' if 'b' in pixels else 'w1'}}}, {{x0}}", "where pixel 0 goes")
    code("bcs 5f")
    rounded_form(code, stream, pixels)
    if stream.form == EVEN and stream.has_fpu and not stream.fixed and stream.padding:
        code(f"adds {{stream}}, {{stream}}, #{stream.padding}")
    code("b 6f")
    code.label(5, "integers, proved equal for every sum")
    integer_form(code, stream, pixels)
    if stream.form == EVEN and stream.fixed:
        code(f"adds {{stream}}, {{stream}}, #{stream.padding}")
    elif stream.form == EVEN and not stream.has_fpu:
        code("adds {stream}, {stream}, #8")
    code.label(6)


def _fixed_form(code: Routine, stream: Stream, pixels: str, target: str = "column") -> None:
    """By fixed-point factors, as arithmetic/fixed_form.py says, for levels + 128. With two pixels w1 is free until they leave."""
    for channel in range(GROUP):
        code("ldm {stream}!, {{r2, r3, r12}}", "multiplier, constant, shift")
        for pixel in pixels:
            value = f"{{{pixel}{channel}}}"
            code(f"asr {value}, {value}, #{HIGH_SHIFT - 1}" if stream.is_packed and channel % 2 else f"lsl {value}, {value}, #1")
            if stream.fixed == "once":
                code(f"smmla {value}, {value}, {{x0}}, {{x1}}")
            else:
                constant = "{x1}" if pixel == pixels[-1] else "{w1}"
                code(f"add {constant}, {{x1}}, {value}, asr #31")
                code(f"smmlar {value}, {value}, {{x0}}, {constant}")
            code(f"asr {value}, {value}, {{w0}}")
            code(f"usat {value}, #8, {value}")
    if "b" in pixels:
        code.get("{w1}", "second_output")
    _leave(code, stream, pixels, target)


def _leave(code: Routine, stream: Stream, pixels: str, target: str) -> None:
    """Levels + 128 in registers of their own, limited to a byte, become a word for each pixel in the output."""
    for pixel in pixels:
        halves = [(f"{{{pixel}{low}}}", f"{{{pixel}{high}}}") for low, high in _halves(stream)]
        for low, high in halves:
            code(f"pkhbt {low}, {low}, {high}, lsl #16")
        if stream.is_clamped:
            _clamp(code, [low for low, _ in halves], halves[0][1])
        _join(code, stream, pixel)
        code(f"str {{{pixel}0}}, [{{{target}}}{', {w1}' if pixel == 'b' else ''}]")


def _float_form(code: Routine, stream: Stream, pixels: str, target: str = "column") -> None:
    if stream.has_fractions:
        code("ldm {stream}!, {{r2, r3}}", "fractions of the biases of even channels")
        for pixel in pixels:
            for channel in (0, 2):
                code(f"add {{{pixel}{channel}}}, {{x{channel // 2}}}, {{{pixel}{channel}}}, lsl #8")
    code("vldmia {stream}!, {{s4-s7}}")
    code.get("{w0}", "zero", "ROUNDING and zero point + 128" if stream.sums_round else "zero point + 128, twice")
    for pixel in pixels:
        (_sum_levels if stream.sums_round else _round_levels)(code, pixel, stream.is_packed)
        halves = [(f"{{{pixel}{low}}}", f"{{{pixel}{high}}}") for low, high in _halves(stream)]
        for low, high in halves:
            code(f"pkhbt {low}, {low}, {high}, lsl #16")
            if not stream.sums_round:
                code(f"qadd16 {low}, {low}, {{w0}}")
            code(f"usat16 {low}, #8, {low}")
        if stream.is_clamped:
            _clamp(code, [low for low, _ in halves], halves[0][1])
        _join(code, stream, pixel)
        code(f"str {{{pixel}0}}, [{{{target}}}{', {w1}' if pixel == 'b' else ''}]")


def _sum_levels(code: Routine, pixel: str, _is_packed: bool) -> None:
    """Sums of a pixel become levels + zero point + 128 in the lower halves: rounded products are added to what w0 holds."""
    for first in (0, 2):
        values = f"{{{pixel}{first}}}, {{{pixel}{first + 1}}}"
        code(f"vmov s0, s1, {values}")
        code("vmov s2, s3, {w0}, {w0}")
        for channel in (0, 1):
            code(f"vcvt.f32.s32 s{channel}, s{channel}")
        for channel in (0, 1):
            code(f"vmla.f32 s{channel + 2}, s{channel}, s{first + channel + 4}")
        code(f"vmov {values}, s2, s3")


def _round_levels(code: Routine, pixel: str, is_packed: bool) -> None:
    """Sums of a pixel become levels in the lower halves, limited to these."""
    code(f"vmov s0, s1, {{{pixel}0}}, {{{pixel}1}}")
    code(f"vmov s2, s3, {{{pixel}2}}, {{{pixel}3}}")
    for operation in ("vcvt.f32.s32 s{0}, s{0}", "vmul.f32 s{0}, s{0}, s{1}", "vcvtr.s32.f32 s{0}, s{0}"):
        for channel in range(4):
            code(operation.format(channel, channel + 4))
    code(f"vmov {{{pixel}0}}, {{{pixel}1}}, s0, s1")
    code(f"vmov {{{pixel}2}}, {{{pixel}3}}, s2, s3")
    if not is_packed:
        for channel in range(4):
            code(f"ssat {{{pixel}{channel}}}, #16, {{{pixel}{channel}}}")


def _halves(stream: Stream) -> tuple[tuple[int, int], tuple[int, int]]:
    """The registers of levels that become halves of the first of them."""
    return ((0, 1), (2, 3)) if stream.leaves_words else ((0, 2), (1, 3))


def _join(code: Routine, stream: Stream, pixel: str) -> None:
    """Levels + 128 of two registers, as bytes in both halves, become a word of levels in the first."""
    (first, _), (second, _) = _halves(stream)
    code(f"orr {{{pixel}{first}}}, {{{pixel}{first}}}, {{{pixel}{second}}}, lsl #8")
    code(f"eor {{{pixel}{first}}}, {{{pixel}{first}}}, #0x80808080")


def _clamp(code: Routine, registers: list[str], spare: str) -> None:
    """Levels + 128 in both halves of two registers, between the output's limits."""
    code.get("{x0}", "limits")
    code("pkhtb {x1}, {x0}, {x0}, asr #16", "the highest, twice")
    code("pkhbt {x0}, {x0}, {x0}, lsl #16", "the lowest, twice")
    for value in registers:
        for limit, order in (("x0", "{0}, {1}"), ("x1", "{1}, {0}")):
            code(f"usub16 {spare}, {order.format(value, f'{{{limit}}}')}")
            code(f"sel {value}, {value}, {{{limit}}}")


def _near_form(code: Routine, stream: Stream, pixels: str, target: str = "column") -> None:
    """By a product of 64 bits, or where that says that it may be wrong by the float formula: arithmetic/near_halves.py."""
    targets = [("a", target), ("b", "w1")][: len(pixels)]
    if stream.is_packed:
        for pixel in pixels:
            for channel in (1, 3):
                code(f"asr {{{pixel}{channel}}}, {{{pixel}{channel}}}, #{HIGH_SHIFT}")
    if "b" in pixels:
        code("add {w1}, {w1}, {column}", "where pixel 1 goes")
    if stream.is_near:
        for channel in range(GROUP):
            code(f"ldr {{w0}}, [{{stream}}, #{4 * channel}]")
            for pixel, place in targets:
                code.get("{x0}, {x1}", "near_start", "one half and a margin, zero point")
                code(f"smlal {{x0}}, {{x1}}, {{{pixel}{channel}}}, {{w0}}")
                code(f"lsrs {{x0}}, {{x0}}, #{near_halves.BAND_BITS}")
                code("beq 8f", "near the middle of two levels")
                limit(code, stream.is_clamped)
                code(f"strb {{x1}}, [{{{place}}}, #{channel}]")
    else:
        code("b 8f")
    code.label(9)
    code(f"adds {{stream}}, {{stream}}, #{8 * GROUP}", "factors, multipliers")
    code.behind(lambda: _exactly(code, pixels, target))


def limit(code: Routine, is_clamped: bool) -> None:
    """The level in x1 within the output's limits."""
    if not is_clamped:
        code("ssat {x1}, #8, {x1}")
        return
    for end, condition in (("lowest", "lt"), ("highest", "gt")):
        code.get("{x0}", end)
        code("cmp {x1}, {x0}")
        code(f"it {condition}")
        code(f"mov{condition} {{x1}}, {{x0}}")


def _exactly(code: Routine, pixels: str, target: str) -> None:
    """All sums of the group again, by a function that knows these registers."""
    code.label(8, "near the middle of two levels: all sums of the group")
    code.get("r12", "begin")
    code(f"sub r12, r12, #{HEAD_BYTES}", "zero point, limits")
    code("push {{r0, lr}}")
    if target == "w1":
        code("mov r0, lr", "where pixel 0 goes")
    code.call("aidge_cortexm_round_group")
    if "b" in pixels:
        code("ldr r0, [sp, #4]", "where pixel 1 goes")
        for channel in range(GROUP):
            code(f"mov {{a{channel}}}, {{b{channel}}}")
        code.call("aidge_cortexm_round_group")
    code("pop {{r0, lr}}")
    code("b 9b")


def _integer_form(code: Routine, stream: Stream, pixels: str, first: str = "column") -> None:
    if "b" in pixels:
        code("add {w1}, {w1}, {column}", "where pixel 1 goes")
    for channel in (0, 2):
        code("ldm {stream}!, {{r2, r3, r12}}", "2 multipliers and a constant")
        for pixel, target in zip(pixels, (first, "w1")):
            even, odd = f"{{{pixel}{channel}}}", f"{{{pixel}{channel + 1}}}"
            code(f"smmla {even}, {even}, {{x0}}, {{w0}}")
            code(f"smmul {odd}, {odd}, {{x1}}" if stream.is_packed else f"smmla {odd}, {odd}, {{x1}}, {{w0}}")
            code(f"ssat {even}, #8, {even}, asr #{stream.shift}")
            code(f"ssat {odd}, #8, {odd}, asr #{stream.shift + (HIGH_SHIFT if stream.is_packed else 0)}")
            if stream.is_stated:
                code(f"strb {even}, [{{{target}}}, #{channel}]")
                code(f"strb {odd}, [{{{target}}}, #{channel + 1}]")
            else:
                code(f"strb {even}, [{{{target}}}], #1")
                code(f"strb {odd}, [{{{target}}}], #1")


def _stores_late(stream: Stream) -> bool:
    """Whether a group of two pixels needs the pointer of its output only when its levels are words."""
    return stream.leaves_words and not stream.is_packed and stream.form == INTEGER


def _word_form(code: Routine, stream: Stream, pixels: str, target: str = "column") -> None:
    """Only of packed weights for one pixel, whose output stays in w1."""
    shift = 16 - stream.shift - HIGH_SHIFT * stream.is_packed
    for even, odd in _halves(stream):
        if stream.is_packed:
            code("ldm {stream}!, {{r2, r3, r12}}", "2 multipliers and a constant")
        else:
            code("ldm {stream}!, {{r2, r3, r12, lr}}", "2 multipliers, 2 constants")
        for pixel in pixels:
            low, high = f"{{{pixel}{even}}}", f"{{{pixel}{odd}}}"
            code(f"smmla {low}, {low}, {{x0}}, {{w0}}")
            code(f"smmul {high}, {high}, {{x1}}" if stream.is_packed else f"smmla {high}, {high}, {{x1}}, {{w1}}")
        for pixel in pixels:
            low, high = f"{{{pixel}{even}}}", f"{{{pixel}{odd}}}"
            code(f"pkhbt {low}, {low}, {high}{f', lsl #{shift}' * (shift > 0)}")
            code(f"usat16 {low}, #8, {low}")
    if _stores_late(stream):
        code.get("{column}, {w1}", "output")
    elif not stream.is_packed:
        code.get("{w1}", "second_output")
    for pixel in reversed(pixels):
        _join(code, stream, pixel)
        after = "{column}, {w1}]" if pixel == "b" else f"{{{target}}}]" if stream.is_stated else f"{{{target}}}], #4"
        code(f"str {{{pixel}0}}, [{after}")


def load_head(code: Routine, stream: Stream) -> None:
    """The first words of the stream, which wait until a group needs them."""
    if stream.has_fpu:
        code("vldmia {stream}!, {{s14-s15}}", "zero point, limits")
        if stream.sums_round:
            code.get("{x0}", "zero")
            code(f"movt {{x0}}, #{ROUNDING >> 16}", "a sum with this float is an integer, in its low half")
            code.put("zero", "{x0}")
    elif stream.fixed_form:
        code("ldrd {x0}, {x1}, [{stream}], #8", "zero point, limits")
        if stream.is_clamped:
            code.put("limits", "{x1}")
    elif stream.form != INTEGER:
        head_to_stack(code, ("{x0}", "{x1}", "{w0}"), "ldrd {x0}, {x1}, [{stream}], #8", stream.is_clamped)
    else:
        code("adds {stream}, {stream}, #8")
    code("add {stream}, {stream}, #4")
    code.put("begin", "{stream}")


def head_to_stack(code: Routine, registers: tuple[str, str, str], load: str, is_clamped: bool) -> None:
    """What the requantization without an FPU needs of the first two words of a stream, which `load` loads into the first two
    registers."""
    first, second, third = registers
    code(load, "zero point, limits")
    code(f"sxth {third}, {first}")
    code(f"sub {third}, {third}, #128")
    code.constant(first, near_halves.START)
    code.put("near_start", f"{first}, {third}", "one half and a margin, zero point")
    if is_clamped:
        code(f"asr {third}, {second}, #16")
        code(f"sxth {second}, {second}")
        code(f"sub {third}, {third}, #128")
        code(f"sub {second}, {second}, #128")
        code.put("lowest", f"{second}, {third}")


def groups(code: Routine, stream: Stream, sums: Callable[[], None], at_base: bool = False) -> None:
    """All groups of channels for a pair of pixels, whose first activation is at `column`, which `at_base` is still to be set;
    `sums` prints their steps. Label 3."""
    code.get("{column}, {stream}" if at_base else "{stream}", "base" if at_base else "begin")
    code.label(3, "a group of 4 channels")
    code("ldm {stream}!, {{r8-r11}}", "their biases")
    sums()
    epilogue(code, stream)
    code.get("{x0}, {column}", "end")
    code("cmp {stream}, {x0}")
    code("bne 3b")


def next_pair(code: Routine, entry: str, step: str) -> None:
    """To the next pair (label 1), whose input stands in `entry`, or back to the caller. The pairs behind the one that is done are
    in r4, its output is in r5; label 7."""
    code(f"add r5, r5, {step}")
    code("subs r4, r4, #1")
    code.put("pairs", "r4, r5")
    code("bgt 1b")
    code("blt 7f")
    code.get("r6, r7", "back_input", "the last pair overlaps the one before if pixels are odd")
    code(f"sub {{{entry}}}, {{{entry}}}, r6")
    code("sub r5, r5, r7")
    code.put("output", "r5")
    code.put("input", f"{{{entry}}}")
    code("b 1b")
    code.label(7)
    code.end()
