# SPDX-License-Identifier: MIT
"""Sums that go through a function of few levels, in assembly: arithmetic/curved_products.py and curved_sums.py."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.contract.kernel_kit.linear_int8 import HIGH_SHIFT

from ..core.assembly import Routine
from ..core.conditions import GROUP
from .curves import Curve
from .stream import Stream


def curved_form(code: Routine, stream: Stream, pixels: str) -> None:
    """4 sums of each of two pixels of the dense core become levels in the output."""
    (_float_form if stream.curve.is_float else _products_form)(code, stream, pixels)


def _float_form(code: Routine, stream: Stream, pixels: str) -> None:
    """By way of float32, a table of words and a carry."""
    curve = stream.curve
    code("ldr {w1}, [{stream}], #4", "first channel in the low half")
    for first in (0, 2):
        code("vldmia {stream}!, {{s4-s7}}", "2 factors, 2 biases")
        pairs = [f"{{{pixel}{first}}}, {{{pixel}{first + 1}}}" for pixel in pixels]
        for index, pair in enumerate(pairs):
            code(f"vmov s{2 * index}, s{2 * index + 1}, {pair}")
        cells = [(2 * index + channel, 4 + channel, 6 + channel) for index in range(len(pairs)) for channel in (0, 1)]
        convert(code, [tuple(f"s{number}" for number in cell) for cell in cells])
        for index, pair in enumerate(pairs):
            code(f"vmov {pair}, s{2 * index}, s{2 * index + 1}")
    code.get("{column}", "output")
    code("uxtah {column}, {column}, {w1}", "where pixel 0 goes")
    code.get("{x0}, {x1}", "zero", "what numbers are raised and lowered by")
    code.get("{w0}", "end")
    code(f"add {{w0}}, {{w0}}, #{4 * curve.middle}", "the middle of the table")
    for pixel in pixels:
        if pixel == "b":
            code.get("{w1}", "second_output")
            code("add {column}, {column}, {w1}")
        for channel in range(GROUP):
            value = f"{{{pixel}{channel}}}"
            code(f"qadd {value}, {value}, {{x0}}")
            code(f"qsub {value}, {value}, {{x1}}")
            carry(code, curve, value, "{w1}", "{w0}")
            code(f"strb {value}, [{{column}}, #{channel}]")


def _products_form(code: Routine, stream: Stream, pixels: str) -> None:
    """By one product for each sum, a table of words and one product more."""
    curve = stream.curve
    left, bits = curve.head
    code("ldr {column}, [{stream}], #4", "first channel in the low half")
    for first in (0, 2):
        code("ldm {stream}!, {{r2, r3, r12, lr}}", "multiplier and constant of two channels")
        for channel, multiplier, constant in ((first, "{x0}", "{x1}"), (first + 1, "{w0}", "{w1}")):
            missing = left - (HIGH_SHIFT if stream.is_packed and channel % 2 else 0)
            for value in (f"{{{pixel}{channel}}}" for pixel in pixels):
                if missing:
                    code(f"lsl {value}, {value}, #{missing}")
                code(f"smmla {value}, {value}, {multiplier}, {constant}")
    code.get("{w1}", "output")
    code("uxtah {column}, {w1}, {column}", "where pixel 0 goes")
    code.get("{w0}", "end", "the table")
    for pixel in pixels:
        values = [f"{{{pixel}{channel}}}" for channel in range(GROUP)]
        for value in values:
            code(f"usat {value}, #{bits}, {value}")
            follow(code, curve, value, "{w1}", "{w0}")
        low, other, high, last = values
        code(f"pkhtb {high}, {high}, {low}, asr #16", "levels in the low bytes of both halves")
        code(f"pkhtb {last}, {last}, {other}, asr #16")
        code(f"uxtb16 {high}, {high}")
        code(f"uxtb16 {last}, {last}")
        code(f"orr {high}, {high}, {last}, lsl #8")
        if pixel == "a":
            code(f"str {high}, [{{column}}]")
        else:
            code.get("{w1}", "second_output")
            code(f"str {high}, [{{column}}, {{w1}}]")


def follow(code: Routine, curve: Curve, value: str, word: str, table: str) -> None:
    """A number within the limits becomes a level above 16 bits: arithmetic/piecewise_linear.py."""
    code(f"lsr {word}, {value}, #{curve.shift}")
    code(f"ldr {word}, [{table}, {word}, lsl #2]")
    code(f"smmla {value}, {value}, {word}, {word}")


def convert(code: Routine, cells: Sequence[tuple[str, ...]]) -> None:
    """Sums in FPU registers (with those of their factor and bias) become integers, by way of float32."""
    for operation in ("vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, {1}", "vadd.f32 {0}, {0}, {2}"):
        for cell in cells:
            code(operation.format(*cell))
    for value, *_ in cells:
        code(f"vcvt.s32.f32 {value}, {value}")


def carry(code: Routine, curve: Curve, value: str, entry: str, table: str) -> None:
    """A number within the limits becomes a level in the lowest byte: arithmetic/carried_steps.py."""
    code(f"asr {entry}, {value}, #{curve.shift}")
    code(f"ldr {entry}, [{table}, {entry}, lsl #2]")
    if not curve.rises:
        code(f"eor {value}, {value}, {entry}, asr #31")
    code(f"add {value}, {value}, {entry}")
    code(f"lsr {value}, {value}, #{curve.shift}")
