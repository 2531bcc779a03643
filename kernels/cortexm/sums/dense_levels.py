# SPDX-License-Identifier: MIT
"""Requantization of the dense core in assembly: 4 sums of one or two pixels become levels in the output."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.linear_int8 import HIGH_SHIFT
from aidge_build.operators.arithmetic import near_halves

from ..core.assembly import Routine
from ..core.conditions import GROUP
from ..core.limits import Limits
from .curved_levels import curved_form
from .stream import INTEGER, Stream

CONDITIONS = {"lowest": "lt", "highest": "gt"}  # a level beyond an end
ABOVE_IN_BYTES = "0x80808080"
HEAD_BYTES = 12  # of the stream, before `begin`
NEAR_BYTES = 32  # factors and multipliers of a group without an FPU; as many more of biases with fractions


def epilogue(code: Routine, stream: Stream, pixels: str = "ab") -> None:
    """Requantize and store 4 sums of each pixel; labels 5 and 6, without an FPU 8 and 9, too. The output of one pixel alone is in
    w1, and stays there."""
    for pixel in pixels:
        stream.weights.separate(code, [f"{{{pixel}{channel}}}" for channel in range(GROUP)])
    if stream.curve:
        curved_form(code, stream, pixels)
        return
    target = "column" if "b" in pixels else "w1"
    if stream.pools:
        _keep_larger(code, stream)
        pixels = "a"
    integer_form = _word_form if stream.leaves_words else _integer_form
    if target == "column" and not _stores_late(stream):
        code.get("{column}, {w1}", "output")
    if stream.is_stated:
        code("ldr {x0}, [{stream}], #4", "2 * first channel + 1 if the integer form is proved")
        code("lsrs {x0}, {x0}, #1")
        code(f"add {{column}}, {{{target}}}, {{x0}}", "where pixel 0 goes")
        code("bcs 5f")
        _other_form(code, stream, pixels, "column")
        code("b 6f")
        code.label(5, "integers, proved equal for every sum")
        integer_form(code, stream, pixels, "column")
        _skip(code, stream.padding(True))
        code.label(6)
        return
    if stream.form:
        integer_form(code, stream, pixels, target)
    else:
        _other_form(code, stream, pixels, target)
        code(f"add {{{target}}}, {{{target}}}, #{stream.few or GROUP}")
    if target == "column":
        code.put("output", "{column}")


def _keep_larger(code: Routine, stream: Stream) -> None:
    """The larger sum of both pixels in a0..a3."""
    for channel in range(2 if stream.is_half else GROUP):
        code(f"cmp {{b{channel}}}, {{a{channel}}}")
        code("it gt")
        code(f"movgt {{a{channel}}}, {{b{channel}}}")


def _other_form(code: Routine, stream: Stream, pixels: str, target: str) -> None:
    """The levels of groups that are not proved."""
    if stream.is_centred:
        _centre(code, pixels)
    form = _fixed_form if stream.fixed else _float_form if stream.has_fpu else _near_form
    form(code, stream, pixels, target)
    _skip(code, stream.padding(False))


def _skip(code: Routine, padding: int) -> None:
    """Bytes of the stream."""
    if padding:
        code(f"adds {{stream}}, {{stream}}, #{padding}")


def _centre(code: Routine, pixels: str) -> None:
    """Packed sums of odd channels, which lack the middle of their range, become sums as they are."""
    code("ldm {stream}!, {{r2, r3}}", "the middles of both")
    for pixel in pixels:
        for channel, middle in ((1, "x0"), (3, "x1")):
            code(f"add {{{pixel}{channel}}}, {{{middle}}}, {{{pixel}{channel}}}, asr #{HIGH_SHIFT}")


def _fixed_form(code: Routine, stream: Stream, pixels: str, target: str) -> None:
    """By fixed-point factors, as arithmetic/fixed_form.py says, for levels + 128. With two pixels w1 is free until they leave."""
    are_high = stream.is_packed and not stream.is_centred
    for channel in range(GROUP):
        code("ldm {stream}!, {{r2, r3, r12}}", "multiplier, constant, shift")
        for pixel in pixels:
            value = f"{{{pixel}{channel}}}"
            code(f"asr {value}, {value}, #{HIGH_SHIFT - 1}" if are_high and channel % 2 else f"lsl {value}, {value}, #1")
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
    _prepare_join(code, stream)
    for pixel in pixels:
        halves = [(f"{{{pixel}{low}}}", f"{{{pixel}{high}}}") for low, high in _halves(stream)]
        for low, high in halves:
            code(f"pkhbt {low}, {low}, {high}, lsl #16")
        if stream.limits.is_more:
            _clamp(code, stream.limits, [low for low, _ in halves], halves[0][1])
        _join(code, stream, pixel)
        _store(code, stream, pixel, target)


def _float_form(code: Routine, stream: Stream, pixels: str, target: str) -> None:
    if stream.has_fractions:
        code("ldm {stream}!, {{r2, r3}}", "fractions of the biases of even channels")
        for pixel in pixels:
            for channel in (0, 2):
                code(f"add {{{pixel}{channel}}}, {{x{channel // 2}}}, {{{pixel}{channel}}}, lsl #8")
    if not (stream.is_uniform or stream.is_joined):
        code("vldmia {stream}!, {{s4-s7}}")
    _prepare_join(code, stream)
    if not stream.sums_round:
        code.get("{w0}", "zero", "zero point + 128, twice")
    for pixel in pixels:
        _round_levels(code, stream, pixel)
        halves = [(f"{{{pixel}{low}}}", f"{{{pixel}{high}}}") for low, high in _halves(stream)]
        for low, high in halves:
            code(f"pkhbt {low}, {low}, {high}, lsl #16")
            if not stream.sums_round:
                code(f"qadd16 {low}, {low}, {{w0}}")
            code(f"usat16 {low}, #8, {low}")
        if stream.limits.is_more:
            _clamp(code, stream.limits, [low for low, _ in halves], halves[0][1])
        _join(code, stream, pixel)
        _store(code, stream, pixel, target)


def _store(code: Routine, stream: Stream, pixel: str, target: str, step: str = "") -> None:
    """A word of levels to the output, which then moves on by `step`; of few channels only theirs."""
    value, place = f"{{{pixel}0}}", f"[{{{target}}}{', {w1}' if pixel == 'b' else ''}]"
    if stream.few < 3:
        code(f"{('str', 'strb', 'strh')[stream.few]} {value}, {place}{step}")
        return
    if pixel == "b":
        code(f"add {{w1}}, {{w1}}, {{{target}}}")
        place = "[{w1}]"
    code(f"strh {value}, {place}")
    code(f"lsr {value}, {value}, #16")
    code(f"strb {value}, {place[:-1]}, #2]")


def _round_levels(code: Routine, stream: Stream, pixel: str) -> None:
    """Sums of a pixel become levels in the lower halves. If the stream's `sums_round`, a sum with a large float rounds, and adds
    zero point + 128; else levels are limited to these halves unless they are small enough."""
    channels = stream.few or GROUP
    rounded = f"vadd.f32 s{{0}}, s{{0}}, s{code.waiting.places['zero']}" if stream.sums_round else "vcvtr.s32.f32 s{0}, s{0}"
    pairs = [
        (f"s{channel}, s{channel + 1}", f"{{{pixel}{channel}}}, {{{pixel}{channel + 1}}}") for channel in range(0, channels, 2)
    ]
    for floats, values in pairs:
        code(f"vmov {floats}, {values}")
    for operation in ("vcvt.f32.s32 s{0}, s{0}", "vmul.f32 s{0}, s{0}, s{1}", rounded):
        for channel in range(channels):
            code(operation.format(channel, channel + 4))
    for floats, values in pairs:
        code(f"vmov {values}, {floats}")
    if not stream.levels_are_small:
        for channel in range(channels):
            code(f"ssat {{{pixel}{channel}}}, #16, {{{pixel}{channel}}}")


def _halves(stream: Stream) -> tuple[tuple[int, int], tuple[int, int]]:
    """The registers of levels that become halves of the first of them."""
    return ((0, 1), (2, 3)) if stream.leaves_words else ((0, 2), (1, 3))


def _prepare_join(code: Routine, stream: Stream) -> None:
    """Prepares x0 for `_join`, unless that needs nothing."""
    if stream.limits.is_unsigned:
        code(f"mov {{x0}}, #{ABOVE_IN_BYTES}")


def _join(code: Routine, stream: Stream, pixel: str) -> None:
    """Levels + 128 of two registers, as bytes in both halves, become a word of levels in the first."""
    (first, _), (second, _) = _halves(stream)
    code(f"orr {{{pixel}{first}}}, {{{pixel}{first}}}, {{{pixel}{second}}}, lsl #8")
    if stream.limits.is_unsigned:
        code(f"uqsub8 {{{pixel}{first}}}, {{{pixel}{first}}}, {{x0}}", "none below 0")
    else:
        code(f"eor {{{pixel}{first}}}, {{{pixel}{first}}}, #{ABOVE_IN_BYTES}")


def _clamp(code: Routine, limits: Limits, registers: list[str], spare: str) -> None:
    """Levels + 128 in both halves of two registers, between the output's limits."""
    code.get("{x0}", "limits")
    ends = {"lowest": ("x0", "{0}, {1}"), "highest": ("x1", "{1}, {0}")}
    if "highest" in limits.ends:
        code("pkhtb {x1}, {x0}, {x0}, asr #16", "the highest, twice")
    if "lowest" in limits.ends:
        code("pkhbt {x0}, {x0}, {x0}, lsl #16", "the lowest, twice")
    for value in registers:
        for limit, order in (ends[name] for name in limits.ends):
            code(f"usub16 {spare}, {order.format(value, f'{{{limit}}}')}")
            code(f"sel {value}, {value}, {{{limit}}}")


