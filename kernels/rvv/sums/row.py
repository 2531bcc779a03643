# SPDX-License-Identifier: MIT
"""A row of a fully connected layer: products of bytes are added up in 16 bits as long as they fit, then in 32 bits.

The sums of a vector of bytes take sixteen registers; their halves are vectors of 32 bits.
"""

from __future__ import annotations

import numpy

from aidge_build.contract.kernel_kit.linear_int8 import Linear

from ..core.assembly import Routine
from ..core.block import SIZES
from ..core.levels import emit_head, emit_levels, emit_next_channels, emit_next_numbers

TOGETHER = (8, 6, 4, 3, 2)  # taps
MOST_WEIGHT = 32767 // 128  # of taps whose products fit 16 bits, all together
_ARGUMENTS = {"input": "const int8_t *", "output": "int8_t *", "numbers": "const int32_t *", "weights": "const int8_t *"}
_ARGUMENTS |= {"sizes": f"const {SIZES} *"}
PARAMETERS = ", ".join(kind + name for name, kind in _ARGUMENTS.items())
_NAMES = {name: f"a{number}" for number, name in enumerate((*_ARGUMENTS, "length", "first", "second"))}
_NAMES |= {name: f"t{number}" for number, name in enumerate(("tap", "place", "turns", "value", "spare"))}
_NAMES |= {name: f"s{number}" for number, name in enumerate(("channels", "left", "zero", "low", "high", "factors"))}
_NAMES["rows"] = _NAMES["value"]  # not together
_HALVES = {"first": ("v8", "v0"), "second": ("v16", "v4")}  # the sums, and the products of a group of taps
_PRODUCTS = _SPARE = "v0"


def taps_together(linear: Linear) -> int:
    """Returns how many neighbouring taps have products that fit 16 bits in every output; 1 if not even two."""
    if linear.is_any:
        return 1
    taps = linear.rows.shape[1]

    def largest(count: int) -> int:
        filled = numpy.pad(numpy.abs(linear.rows), ((0, 0), (0, -taps % count)))
        return int(filled.reshape(len(filled), -1, count).sum(axis=2).max())

    fitting = [count for count in TOGETHER if count <= taps and largest(count) <= MOST_WEIGHT]
    return next((count for count in fitting if taps % count == 0), fitting[0] if fitting else 1)


def row_text(name: str, rounding: str, together: int, rest: int) -> str:
    """Returns the C function; `rest` taps follow the loops over `together` taps, whose number is in the sizes."""
    code = Routine(_NAMES)
    code.enter()
    code("lw {channels}, 0({sizes})")
    emit_head(code, ("zero", "low", "high"), rounding)
    code("mv {left}, {channels}")
    code.label(1, "a vector of outputs")
    code("vsetvli {length}, {left}, e8, m4, ta, ma")
    code("vsetvli {second}, zero, e32, m8, ta, ma", "all lanes")
    code.lines("mv {first}, {length}", "bleu {length}, {second}, 2f", "mv {first}, {second}")
    code.label(2)
    code.lines("sub {second}, {length}, {first}", "mv {place}, {numbers}")
    for half, (sums, _) in _HALVES.items():
        code.lines(f"vsetvli zero, {{{half}}}, e32, m8, ta, ma", f"vle32.v {sums}, ({{place}})")
        _emit_second(code, "numbers")
    code.lines("mv {tap}, {weights}", "mv {place}, {input}", "lw {turns}, 8({sizes})")
    code.label(3, "taps")
    _emit_taps(code, together)
    code(f"addi {{place}}, {{place}}, {together}")
    code.again("turns", 3)
    if rest:
        _emit_taps(code, rest)
    code("mv {place}, {factors}")
    for half, (sums, _) in _HALVES.items():
        code(f"vsetvli zero, {{{half}}}, e32, m8, ta, ma")
        emit_levels(code, rounding, [sums], 8, _SPARE, "place")
        code(f"add {{spare}}, {{output}}, {'zero' if half == 'first' else '{first}'}")
        code(f"vse8.v {sums}, ({{spare}})")
        _emit_second(code, "factors")
    emit_next_numbers(code)
    emit_next_channels(code, 1)
    code("bnez {left}, 1b")
    code.leave()
    return code.function(name, PARAMETERS, f"One row, {together} taps at a time.")


def _emit_second(code: Routine, array: str) -> None:
    """{place} becomes the place of the second half of an array of words."""
    code.lines("slli {spare}, {first}, 2", f"add {{place}}, {{{array}}}, {{spare}}")


def _emit_taps(code: Routine, count: int) -> None:
    """Adds the products of the next taps. The lanes after the last output hold anything."""
    code("vsetvli zero, {length}, e8, m4, ta, ma")
    for tap in range(count):
        weights = ("v24", "v28")[tap % 2]
        code.lines(f"vle8.v {weights}, ({{tap}})", f"lb {{value}}, {tap}({{place}})", "add {tap}, {tap}, {channels}")
        code(f"vwmacc.vx {_PRODUCTS}, {{value}}, {weights}" if tap else f"vwmul.vx {_PRODUCTS}, {weights}, {{value}}")
    code("vsetvli {spare}, zero, e16, m4, ta, ma", "all lanes")
    for sums, products in _HALVES.values():
        code(f"vwadd.wv {sums}, {sums}, {products}")
