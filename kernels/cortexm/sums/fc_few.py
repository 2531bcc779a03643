# SPDX-License-Identifier: MIT
"""A fully connected layer of fewer than 4 outputs in assembly: no second group needs its inputs again, so that they become int16
where they meet their weights, and need no scratch."""

from __future__ import annotations

from ..core.assembly import Routine
from . import dense
from .dense_levels import epilogue
from .fc import INPUTS
from .stream import Stream

PARAMETERS = "const int8_t *input, int8_t *output, const int32_t *stream, const aidge_cortexm_fc *shape"


def routine(stream: Stream, features: int, unroll: int) -> tuple[str, str]:
    """Name and text for rows of `features` inputs, of which at most half of `unroll` times 4 stand in the text: a
    turn of the loop costs two instructions."""
    name = f"aidge_cortexm_fc_few_int8_{features}_{stream.variant}_u{unroll}"
    code = dense.routine_of(stream)
    code.begin()
    code("mov {w1}, r1", "the output stays there")
    code("mov {stream}, r2")
    code("ldr {b3}, [r3]", "rows")
    dense.load_head(code, stream)
    code.label(1, "a row")
    code("ldm {stream}!, {{r4-r7}}", "biases")
    _steps(code, stream, features, unroll // 2)
    if stream.is_stated:
        code.put("input", "{column}")
    epilogue(code, stream, "a")
    if stream.is_stated:
        code.get("{column}", "input")
        code(f"add {{w1}}, {{w1}}, #{stream.few}")
    code.get("{stream}", "begin")
    code("subs {b3}, {b3}, #1")
    code("bne 1b")
    code.end()
    return name, code.function(name, PARAMETERS, f"Fully connected layer of {features} int8 inputs, {stream.few} outputs.")


def _steps(code: Routine, stream: Stream, features: int, unroll: int) -> None:
    """A row's products. Label 4; the turns are counted where the fourth output had its sum."""
    ahead, body = dense.split_steps(features // 4, unroll, start=0)
    for _ in range(ahead):
        _step(code, stream)
    if body:
        code.constant("r7", (features // 4 - ahead) // body)
        code.label(4, f"{4 * body} inputs")
        for _ in range(body):
            _step(code, stream)
        code("subs {a3}, {a3}, #1")
        code("bne 4b")
    if features % 4:
        _load_rest(code, features % 4)
        stream.weights.row_step(code, INPUTS[:2], stream.few)


def _step(code: Routine, stream: Stream) -> None:
    """4 inputs: the first and the third in x0, the others in x1, as their weights stand."""
    code("ldr {x1}, [{column}], #4", "4 inputs")
    code("sxtb16 {x0}, {x1}")
    code("sxtb16 {x1}, {x1}, ror #8")
    stream.weights.row_step(code, INPUTS[:2], stream.few)


def _load_rest(code: Routine, count: int) -> None:
    """The same of fewer than 4 inputs at the end of a row, behind which nothing may be read."""
    for index, taps in enumerate(("x0", "x1")):
        code(f"ldrsb {{{taps}}}, [{{column}}, #{index}]" if index < count else f"movs {{{taps}}}, #0")
    if count > 2:
        code("ldrsb {w0}, [{column}, #2]")
        code("pkhbt {x0}, {x0}, {w0}, lsl #16")
    code(f"adds {{column}}, {{column}}, #{count}")
