# SPDX-License-Identifier: MIT
"""A whole fully connected layer in assembly: one row of inputs, 4 outputs x 4 inputs in each step."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.assembly import Routine
from ..core.conditions import GROUP
from ..core.offsets import plus
from . import dense
from .dense_levels import epilogue
from .sparse import group_of_rows
from .stream import Stream
from .weights import FIRST

PARAMETERS = "const int8_t *input, int8_t *output, const int32_t *stream, void *scratch, const aidge_cortexm_fc *shape"
HEAD_WORDS = 3
STEPS_IN_REACH = 16  # whose inputs a load reaches from behind the last one
INPUTS = ("{x0}", "{x1}", "{w0}", "{w1}")  # pairs of inputs of two steps
SUM = ("b0",)  # the negated sum of inputs while they are unpacked
PRODUCTS = "b3"  # and the sum of their products
# Words that are free without a second pixel: sums of the first half of a row, whether it is the second, products of inputs.
SUMS, IS_SECOND, ROW_PRODUCTS = "second_output", "back_output", "second_input"
MINUS = "back_input"  # and the sum of a row's inputs times the `minus` of its weights


def routine(stream: Stream, features: int, unroll: int, blocks: int = 1) -> tuple[str, str]:
    """Name and text for rows of `features` inputs; the last ones are filled up to a multiple of 4 with weights of 0.

    In 2 `blocks` half of a row is unpacked at a time, and behind it wait the sums of all outputs; features are then a multiple
    of 8, and all groups of outputs have streams of one length.
    """
    halves = f"_{_tail_words(stream, features)}_halves" if blocks > 1 else ""
    name = f"aidge_cortexm_fc{stream.weights.family}_int8_{features}_{stream.variant}_u{unroll}{halves}"
    quads = (features + 3) // 4
    code = dense.routine_of(stream)
    begin_rows(code, stream)
    if stream.weights.minus:
        code("movs r2, #0")
        code.put(MINUS, "r2")
    if blocks > 1:
        _halves(code, stream, features, unroll)
    else:
        _unpack(code, stream, features, stream.sums)
        code.get("{column}, {stream}", "base")
        code.align()
        code.label(3, "a group of 4 outputs")
        _load_biases(code, stream)
        _all_steps(code, stream, quads, unroll)
        _sum_steps(code, stream, stream.sums)
        _levels(code, stream)
        _next_group(code, 3)
    next_row(code, stream)
    return name, code.function(name, PARAMETERS, f"Fully connected layer of {features} int8 inputs.")


def begin_rows(code: Routine, stream: Stream) -> None:
    """The begin of a function, and of a row. Label 1."""
    code.begin()
    code.put("output", "r1")
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


def next_row(code: Routine, stream: Stream) -> None:
    """The end of a row, and of the function."""
    if stream.is_stated:
        code.get("r4", "output_step")
        code.get("{w1}", "output")
        code("add {w1}, {w1}, r4")
        code.put("output", "{w1}")
    code.get("r5", "pairs")
    code.get("r0", "input")
    code("subs r5, r5, #1")
    code.put("pairs", "r5")
    code("bne 1b")
    code.end()


def _tail_words(stream: Stream, features: int) -> int:
    """Behind the weights of each group of a stream whose groups are as long as each other."""
    weights = (features // 2 + stream.sums) * stream.weights.quad_words // 2
    return (len(stream.words) - HEAD_WORDS - GROUP * stream.is_uniform) // stream.groups - stream.bias_words - weights


def _load_biases(code: Routine, stream: Stream) -> None:
    """Those of a group, to where the sums begin."""
    if not stream.is_joined:
        code("ldm.w {stream}!, {{r4-r7}}", "their biases")
        return
    dense.load_biases(code, stream)
    for channel in range(GROUP):
        code(f"mov {{a{channel}}}, {{b{channel}}}")


def _levels(code: Routine, stream: Stream) -> None:
    """Those of a group, to the output."""
    if stream.weights.minus:
        code.get("{x0}", MINUS)
        stream.weights.less_sums(code, FIRST, "{x0}")
    code.get("{w1}", "output")
    epilogue(code, stream, "a")
    if not stream.is_stated:
        code.put("output", "{w1}")


def _next_group(code: Routine, label: int) -> None:
    code.get("{x0}, {column}", "end")
    code("cmp.w {stream}, {x0}")
    code(f"bne {label}b")


def _halves(code: Routine, stream: Stream, features: int, unroll: int) -> None:
    """A row: sums of its first half, then of its second one. Labels 7, 10 and 11."""
    weights = (features + 2 * stream.sums) * stream.weights.quad_words // 2  # bytes, of a half
    code("movs r2, #0")
    code.put(IS_SECOND, "r2")
    code.label(7, "half of a row")
    _unpack(code, stream, features // 2, stream.sums // 2, most=4)
    code.put(SUMS, "r3", "behind the inputs")
    code.get("{column}, {stream}", "base")
    code.align()
    code.label(3, "a group of 4 outputs")
    _load_biases(code, stream)
    code.get("{x0}", IS_SECOND)
    code("cmp {x0}, #0")
    code("beq 10f")
    code.get("{x0}", SUMS)
    code("ldm {x0}!, {{r4-r7}}", "the sums of the first half")
    code.put(SUMS, "{x0}")
    plus(code, "{stream}", weights)
    code.label(10)
    _all_steps(code, stream, features // 8, unroll)
    _sum_steps(code, stream, stream.sums // 2)
    code.get("{x0}", IS_SECOND)
    code("cmp {x0}, #0")
    code("bne 11f")
    code.get("{x0}", SUMS)
    code("stm {x0}!, {{r4-r7}}")
    code.put(SUMS, "{x0}")
    plus(code, "{stream}", weights + 4 * _tail_words(stream, features))
    _next_group(code, 3)
    code.put(IS_SECOND, "{stream}", "not 0")
    code.get("r0", "input")
    code("b 7b")
    code.label(11)
    _levels(code, stream)
    _next_group(code, 3)


def _unpack(code: Routine, stream: Stream, features: int, sums: int, most: int = 8) -> None:
    """`features` inputs at r0 as int16 to `base`, and behind `column_end` their negated sum as `sums` pairs; r3 ends behind all.
    At most 4 * `most` of many stand in the text. Label 2."""
    code.get("r3", "base")
    has_sum = sums > 0 or stream.weights.minus != 0
    dense.begin_sums(code, stream, SUM)
    if stream.weights.minus:
        code.get(f"{{{SUM[0]}}}", MINUS)
        dense.load_minus(code, stream)
    if stream.is_paired:
        code(f"movs {{{PRODUCTS}}}, #0")
    words = features // 4
    count = next(size for size in range(most, 0, -1) if words % size == 0) if words > 8 else words
    if words > 8:
        code.constant("r12", words // count)
        code.align()
        code.label(2, f"{4 * count} inputs")
    together = 1 if has_sum else 2
    for first in range(0, count, together):
        _unpack_words(code, stream, min(together, count - first))
        if has_sum:
            _add_up(code)
    if words > 8:
        code("subs r12, r12, #1")
        code("bne 2b")
    if features % 4:
        _unpack_rest(code, stream, features % 4, has_sum)
    code.put("input", "r0")
    code.put("column_end", "r3")
    if stream.is_paired:
        code.put(ROW_PRODUCTS, f"{{{PRODUCTS}}}")
    if stream.weights.minus:
        code.put(MINUS, f"{{{SUM[0]}}}")
        return
    dense.store_sums(code, stream, ["str {a0}, [r3], #4"] * sums, SUM)


def _unpack_rest(code: Routine, stream: Stream, count: int, has_sum: bool) -> None:
    """The inputs left over: (first, third), (second, none)."""
    for index, pair in enumerate(("a2", "a3")):
        for register, position in ((f"{{{pair}}}", index), ("{a0}", index + 2)):
            code(f"ldrsb {register}, [r0, #{position}]" if position < count else f"movs {register}, #0")
        code(f"pkhbt {{{pair}}}, {{{pair}}}, {{a0}}, lsl #16")
    code("stm r3!, {{r6, r7}}")
    _add_products(code, stream, 1)
    if has_sum:
        _add_up(code)
    code(f"adds r0, r0, #{count}")


def _unpack_words(code: Routine, stream: Stream, count: int) -> None:
    """One or two words of inputs; if it is one, its pairs are in a2 and a3."""
    if count == 2:
        code("ldr.w r5, [r0, #4]")
    code(f"ldr r4, [r0], #{4 * count}")
    for target, source in ((6, 4), (8, 5))[:count]:
        code(f"sxtb16 r{target}, r{source}")
        code(f"sxtb16 r{target + 1}, r{source}, ror #8")
    code(f"stm r3!, {{{{r6-r{5 + 2 * count}}}}}")
    _add_products(code, stream, count)


def _add_products(code: Routine, stream: Stream, count: int) -> None:
    """Products of the two pairs of one or two words of inputs, if steps need their sum."""
    for first in (6, 8)[: count * stream.is_paired]:
        code(f"smlad {{{PRODUCTS}}}, r{first}, r{first + 1}, {{{PRODUCTS}}}")


def _add_up(code: Routine) -> None:
    """The inputs in a2 and a3, to their negated sum."""
    for pair in ("a2", "a3"):
        dense.add_up(code, (pair,), SUM)


def _sum_steps(code: Routine, stream: Stream, pairs: int) -> None:
    """The taps that hold the sum of inputs: halfwords, with which no weight is added."""
    for _ in range(pairs // 2):
        _load_inputs(code, INPUTS[:2], 0, 8)
        stream.weights.row_step(code, INPUTS[:2])


def _all_steps(code: Routine, stream: Stream, quads: int, unroll: int) -> None:
    """A row's products with 4 outputs for `quads` times 4 inputs in the column. Label 4."""
    if stream.is_sparse:
        group_of_rows(code)
        return
    if stream.is_paired:
        code.get("{b0}", ROW_PRODUCTS)
        for channel in range(0, GROUP, stream.weights.paired_step):
            code(f"sub {{a{channel}}}, {{a{channel}}}, {{b0}}")
    ahead, body = dense.split_steps(quads, unroll, start=0)
    _steps(code, stream, ahead, in_loop=False)
    if not body:
        return
    code.align()
    code.label(4, f"{(quads - ahead) // body} times {4 * body} inputs")
    _steps(code, stream, body, in_loop=True)
    code.get("{b0}", "column_end")
    code("cmp.w {column}, {b0}")
    code("bne 4b")


