# SPDX-License-Identifier: MIT
"""Texts that compute int8 values one after the other in lanes of 32 bits."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.assembly import Routine, emit_stored

_NAMES = {"first": "a0", "second": "a1", "output": "a2", "numbers": "a3", "count": "a4"}
_NUMBERS = ("zero", "low", "high", "factor", "other", "offset", "bits")
_NAMES |= {name: f"t{number}" for number, name in enumerate(_NUMBERS)} | {"length": "a5"}
PARAMETERS = "const int8_t *first, const int8_t *second, int8_t *output, const int32_t *numbers, int32_t count"


def pairs_text(name: str, comment: str, numbers: Sequence[str], lines: Sequence[str]) -> str:
    """Returns a C function of two tensors. `lines` compute results in v24 from values in v8 and v16, eight registers each, and
    may name `numbers`. The results are then limited to int16, to int8, and by {low} and {high}."""
    code = Routine(_NAMES)
    for place, number in enumerate(numbers):
        code(f"lw {{{number}}}, {4 * place}({{numbers}})")
    code("beqz {count}, 2f")
    code.label(1)
    code("vsetvli {length}, {count}, e32, m8, ta, ma")
    for register, pointer in ((0, "first"), (2, "second")):
        code(f"vle8.v v{register}, ({{{pointer}}})")
        code(f"add {{{pointer}}}, {{{pointer}}}, {{length}}")
        code(f"vsext.vf4 v{8 + 4 * register}, v{register}")
    for line in lines:
        code(line)
    emit_stored(code, ["v24"], 8)
    code("vse8.v v24, ({output})")
    code("sub {count}, {count}, {length}")
    code("add {output}, {output}, {length}")
    code("bnez {count}, 1b")
    code.label(2)
    code("ret")
    return code.function(name, PARAMETERS, comment)
