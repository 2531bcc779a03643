# SPDX-License-Identifier: MIT
"""Layers of dynamic quantization in assembly: the dense core over a column of two pixels, sums scaled to float32."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aidge_build.contract.kernel_kit.dynamic import bits_of, bounds_in_c, end_name

from . import dense
from .assembly import Routine, Waiting

PARAMETERS = "const uint32_t *column, const int32_t *stream, const float *table, float *first, float *second, const int32_t *end"
SAVED = "s16-s19"
STATE = {"first": 8, "second": 9, "end": 10, "base": 11, "column_end": 13, "table": 14}
_HIGHEST = (1 << 31) - 1  # of int32
REGISTERS = dense.REGISTERS | {name: f"s{place}" for name, place in STATE.items()}


def routine(pairs: int, is_packed: bool, bounds: tuple[float, float], unroll: int, overlap: int) -> tuple[str, str]:
    """Name and text of all groups of channels for two pixels of `pairs` pairs of taps; one more group stands behind the end of
    the stream if it has channels that the one before has, too: `overlap` of them."""
    clamp = clamp_name(bounds)
    weights = "packed" if is_packed else "wide"
    name = f"aidge_cortexm_dynamic_{pairs}_{weights}{clamp}_u{unroll}{f'_overlap{overlap}' if overlap else ''}"
    code = Routine(REGISTERS, Waiting(STATE))
    code("push {{r4-r11, lr}}")
    code(f"vpush {{{{{SAVED}}}}}")
    code("ldrd r4, r5, [sp, #52]", "second, end")
    code("vmov {first}, {second}, r3, r4")
    code("vmov {end}, {base}, r5, r0")
    code("vmov {table}, r2")
    code.constant("r5", 8 * pairs)
    code("add r5, r5, r0")
    code("vmov {column_end}, r5")
    code.label(3, "a group of 4 channels")
    ahead, body = dense.split_steps(pairs - 1, unroll - 1, start=0)
    dense.all_steps(code, "sxtb16" * is_packed, 1 + ahead, body, has_biases=False)
    if is_packed:
        for pixel in "ab":
            for channel in (1, 3):
                code(f"sub {{{pixel}{channel}}}, {{{pixel}{channel}}}, {{{pixel}{channel - 1}}}")
    code("vmov {w0}, {table}")
    code("vldmia {w0}!, {{s0-s7}}", "factors, biases")
    code("vmov {table}, {w0}")
    code("vmov {w0}, {w1}, {first}, {second}")
    load_limit(code, bounds, "{x0}")
    for pixel, target in (("a", "{w0}"), ("b", "{w1}")):
        scale(code, [f"{{{pixel}{channel}}}" for channel in range(4)], 16, bounds, target, "{x0}")
    code("vmov {first}, {second}, {w0}, {w1}")
    code("vmov {x0}, {column}, {end}, {base}")
    code("cmp {stream}, {x0}")
    if overlap:
        code("blo 3b")
        code("bhi 5f")
        code("vmov {w0}, {w1}, {first}, {second}")
        for output in ("{w0}", "{w1}"):
            code(f"sub {output}, {output}, #{4 * overlap}", "to the last 4 channels")
        code("vmov {first}, {second}, {w0}, {w1}")
        code("b 3b")
        code.label(5)
    else:
        code("bne 3b")
    code(f"vpop {{{{{SAVED}}}}}")
    code("pop {{r4-r11, pc}}")
    numbers = f"{pairs}, 2, {is_packed:d}, {overlap}, {bounds_in_c(bounds)}"
    portable = f"aidge_cortexm_dynamic_groups(column, stream, table, first, second, end, {numbers});"
    return name, code.function(name, PARAMETERS, f"{pairs} pairs of taps of two pixels to float32.", portable)


def clamp_name(bounds: tuple[float, float]) -> str:
    """What a name says of the limits of the output."""
    lowest, highest = bounds
    if highest < math.inf:
        return end_name(highest)
    return "_relu" if lowest == 0 else ""


def scale(code: Routine, sums: Sequence[str], free: int, bounds: tuple[float, float], output: str, limit: str) -> None:
    """4 sums times their factors in s0-s3 plus their biases in s4-s7, by way of 4 FPU registers from `free` on, to where the
    register `output` points, which then points behind them; `limit` as `clamp` wants it."""
    first, second = (f"s{free}, s{free + 1}", f"s{free + 2}, s{free + 3}")
    code(f"vmov {first}, {sums[0]}, {sums[1]}")
    code(f"vmov {second}, {sums[2]}, {sums[3]}")
    for operation in ("vcvt.f32.s32 s{0}, s{0}", "vmul.f32 s{0}, s{0}, s{1}", "vadd.f32 s{0}, s{0}, s{2}"):
        for channel in range(4):
            code(operation.format(free + channel, channel, 4 + channel))
    if not clamp_name(bounds):
        code(f"vstmia {output}!, {{{{s{free}-s{free + 3}}}}}")
        return
    code(f"vmov {sums[0]}, {sums[1]}, {first}")
    code(f"vmov {sums[2]}, {sums[3]}, {second}")
    clamp(code, sums, bounds, limit)
    code(f"stm {output}!, {{{{{', '.join(sums)}}}}}")


def load_limit(code: Routine, bounds: tuple[float, float], limit: str) -> None:
    """What `clamp` wants in the register `limit`: from the highest value to 2^31 - 1, as integers."""
    if bounds[1] < math.inf:
        code.constant(limit, _HIGHEST - bits_of(bounds[1]))


def clamp(code: Routine, values: Sequence[str], bounds: tuple[float, float], limit: str) -> None:
    """Clamp floats in core registers as integers, in whose order those above 0 are: what is beyond the highest one saturates
    when `limit` is added."""
    if bounds[1] < math.inf:
        for operation in ("qadd", "sub"):
            for value in values:
                code(f"{operation} {value}, {value}, {limit}")
    if clamp_name(bounds):
        for value in values:
            code(f"bic {value}, {value}, {value}, asr #31", "0 if negative")


PIXEL_PARAMETERS = (
    "const uint8_t *from, const int32_t *words, const float *table, float *output, const aidge_cortexm_dynamic_patch *patch, "
    "uint32_t zeros"
)
PATCH, COUNT = "[sp, #36]", "[sp, #40]"  # the second one holds the zero points at first


def depthwise(bounds: tuple[float, float], signed: bool) -> tuple[str, str]:
    """Name and text of groups of 4 channels of one pixel of a depthwise layer; `signed`: of int8."""
    name = f"aidge_cortexm_dynamic_depthwise{clamp_name(bounds)}{'_signed' * signed}"
    code = Routine({"x": "r8", "w": "r9", "end": "r10", "step": "r11", "zeros": "r12", "rows": "lr", "patch": "r3"})
    code("push {{r4-r11, lr}}")
    code("vmov s8, s9, r0, r1", "input, weights")
    code("vmov s10, s11, r2, r3", "table, output")
    code(f"ldr {{patch}}, {PATCH}")
    code(f"ldr {{zeros}}, {COUNT}")
    code("ldr r0, [{patch}, #20]", "groups")
    code(f"str r0, {COUNT}")
    code(f"mov r0, #{0x800080 if signed else 0}", "data are read with their signs")
    code("ssub16 {zeros}, r0, {zeros}", "less than nothing, to be added")
    code.label(1, "4 channels")
    for total in range(4):
        code(f"movs r{4 + total}, #0")
    code("ldr {rows}, [{patch}]")
    code("ldr {step}, [{patch}, #12]")
    code("vmov {x}, {w}, s8, s9")
    code("cmp {rows}, #0")
    code("beq 4f")
    code.label(2, "a row of taps")
    code(f"ldr r0, {PATCH}")
    code("ldr r1, [r0, #4]")
    code("add {end}, {x}, r1")
    code.label(3, "a tap")
    code("ldr r0, [{x}]")
    code("ldrd r1, r2, [{w}], #8")
    code("add {x}, {x}, {step}")
    letter = "s" if signed else "u"
    code(f"{letter}xtab16 r3, {{zeros}}, r0")
    code(f"{letter}xtab16 r0, {{zeros}}, r0, ror #8")
    for half, (even, odd) in (("bb", (4, 5)), ("tt", (6, 7))):
        code(f"smla{half} r{even}, r3, r1, r{even}")
        code(f"smla{half} r{odd}, r0, r2, r{odd}")
    code("cmp {x}, {end}")
    code("bne 3b")
    code(f"ldr r0, {PATCH}")
    code("ldr r1, [r0, #8]")
    code("ldr r2, [r0, #16]")
    code("add {x}, {x}, r1")
    code("add {w}, {w}, r2")
    code("subs {rows}, {rows}, #1")
    code("bne 2b")
    code.label(4)
    code("vmov r0, s10")
    code("vldmia r0!, {{s0-s7}}", "factors, biases")
    code("vmov s10, r0")
    code("vmov r0, s11")
    load_limit(code, bounds, "r2")
    scale(code, [f"r{4 + total}" for total in range(4)], 12, bounds, "r0", "r2")
    code("vmov s11, r0")
    code("vmov r0, r1, s8, s9")
    code(f"ldr {{patch}}, {PATCH}")
    code("adds r0, r0, #4")
    code("ldr r2, [{patch}, #24]")
    code("add r1, r1, r2")
    code("vmov s8, s9, r0, r1")
    code(f"ldr r0, {COUNT}")
    code("subs r0, r0, #1")
    code(f"str r0, {COUNT}")
    code("bne 1b")
    code("pop {{r4-r11, pc}}")
    portable = f"aidge_cortexm_dynamic_pixel(from, words, table, output, patch, zeros, {128 * signed}, {bounds_in_c(bounds)});"
    return name, code.function(name, PIXEL_PARAMETERS, "Depthwise: groups of 4 channels of a pixel.", portable)