def _steps(code: Routine, stream: Stream, count: int, in_loop: bool) -> None:
    """Each with 4 inputs and 4 outputs: 16 multiply-accumulates. The inputs of two steps are loaded together where weights need
    none of their registers; in a loop with the weights of the first one, by more text."""
    most = 1 if stream.weights.uses_w else 2
    for start in range(0, count, STEPS_IN_REACH):
        own = min(STEPS_IN_REACH, count - start)
        for first in range(0, own, most):
            inputs = INPUTS[: 2 * min(most, own - first)]
            _load_inputs(code, inputs, 8 * first, 8 * own)
            for number, taps in enumerate((inputs[:2], inputs[2:])[: len(inputs) // 2]):
                in_run = in_loop and len(inputs) > 2 and number == 0
                stream.weights.row_step(code, taps, is_paired=stream.is_paired, in_run=in_run)


def _load_inputs(code: Routine, inputs: Sequence[str], place: int, size: int) -> None:
    """Pairs of inputs from byte `place` of the column, which moves on by `size` with the first of them: an address that was just
    computed takes a cycle more."""
    offset = place - size if place else 0
    first = f"[{{column}}, #{offset}]" if place else f"[{{column}}], #{size}"
    if len(inputs) == 2:
        code(f"ldrd {{x0}}, {{x1}}, {first}", "4 inputs")
        return
    for index, pair in enumerate(inputs[1:], 1):
        code(f"ldr.w {pair}, [{{column}}, #{offset + 4 * index}]")  # of 32 bits each: what follows stays aligned
    code(f"ldr {inputs[0]}, {first}", f"{2 * len(inputs)} inputs")
