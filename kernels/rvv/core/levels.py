# SPDX-License-Identifier: MIT
"""Sums become stored values by the float32 formula of the contract `onnx`: with its two roundings, so that nothing needs a proof.

The constants of a layer are words: zero point, lowest and highest stored value, zero points of the input and of computed weights;
what the sums of each channel begin with; the float32 factor of each channel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.contract.kernel_kit.linear_int8 import Linear
from aidge_build.contract.kernel_kit.packing import as_words

from .assembly import Routine, emit_stored

HEAD_WORDS = 5


def words_of(linear: Linear, weights_zero_point: int = 0) -> numpy.ndarray:
    """Returns the constants of a layer whose sums have no fractions."""
    head = linear.zero_point, *linear.clamp, linear.input_zero_point, weights_zero_point
    return as_words([*head, *linear.bias.tolist(), *linear.factors.view(numpy.int32).tolist()])


def emit_head(code: Routine, names: Sequence[str]) -> None:
    """Loads the first words that the channels share; {numbers} then points to the first channel, {factors} to its factor."""
    for place, name in enumerate(names):
        code(f"lw {{{name}}}, {4 * place}({{numbers}})")
    code(f"addi {{numbers}}, {{numbers}}, {4 * HEAD_WORDS}")
    code("slli {factors}, {channels}, 2")
    code("add {factors}, {numbers}, {factors}")


def emit_levels(code: Routine, sums: Sequence[str], registers: int, factors: str) -> None:
    """Sums of 32 bits, in so many registers each, become stored values of 8 bits; `factors` are the vector of the channels'
    factors."""
    product = f"vfmul.vv {{0}}, {{0}}, {factors}"
    for line in ("vfcvt.f.x.v {0}, {0}", product, "vfcvt.x.f.v {0}, {0}", "vsadd.vx {0}, {0}, {{zero}}"):
        code.each(sums, line)
    emit_stored(code, sums, registers)


def emit_stores(code: Routine, sums: list[str], registers: int) -> None:
    """Stores the outputs of the first {count} of these sums, which are pixels {channels} bytes apart; v0 and the next registers
    are free. Changes {spare} and {place}."""
    code.elements(32, registers)
    code("vle32.v v0, ({factors})")
    emit_levels(code, sums, registers, "v0")
    code("mv {place}, {output}")
    code("mv {spare}, {count}")
    for pixel, name in enumerate(sums):
        if pixel:
            code("addi {spare}, {spare}, -1")
            code("beqz {spare}, 9f")
            code("add {place}, {place}, {channels}")
        code(f"vse8.v {name}, ({{place}})")
    code.label(9)


def emit_next_channels(code: Routine, weight_bytes: int) -> None:
    """Moves the pointers behind the channels of a vector, which {left} then lacks."""
    code("slli {spare}, {length}, 2")
    code("add {numbers}, {numbers}, {spare}")
    code("add {factors}, {factors}, {spare}")
    for _ in range(weight_bytes):
        code("add {weights}, {weights}, {length}")
    code("add {output}, {output}, {length}")
    code("sub {left}, {left}, {length}")