def _near_form(code: Routine, stream: Stream, pixels: str, target: str) -> None:
    """By a product of 64 bits, or where that says that it may be wrong by the float formula: arithmetic/near_halves.py."""
    targets = [("a", target), ("b", "w1")][: len(pixels)]
    if stream.is_packed and not stream.is_centred:
        for pixel in pixels:
            for channel in (1, 3):
                code(f"asr {{{pixel}{channel}}}, {{{pixel}{channel}}}, #{HIGH_SHIFT}")
    if "b" in pixels:
        code("add {w1}, {w1}, {column}", "where pixel 1 goes")
    if stream.is_near:
        for channel in range(GROUP):
            code(f"ldr {{w0}}, [{{stream}}, #{4 * channel}]")
            for pixel, place in targets:
                if stream.fraction_bits:
                    code(f"ldr {{x0}}, [{{stream}}, #{4 * (GROUP + channel)}]", "the same with a fraction")
                    code.get("{x1}", "near_zero")
                else:
                    code.get("{x0}, {x1}", "near_start", "one half and a margin, zero point")
                code(f"smlal {{x0}}, {{x1}}, {{{pixel}{channel}}}, {{w0}}")
                code(f"lsrs {{x0}}, {{x0}}, #{near_halves.BAND_BITS}")
                code("beq 8f", "near the middle of two levels")
                limit(code, stream.limits)
                code(f"strb {{x1}}, [{{{place}}}, #{channel}]")
    else:
        code("b 8f")
    code.label(9)
    code(f"adds {{stream}}, {{stream}}, #{NEAR_BYTES * (2 if stream.fraction_bits else 1)}", "factors, multipliers")
    code.behind(lambda: _exactly(code, stream, pixels, target))


