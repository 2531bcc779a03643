# SPDX-License-Identifier: MIT
"""Texts that compute values one after the other, in lanes of 32 bits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ..core.assembly import Routine

FLOATS = ("scale", "added", "lowest", "highest")  # numbers in registers of the FPU


def row_text(
    name: str,
    comment: str,
    pointers: Mapping[str, str],
    numbers: Sequence[str],
    body: Callable[[Routine], None],
    repeats: Collection[str] = (),
) -> str:
    """Returns the C function of a row. `pointers` have C types, and `repeats` of them point to one value; `body` loads, computes
    and stores a vector of values, eight registers each of 32 bits, and may name the `numbers`, which are words or floats."""
    parameters = {**pointers, "numbers": "const int32_t *", "count": "int32_t "}
    registers = {each: f"a{place}" for place, each in enumerate((*parameters, "length"))} | {"bytes": "t6"}
    places = {number: place for place, number in enumerate(numbers)}
    code = Routine({**registers, **{each: f"fa{at}" if each in FLOATS else f"t{at}" for each, at in places.items()}})
    for number, place in places.items():
        code(f"{'flw' if number in FLOATS else 'lw'} {{{number}}}, {4 * place}({{numbers}})")
    code("beqz {count}, 2f")
    code.label(1)
    code("vsetvli {length}, {count}, e32, m8, ta, ma")
    body(code)
    code("slli {bytes}, {length}, 2")
    for pointer, kind in pointers.items():
        if pointer not in repeats:
            code(f"add {{{pointer}}}, {{{pointer}}}, {{{'length' if 'int8' in kind else 'bytes'}}}")
    code("sub {count}, {count}, {length}")
    code("bnez {count}, 1b")
    code.label(2)
    code("ret")
    return code.function(name, ", ".join(kind + each for each, kind in parameters.items()), comment)
