# SPDX-License-Identifier: MIT
"""Pools: windows one after the other, each with all vectors of its channels. Neighbours that see as much are one pixel with the
channels of all if their stride is 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Struct, computed
from aidge_build.contract.kernel_kit.pooling import PoolNode

from ..core.assembly import Routine
from ..core.neighbours import FIELDS, SOURCES, neighbours_text

_ARGUMENTS = {"taps": "const aidge_rvv_taps *", "output": "void *", "numbers": "const int32_t *", "channels": "int32_t "}
PARAMETERS = ", ".join(kind + name for name, kind in _ARGUMENTS.items())
_LAYER = (
    "int32_t counted_height, int32_t counted_width",
    "counted_height, counted_width",
    "shape->stride_width == 1 ? pixels : 1",
    "together * shape->in_channels",
)
_NAMES = {
    **{name: f"a{number}" for number, name in enumerate((*_ARGUMENTS, "length", "from", "column_step", "row_step"))},
    **{name: f"t{number}" for number, name in enumerate(("place", "rows", "columns", "left", "low", "high", "zero"))},
}


def pool_text(
    name: str,
    comment: str,
    vector: str,
    begin: Sequence[str],
    body: Callable[[Routine], None],
    more: dict[str, str],
    is_float: bool = False,
) -> str:
    """Returns the C function of a window. `begin` reads its numbers, `body` computes a `vector` of channels, from {from} on, and
    leaves the results in v8; `more` are names of registers. The channels of floats are given in bytes."""
    code = Routine({**_NAMES, **more})
    for field in ("from", "column_step", "row_step"):
        code(f"lw {{{field}}}, {4 * FIELDS.index(field)}({{taps}})")
    code.lines(*begin)
    if is_float:
        code("srli {channels}, {channels}, 2")
    code.label(1, "a vector of channels")
    code(f"vsetvli {{length}}, {{channels}}, {vector}, ta, ma")
    body(code)
    code(f"vse{32 if is_float else 8}.v v8, ({{output}})")
    code("sub {channels}, {channels}, {length}")
    if is_float:
        code("slli {length}, {length}, 2")
    for pointer in ("output", "from"):
        code(f"add {{{pointer}}}, {{{pointer}}}, {{length}}")
    code.lines("bnez {channels}, 1b", "ret")
    return code.function(name, PARAMETERS, comment)


def emit_taps(code: Routine, outer: str, tap: Sequence[str], after: Sequence[str] = ()) -> None:
    """The instructions `tap` for each tap, at {place}: the `outer` ones of "rows" and "columns" one after the other, with `after`
    at the end of each."""
    inner = "columns" if outer == "rows" else "rows"
    code.lines("mv {left}, {from}", f"lw {{{outer}}}, {4 * FIELDS.index(outer)}({{taps}})", f"blez {{{outer}}}, 4f")
    code.label(2)
    code.lines("mv {place}, {left}", f"lw {{{inner}}}, {4 * FIELDS.index(inner)}({{taps}})", f"blez {{{inner}}}, 4f")
    code.label(3)
    code.lines(*tap)
    code(f"add {{place}}, {{place}}, {{{inner[:-1]}_step}}")
    code.again(inner, 3)
    code.lines(*after)
    code(f"add {{left}}, {{left}}, {{{outer[:-1]}_step}}")
    code.again(outer, 2)
    code.label(4)


def pool_call(node: PoolNode, function: str, text: str, numbers: Sequence[int], note: str = "") -> Call:
    """Returns the call of a pool; `function` is the name of the text for a window."""
    constant, shape = Constant("numbers", numpy.array(numbers, numpy.int32)), node.shape()
    in_bytes = {name: shape.fields[name] * node.inputs[0].dtype.size_bytes for name in ("in_channels", "out_channels")}
    return Call(
        f"{function}_layer",
        SOURCES,
        (Input(0), Output(0), constant, *node.counted_ends(), Struct(shape.type, {**shape.fields, **in_bytes})),
        note=note,
        texts=(text, neighbours_text(function, *_LAYER)),
        facts=computed("a vector of channels"),
    )