def limit(code: Routine, limits: Limits) -> None:
    """The level in x1 within the output's limits."""
    if not limits.is_more:
        code(limits.saturate("{x1}"))
        return
    if len(limits.ends) < 2:
        code("ssat {x1}, #8, {x1}")
    for end in limits.ends:
        condition = CONDITIONS[end]
        code.get("{x0}", end)
        code("cmp {x1}, {x0}")
        code(f"it {condition}")
        code(f"mov{condition} {{x1}}, {{x0}}")


def _exactly(code: Routine, stream: Stream, pixels: str, target: str) -> None:
    """All sums of the group again, by a function that knows these registers."""
    bits = stream.fraction_bits
    code.label(8, "near the middle of two levels: all sums of the group")
    code.get("r12", "begin")
    code(f"sub r12, r12, #{HEAD_BYTES}", "zero point, limits")
    code("push {{r0, lr}}")
    if target == "w1":
        code("mov r0, lr", "where pixel 0 goes")
    if bits:
        code(f"adds {{stream}}, {{stream}}, #{4 * GROUP}", "starts stand before the multipliers")
    _in_fractions(code, bits)
    code.call("aidge_cortexm_round_group")
    if "b" in pixels:
        code("ldr r0, [sp, #4]", "where pixel 1 goes")
        for channel in range(GROUP):
            code(f"mov {{a{channel}}}, {{b{channel}}}")
        _in_fractions(code, bits)
        code.call("aidge_cortexm_round_group")
    if bits:
        code(f"subs {{stream}}, {{stream}}, #{4 * GROUP}")
    code("pop {{r0, lr}}")
    code("b 9b")


