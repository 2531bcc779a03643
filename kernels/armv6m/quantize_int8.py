# SPDX-License-Identifier: MIT
"""QuantizeLinear of many floats: a guess from the pattern of the float, and the key of one step."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.quantize_guess import LEVELS, PARAMETERS, QuantizeByGuess, guess_spec, portable_text
from aidge_build.contract.node import kernel
from aidge_build.operators.arithmetic.float_thresholds import GUESS_BITS

from .assembly import Routine
from .conditions import FEATURES

NAME = "aidge_armv6m_quantize_int8"
TOGETHER = 2  # values of a turn: a conditional branch reaches 254 bytes
_BEYOND = 10  # labels: of each value in the text, where it is beyond the guess, where it saturates, where it goes on
REGISTERS = {
    **{"input": "r0", "output": "r1", "pattern": "r2", "shift": "r3", "multiplier": "r4", "level": "r5", "spare": "r6"},
    **{"top": "r7", "last": "r8", "start": "r9", "zero": "r10", "keys": "r11", "less": "r12", "end": "lr"},
}


@kernel("QuantizeLinear", guess_spec(FEATURES))
class QuantizeInt8(QuantizeByGuess):
    function, together, is_unsigned = NAME, TOGETHER, True

    def text(self) -> str:
        return _text()


def _text() -> str:
    code = Routine(REGISTERS)
    code("push {{r4-r7, lr}}")
    for low, high in zip(range(4, 8), range(8, 12)):
        code(f"mov r{low}, r{high}")
    code("push {{r4-r7}}")
    code("mov {keys}, r2")
    code("ldr r2, [sp, #36]", "count")
    code("push {{r2}}")
    code("ldmia r3!, {{r4-r7}}", "shift, last exponent, multiplier, start")
    code("mov {last}, r5")
    code("mov {start}, r7")
    code("ldr r7, [r3]", "zero point")
    code("adds r7, #128")
    code("mov {zero}, r7", "steps that 0 has reached")
    code("mov r3, r4")
    code("mov r4, r6")
    code("movs r7, #127")
    code("mvns r7, r7")
    code("mov {less}, r7", "-128: from steps to levels")
    code("movs {top}, #1")
    code("lsls {top}, {top}, #31")
    code("lsrs r2, r2, #1", "pairs")
    code("beq 2f")
    code("lsls r2, r2, #3")
    code("add r2, {input}")
    code("mov {end}, r2")
    code.label(1, "two values")
    for index in range(TOGETHER):
        _value(code, index)
    code("adds {output}, #2")
    code("cmp {input}, {end}")
    code("bne 1b")
    code.label(2)
    code("pop {{r2}}")
    code("lsrs r2, r2, #1")
    code("bcc 3f")
    code("b 4f", "the last one")
    code.label(3)
    _leave(code)
    for index in range(TOGETHER):
        _outside(code, index)
    code.label(4)
    _value(code, TOGETHER)
    _leave(code)
    _outside(code, TOGETHER)
    return code.function(NAME, PARAMETERS, "float32 to int8 by a guess and the key of one step.", portable_text(True))


def _leave(code: Routine) -> None:
    code("pop {{r4-r7}}")
    for low, high in zip(range(4, 8), range(8, 12)):
        code(f"mov r{high}, r{low}")
    code("pop {{r4-r7, pc}}")


def _value(code: Routine, index: int) -> None:
    """The value that {input} is at; it moves on, {output} does not."""
    far, full, on = range(_BEYOND + 3 * index, _BEYOND + 3 * index + 3)
    code("ldmia {input}!, {{{pattern}}}")
    code("lsls {spare}, {pattern}, #1")
    code("lsrs {spare}, {spare}, #24", "exponent")
    code("cmp {spare}, {last}")
    code(f"bhi {far}f")
    code("subs {spare}, {shift}, {spare}")
    code("lsls {level}, {pattern}, #8")
    code("orrs {level}, {top}")
    code("lsrs {level}, {spare}")
    code("muls {level}, {multiplier}")
    code("add {level}, {start}")
    code(f"lsrs {{level}}, {{level}}, #{GUESS_BITS}")
    code("asrs {spare}, {pattern}, #31", "sign")
    code("eors {level}, {spare}")
    code("add {level}, {zero}")
    code(f"cmp {{level}}, #{LEVELS - 2}")
    code(f"bhi {full}f")
    code.label(on)
    code("orrs {spare}, {top}")
    code("eors {pattern}, {spare}", "its order, without sign")
    code("lsls {spare}, {level}, #2")
    code("add {spare}, {keys}")
    code("ldr {spare}, [{spare}]")
    code("cmp {pattern}, {spare}", "carry: the step is reached")
    code("mov {spare}, {less}")
    code("adcs {level}, {spare}")
    code.label(_stored(index))
    code(f"strb {{level}}, [{{output}}, #{index % TOGETHER}]")


def _stored(index: int) -> int:
    return _BEYOND + 3 * (TOGETHER + 1) + index


def _outside(code: Routine, index: int) -> None:
    """What lies apart from a value's way."""
    far, full, on = range(_BEYOND + 3 * index, _BEYOND + 3 * index + 3)
    nan = _stored(TOGETHER + 1) + index
    code.label(far, "beyond all steps, or NaN")
    code("lsls {spare}, {pattern}, #1")
    code("movs {level}, #255")
    code("lsls {level}, {level}, #24")
    code("cmp {spare}, {level}")
    code(f"bhi {nan}f")
    code("asrs {level}, {pattern}, #31")
    code("movs {spare}, #127")
    code("eors {level}, {spare}")
    code(f"b {_stored(index)}b")
    code.label(nan)
    code("mov {level}, {zero}")
    code("subs {level}, #128")
    code(f"b {_stored(index)}b")
    code.label(full, "all steps but one, or none")
    code("asrs {level}, {level}, #31")
    code("mvns {level}, {level}")
    code(f"movs {{spare}}, #{LEVELS - 2}")
    code("ands {level}, {spare}")
    code("asrs {spare}, {pattern}, #31")
    code(f"b {on}b")
