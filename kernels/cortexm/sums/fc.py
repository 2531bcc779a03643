# SPDX-License-Identifier: MIT
"""A whole fully connected layer in assembly: one row of inputs, 4 outputs x 4 inputs in each step."""

from __future__ import annotations

from ..core.assembly import Routine
from ..core.conditions import GROUP
from ..core.offsets import plus
from . import dense
from .dense_levels import epilogue
from .stream import Stream

PARAMETERS = "const int8_t *input, int8_t *output, const int32_t *stream, void *scratch, const aidge_cortexm_fc *shape"
WEIGHTS = [f"b{index}" for index in range(4)]
LOADS = {  # of a word of weights for each of so many outputs
    1: "ldr {b0}, [{stream}], #4",
    2: "ldrd {b0}, {b1}, [{stream}], #8",
    3: "ldm {stream}!, {{r8-r10}}",
    4: "ldm {stream}!, {{r8-r11}}",
}
HEAD_WORDS = 3
SUMS, OUTPUT = "second_output", "back_output"  # wait there, where no second pixel does
SUM = ("b0",)  # the negated sum of inputs while they are unpacked


def routine(stream: Stream, features: int, unroll: int, blocks: int = 1) -> tuple[str, str]:
    """Name and text for rows of `features` inputs; the last ones are filled up to a multiple of 4 with weights of 0.

    In 2 `blocks` half of a row is unpacked at a time, and behind it wait the sums of all outputs; features are then a multiple
    of 8, and all groups of outputs have streams of one length.
    """
    halves = f"_{_tail_words(stream, features)}_halves" if blocks > 1 else ""
    name = f"aidge_cortexm_fc_int8_{features}_{stream.variant}_u{unroll}{halves}"
    quads = (features + 3) // 4
    code = dense.routine_of(stream)
    code.begin()
    code("mov {w1}, r1", "the output stays there")
    code("mov {stream}, r2")
    code.put("base", "r3")
    code(f"ldr r4, [sp, #{code.waiting.argument_offset}]", "shape")
    code("ldm r4, {{r5-r7}}", "rows, outputs, stream_bytes")
    code.put("pairs", "r5")
    if stream.is_stated:
        code.put("output_step", "r6")
    code("add r7, r7, {stream}")
    code.put("end", "r7")
    dense.load_head(code, stream)
    code.label(1, "a row")
    if blocks > 1:
        _halves(code, stream, features, unroll)
    else:
        _unpack(code, stream, features, stream.sums)
        code.get("{stream}", "begin")
        code.label(3, "a group of 4 outputs")
        code.get("{column}", "base")
        _load_biases(code, stream)
        all_steps(code, quads, stream.even_weights, stream.are_bytes, unroll)
        _sum_steps(code, stream, stream.sums)
        epilogue(code, stream, "a")
        _next_group(code, 3)
    if stream.is_stated:
        code.get("r4", "output_step")
        code("add {w1}, {w1}, r4")
    code.get("r5", "pairs")
    code.get("r0", "input")
    code("subs r5, r5, #1")
    code.put("pairs", "r5")
    code("bne 1b")
    code.end()
    portable = f"aidge_cortexm_fc_int8(input, output, stream, scratch, shape, {features}, {blocks}, {stream.numbers});"
    return name, code.function(name, PARAMETERS, f"Fully connected layer of {features} int8 inputs.", portable)


