# SPDX-License-Identifier: MIT
"""The dense core in assembly: 2 pixels x 4 output channels, over a column of activations that two pixels share.

Registers: the sums of pixel 0 in a0..a3, of pixel 1 in b0..b3. With packed weights the sums of the odd channels hold
256 * their own + that of the even channel, so that one SXTB16 serves two channels and one SUB at the end separates them.
Numbers that the inner loop does not need are kept in FPU registers, or on the stack of a core that has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aidge_build.operators.arithmetic import near_halves

from ..core.assembly import Routine, Waiting
from ..core.conditions import GROUP
from . import sparse
from .dense_levels import epilogue
from .stream import INTEGER, Stream
from .weights import FIRST, SECOND

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
PAIR_BYTES = 8  # of a pair of taps of both pixels in the column
ROUNDING = 0x4B400000  # 1.5 * 2^23 in float32: to what it is added is rounded to integers, ties to even


def routine_of(stream: Stream) -> Routine:
    """An empty routine for this stream."""
    if stream.has_fpu:
        return Routine(REGISTERS, Waiting({**WAITING, **sparse.WAITING} if stream.is_sparse else WAITING))
    places = {name: place for name, place in WAITING.items() if name not in ("zero", "limits")}
    if stream.fixed:
        return Routine(
            REGISTERS, Waiting(places, ("limits",) * (stream.form != INTEGER and stream.limits.is_more), has_fpu=False)
        )
    return Routine(REGISTERS, Waiting(places, near_words(stream.form != INTEGER, stream.limits.is_more), has_fpu=False))


def near_words(is_needed: bool, is_clamped: bool) -> tuple[str, ...]:
    """The words that stay on the stack for the requantization without an FPU."""
    return ("near_start", "near_zero", *(("lowest", "highest") if is_clamped else ())) if is_needed else ()


def step(code: Routine, stream: Stream, is_first: bool = False) -> None:
    """One pair of taps from the column."""
    code("ldrd {x0}, {x1}, [{column}], #8", "a pair of taps of both pixels")
    multiply(code, stream, is_first)


def multiply(code: Routine, stream: Stream, is_first: bool = False, taps: Sequence[str] = ("{x0}", "{x1}")) -> None:
    """16 multiply-accumulates of a pair of taps, or of one or two channels alone 4 or 8. The first one takes the biases, which
    stand in b0..b3."""
    channels = stream.few if stream.is_half else GROUP
    pixels = [(pair, sums[:channels], SECOND if is_first else sums) for pair, sums in zip(taps, (FIRST, SECOND))]
    for words in stream.weights.steps([pixels], ("{w0}", "{w1}"), GROUP // 2 if stream.is_half else GROUP):
        first = words[0][1]
        shared = stream.weights.shared
        seen = f"{shared * len(words)} channels" if shared > 1 else f"channels {first} and {first + 1}"
        code("ldr {w0}, [{stream}], #4" if len(words) == 1 else "ldrd {w0}, {w1}, [{stream}], #8", f"weights of {seen}")
        stream.weights.multiply(code, words, ("{w1}",))


def biases_to_pixel_0(code: Routine) -> None:
    """Copies the biases to the sums of pixel 0, as the first multiplication does where it is known to be the first."""
    for channel in range(4):
        code(f"mov {{a{channel}}}, {{b{channel}}}")


def unpack(code: Routine, places: Sequence[tuple[str, str]], has_sums: bool = False) -> None:
    """Words of 4 taps of both pixels as int16 into the column, which ends behind them: taps 0 and 2 of both, then 1 and 3.

    `places` are the ends of the loads: a register with an offset or a step. Two words at a time leave in one instruction, or
    one where they are added up (`has_sums`).
    """
    for index, (first, second) in enumerate(places):
        low = "b" if index % 2 and not has_sums else "a"
        code(f"ldr {{w0}}, [{first}")
        code(f"ldr {{w1}}, [{second}")
        for tap, rotation in ((0, ""), (2, ", ror #8")):
            code(f"sxtb16 {{{low}{tap}}}, {{w0}}{rotation}")
            code(f"sxtb16 {{{low}{tap + 1}}}, {{w1}}{rotation}")
        if low == "b":
            code("stm {column}!, {{r4-r11}}", "2 words of both pixels")
        elif has_sums or index + 1 == len(places):
            code("stm {column}!, {{r4-r7}}")
        if has_sums:
            add_up(code, ("a0", "a1"))
            add_up(code, ("a2", "a3"))


SUMS, MINUS = ("b0", "b1"), "b2"  # negated sums of both pixels, while the column is made; what taps are multiplied by


def begin_sums(code: Routine, stream: Stream, sums: Sequence[str] = SUMS) -> None:
    """Nothing is added up yet, if the stream has pairs of taps that hold sums."""
    if stream.sums:
        for total in sums:
            code(f"movs {{{total}}}, #0")
        load_minus(code, stream)


def load_minus(code: Routine, stream: Stream, register: str = f"{{{MINUS}}}") -> None:
    """Twice the number that taps are multiplied by before they are added up."""
    code(f"mvn {register}, #0x00070007" if stream.weights.minus else f"mov {register}, #-1")


def add_up(code: Routine, pairs: Sequence[str], sums: Sequence[str] = SUMS) -> None:
    """A pair of taps of each pixel more in the sums."""
    for pair, total in zip(pairs, sums):
        code(f"smlad {{{total}}}, {{{pair}}}, {{{MINUS}}}, {{{total}}}")


STORE_SUMS = "strd {a0}, {a1}, [{column}], #8"


def store_sums(code: Routine, stream: Stream, stores: Sequence[str], sums: Sequence[str] = SUMS) -> None:
    """The sums as pairs of taps of each pixel, which leave from a0 and a1 by `stores`: each half takes what fits it. They
    stay words if no weights multiply them."""
    if stream.weights.minus:
        code(stores[0].replace("{a0}", f"{{{sums[0]}}}").replace("{a1}", f"{{{sums[-1]}}}"))
        return
    for index, store in enumerate(stores):
        is_last = index + 1 == len(stores)
        for total, low, high in zip(sums, ("a0", "a1"), ("a2", "a3")):
            code(f"ssat {{{low}}}, #16, {{{total}}}")
            code(f"subs {{{total}}}, {{{total}}}, {{{low}}}")
            if not is_last:
                code(f"ssat {{{high}}}, #16, {{{total}}}")
                code(f"subs {{{total}}}, {{{total}}}, {{{high}}}")
            code(f"pkhbt {{{low}}}, {{{low}}}, {{{total if is_last else high}}}, lsl #16")
        code(store, "a part of the negated sums")


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


def column_steps(code: Routine, stream: Stream, ahead: int, body: int) -> None:
    """All pairs of taps: `ahead` of them, `body` in each turn of a loop, the pairs that hold sums; label 4. The biases stand in
    b0..b3."""
    if stream.is_sparse:
        sparse.group_of_pixels(code, PAIR_BYTES)
        return
    for index in range(ahead):
        step(code, stream, index == 0)
    if body:
        if not ahead:
            biases_to_pixel_0(code)
        code.label(4, f"{body} pairs of taps")
        for _ in range(body):
            step(code, stream)
        code.get("{x0}", "column_end")
        code("cmp {column}, {x0}")
        code("bne 4b")
    if stream.weights.minus:
        code("ldrd {x0}, {x1}, [{column}]", "the sums of both pixels")
        less_sums(code, stream)
        return
    for _ in range(stream.sums):
        step(code, stream)


def less_sums(code: Routine, stream: Stream) -> None:
    """By the sums of taps of both pixels in x0 and x1."""
    for minus, sums in (("{x0}", FIRST), ("{x1}", SECOND)):
        stream.weights.less_sums(code, sums, minus)


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
        if stream.limits.is_more:
            code.put("limits", "{x1}")
    elif stream.form != INTEGER:
        head_to_stack(code, ("{x0}", "{x1}", "{w0}"), "ldrd {x0}, {x1}, [{stream}], #8", stream.limits.is_more)
    else:
        code("adds {stream}, {stream}, #8")
    code("add {stream}, {stream}, #4")
    if stream.is_uniform:
        code("vldmia {stream}!, {{s4-s7}}", "factors of all groups")
    code.put("begin", "{stream}")


def head_to_stack(code: Routine, registers: tuple[str, str, str], load: str, is_clamped: bool) -> None:
    """Stores the numbers that the requantization without an FPU needs of the first two words of a stream, which `load` loads into
    the first two registers."""
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
    load_biases(code, stream)
    sums()
    epilogue(code, stream)
    code.get("{x0}, {column}", "end")
    code("cmp {stream}, {x0}")
    code("bne 3b")


def load_biases(code: Routine, stream: Stream) -> None:
    """Those of a group to b0..b3; where they are joined with its factors, these to FPU registers, by a function that knows these
    registers: a0..a3, w0 and w1 are lost."""
    if not stream.is_joined:
        code("ldm {stream}!, {{r8-r11}}", "their biases")
        return
    code.call("aidge_cortexm_joined_group")
    stream.weights.starts_in_text(code)