def _in_fractions(code: Routine, bits: int) -> None:
    """The sums of pixel 0 in fractions of their unit, with those of the biases."""
    for channel in range(GROUP if bits else 0):
        code(f"ldr {{x0}}, [{{stream}}, #{4 * (2 * GROUP + channel)}]")
        code(f"add {{a{channel}}}, {{x0}}, {{a{channel}}}, lsl #{bits}")


def _integer_form(code: Routine, stream: Stream, pixels: str, target: str) -> None:
    if "b" in pixels:
        code("add {w1}, {w1}, {column}", "where pixel 1 goes")
    for channel in (0, 2):
        if stream.is_half and channel:
            code("adds {stream}, {stream}, #12", "those of channels that are not there")
            break
        code("ldm {stream}!, {{r2, r3, r12}}", "2 multipliers and a constant")
        for pixel, place in zip(pixels, (target, "w1")):
            even, odd = f"{{{pixel}{channel}}}", f"{{{pixel}{channel + 1}}}"
            levels = ((channel, even), (channel + 1, odd))[: (stream.few or GROUP) - channel]
            code(f"smmla {even}, {even}, {{x0}}, {{w0}}")
            if len(levels) > 1:
                code(f"smmul {odd}, {odd}, {{x1}}" if stream.is_packed else f"smmla {odd}, {odd}, {{x1}}, {{w0}}")
            code(stream.limits.saturate(even, stream.shift))
            if len(levels) > 1:
                code(stream.limits.saturate(odd, stream.shift + (HIGH_SHIFT if stream.is_packed else 0)))
            for number, value in levels:
                code(f"strb {value}, [{{{place}}}{f', #{number}]' if stream.is_stated else '], #1'}")


def _stores_late(stream: Stream) -> bool:
    """Whether a group of two pixels needs the pointer of its output only when its levels are words."""
    return stream.leaves_words and not stream.is_packed and stream.form == INTEGER


def _word_form(code: Routine, stream: Stream, pixels: str, target: str) -> None:
    """One pixel of packed weights has its constants in the registers of the other pixel."""
    is_single = stream.is_packed and "b" not in pixels
    shift = 16 - stream.shift - HIGH_SHIFT * stream.is_packed
    factors = [("{x0}", "{x1}", "{w0}")] * 2
    if is_single:
        factors = [("{x0}", "{x1}", "{b0}"), ("{b1}", "{b2}", "{b3}")]
        code("ldm {stream}!, {{r2, r3, r8-r11}}", "twice 2 multipliers and a constant")
    for (even, odd), (first, second, constant) in zip(_halves(stream), factors):
        if not stream.is_packed:
            code("ldm {stream}!, {{r2, r3, r12, lr}}", "2 multipliers, 2 constants")
        elif not is_single:
            code("ldm {stream}!, {{r2, r3, r12}}", "2 multipliers and a constant")
        for pixel in pixels:
            low, high = f"{{{pixel}{even}}}", f"{{{pixel}{odd}}}"
            code(f"smmla {low}, {low}, {first}, {constant}")
            code(f"smmul {high}, {high}, {second}" if stream.is_packed else f"smmla {high}, {high}, {second}, {{w1}}")
        for pixel in pixels:
            low, high = f"{{{pixel}{even}}}", f"{{{pixel}{odd}}}"
            code(f"pkhbt {low}, {low}, {high}{f', lsl #{shift}' * (shift > 0)}")
            code(f"usat16 {low}, #8, {low}")
    _prepare_join(code, stream)
    if _stores_late(stream):
        code.get("{column}, {w1}", "output")
    elif not stream.is_packed:
        code.get("{w1}", "second_output")
    for pixel in reversed(pixels):
        _join(code, stream, pixel)
        _store(code, stream, pixel, target, "" if stream.is_stated or pixel == "b" else ", #4")