def _tail_words(stream: Stream, features: int) -> int:
    """Behind the weights of each group of a stream whose groups are as long as each other."""
    weights = (features // 2 + stream.sums) * _pair_words(stream)
    return (len(stream.words) - HEAD_WORDS - GROUP * stream.is_uniform) // stream.groups - stream.bias_words - weights


def _load_biases(code: Routine, stream: Stream) -> None:
    """Those of a group, to where the sums begin."""
    if not stream.is_joined:
        code("ldm {stream}!, {{r4-r7}}", "their biases")
        return
    code("mov {x1}, {w1}", "the output, or none yet")
    dense.load_biases(code, stream)
    code("mov {w1}, {x1}")
    for channel in range(GROUP):
        code(f"mov {{a{channel}}}, {{b{channel}}}")


def _pair_words(stream: Stream) -> int:
    """Of the weights of a pair of inputs for 4 outputs."""
    return 2 if stream.is_packed or stream.are_bytes else 4


def _next_group(code: Routine, label: int) -> None:
    code.get("{x0}", "end")
    code("cmp {stream}, {x0}")
    code(f"bne {label}b")


def _halves(code: Routine, stream: Stream, features: int, unroll: int) -> None:
    """A row: sums of its first half, then of its second one, which the output's place is put away for. Labels 7, 10 and 11."""
    weights = (features + 2 * stream.sums) * _pair_words(stream)  # bytes, of a half
    code.put(OUTPUT, "{w1}")
    code("movs r2, #0", "no output yet")
    code("mov {w1}, r2")
    code.label(7, "half of a row")
    _unpack(code, stream, features // 2, stream.sums // 2, most=4)
    code.put(SUMS, "r3", "behind the inputs")
    code.get("{stream}", "begin")
    code.label(3, "a group of 4 outputs")
    code.get("{column}", "base")
    _load_biases(code, stream)
    code("cmp {w1}, #0")
    code("beq 10f")
    code.get("{x0}", SUMS)
    code("ldm {x0}!, {{r4-r7}}", "the sums of the first half")
    code.put(SUMS, "{x0}")
    plus(code, "{stream}", weights)
    code.label(10)
    all_steps(code, features // 8, stream.even_weights, stream.are_bytes, unroll)
    _sum_steps(code, stream, stream.sums // 2)
    code("cmp {w1}, #0")
    code("bne 11f")
    code.get("{x0}", SUMS)
    code("stm {x0}!, {{r4-r7}}")
    code.put(SUMS, "{x0}")
    plus(code, "{stream}", weights + 4 * _tail_words(stream, features))
    _next_group(code, 3)
    code.get("{w1}", OUTPUT)
    code.get("r0", "input")
    code("b 7b")
    code.label(11)
    epilogue(code, stream, "a")
    _next_group(code, 3)


def _unpack(code: Routine, stream: Stream, features: int, sums: int, most: int = 8) -> None:
    """`features` inputs at r0 as int16 to `base`, and behind `column_end` their negated sum as `sums` pairs; r3 ends behind all.
    At most 4 * `most` of many stand in the text. Label 2."""
    code.get("r3", "base")
    dense.begin_sums(code, sums, SUM)
    words = features // 4
    count = next(size for size in range(most, 0, -1) if words % size == 0) if words > 8 else words
    if words > 8:
        code.constant("r12", words // count)
        code.label(2, f"{4 * count} inputs")
    together = 1 if sums else 2
    for first in range(0, count, together):
        _unpack_words(code, min(together, count - first))
        if sums:
            _add_up(code, "a2", "a3")
    if words > 8:
        code("subs r12, r12, #1")
        code("bne 2b")
    if features % 4:
        _unpack_rest(code, features % 4, sums > 0)
    code.put("input", "r0")
    code.put("column_end", "r3")
    dense.store_sums(code, ["str {a0}, [r3], #4"] * sums, SUM)


def _unpack_rest(code: Routine, count: int, has_sum: bool) -> None:
    """The inputs left over: (first, third), (second, none)."""
    for index in range(2):
        for half, position in enumerate((index, index + 2)):
            code(f"ldrsb r{4 + half}, [r0, #{position}]" if position < count else f"movs r{4 + half}, #0")
        code("pkhbt r4, r4, r5, lsl #16")
        code("str r4, [r3], #4")
        if has_sum:
            _add_up(code, "a0")
    code(f"adds r0, r0, #{count}")


def _unpack_words(code: Routine, count: int) -> None:
    """One or two words of inputs; if it is one, its pairs are in a2 and a3."""
    for register in range(4, 4 + count):
        code(f"ldr r{register}, [r0], #4")
    for target, source in ((6, 4), (8, 5))[:count]:
        code(f"sxtb16 r{target}, r{source}")
        code(f"sxtb16 r{target + 1}, r{source}, ror #8")
    code(f"stm r3!, {{{{r6-r{5 + 2 * count}}}}}")


def _add_up(code: Routine, *pairs: str) -> None:
    for pair in pairs:
        dense.add_up(code, (pair,), SUM)


def _sum_steps(code: Routine, stream: Stream, pairs: int) -> None:
    """The taps that hold the sum of inputs."""
    for _ in range(pairs // 2):
        _step(code, stream.even_weights, False)


def all_steps(code: Routine, quads: int, even: str, are_bytes: bool, unroll: int) -> None:
    """A row's products with 4 outputs for `quads` times 4 inputs in the column; `even` as of the Stream. Label 4."""
    ahead, body = dense.split_steps(quads, unroll, start=0)
    for _ in range(ahead):
        _step(code, even, are_bytes)
    if not body:
        return
    if not are_bytes:
        code.get("{w0}", "column_end")
    code.label(4, f"{(quads - ahead) // body} times {4 * body} inputs")
    for _ in range(body):
        _step(code, even, are_bytes)
    if are_bytes:
        code.get("{w0}", "column_end")
    code("cmp {column}, {w0}")
    code("bne 4b")


def _step(code: Routine, even: str, are_bytes: bool) -> None:
    """4 inputs, 4 outputs: 16 multiply-accumulates."""
    code("ldrd {x0}, {x1}, [{column}], #8", "4 inputs")
    if even:
        _packed_step(code, even)
    else:
        multiply(code, are_bytes)


def multiply(code: Routine, are_bytes: bool, outputs: int = GROUP) -> None:
    """4 inputs in x0 and x1 with the weights of each output; those that are bytes need w0, too."""
    load = LOADS[outputs]
    if are_bytes:
        code(load, "weights of each output")
        for channel, weight in enumerate(WEIGHTS[:outputs]):
            code(f"sxtb16 {{w0}}, {{{weight}}}")
            code(f"sxtb16 {{{weight}}}, {{{weight}}}, ror #8")
            code(f"smlad {{a{channel}}}, {{w0}}, {{x0}}, {{a{channel}}}")
            code(f"smlad {{a{channel}}}, {{{weight}}}, {{x1}}, {{a{channel}}}")
        return
    for tap in ("x0", "x1"):
        code(load, "weights of each output")
        for channel, weight in enumerate(WEIGHTS[:outputs]):
            code(f"smlad {{a{channel}}}, {{{weight}}}, {{{tap}}}, {{a{channel}}}")


def _packed_step(code: Routine, even: str) -> None:
    code("ldm {stream}!, {{r8-r11}}", "their weights for 4 outputs")
    uses = (("b0", "x0"), ("b1", "x0"), ("b2", "x1"), ("b3", "x1"))
    for index, (weight, tap) in enumerate(uses):
        code(f"smlad {{a{1 + 2 * (index % 2)}}}, {{{weight}}}, {{{tap}}}, {{a{1 + 2 * (index % 2)}}}")
    for weight in WEIGHTS:
        code(f"{even} {{{weight}}}, {{{weight}}}")
    for index, (weight, tap) in enumerate(uses):
        code(f"smlad {{a{2 * (index % 2)}}}, {{{weight}}}, {{{tap}}}, {{a{2 * (index % 2)}}}")
