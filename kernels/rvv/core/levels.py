# SPDX-License-Identifier: MIT
"""Sums become stored values by the formula of the contract, so that nothing needs a proof: in float32 with both its roundings,
or by fixed-point factors, whose products are rounded `once`, or `twice` with the shift.

The constants of a layer are words: zero point, lowest and highest stored value, zero points of the input and of computed weights;
what the sums of each channel begin with; the factor of each channel; the shift of each fixed-point factor.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.contract.kernel_kit.linear_int8 import Linear
from aidge_build.contract.kernel_kit.packing import as_words
from aidge_build.operators.arithmetic.contracts import FixedFactors

from .assembly import Routine, emit_stored

HEAD_WORDS = 5
LANE_FACTORS, ONE_FACTOR = "vle32.v {0}, ({1})", "vlse32.v {0}, ({1}), zero"  # each lane has its own factor, or all have the same


def words_of(linear: Linear, weights_zero_point: int = 0) -> numpy.ndarray:
    """Returns the constants of a layer whose sums have no fractions."""
    head = linear.zero_point, *linear.clamp, linear.input_zero_point, weights_zero_point
    factors = linear.factors.view(numpy.int32)
    if isinstance(linear.requantization, FixedFactors):
        multipliers, shifts = linear.requantization.factors.T
        factors = numpy.concatenate([multipliers, -shifts])
    return as_words([*head, *linear.bias.tolist(), *factors.tolist()])


def rounding_of(linear: Linear) -> str:
    """Returns how the sums are rounded: "float", "once" or "twice"."""
    factors = linear.requantization
    return "float" if not isinstance(factors, FixedFactors) else "once" if factors.once else "twice"


def emit_head(code: Routine, names: Sequence[str]) -> None:
    """Loads the first words that the channels share; {numbers} then points to the first channel, {factors} to its factor."""
    for place, name in enumerate(names):
        code(f"lw {{{name}}}, {4 * place}({{numbers}})")
    code(f"addi {{numbers}}, {{numbers}}, {4 * HEAD_WORDS}")
    code("slli {factors}, {channels}, 2")
    code("add {factors}, {numbers}, {factors}")


def emit_levels(
    code: Routine, rounding: str, sums: Sequence[str], registers: int, spare: str, factors: str, load: str = LANE_FACTORS
) -> None:
    """Sums of 32 bits, in so many registers each, become stored values of 8 bits. The register `factors` has the place of the
    channels' factors, and `load` is LANE_FACTORS or ONE_FACTOR; `spare` is a vector. Changes {spare}."""
    code(load.format(spare, f"{{{factors}}}"))
    if rounding == "float":
        for line in ("vfcvt.f.x.v {0}, {0}", f"vfmul.vv {{0}}, {{0}}, {spare}", "vfcvt.x.f.v {0}, {0}"):
            code.each(sums, line)
    else:
        _emit_fixed(code, rounding, sums, spare, factors, load)
    code.each(sums, "vsadd.vx {0}, {0}, {{zero}}")
    emit_stored(code, sums, registers)


def _emit_fixed(code: Routine, rounding: str, sums: Sequence[str], spare: str, factors: str, load: str) -> None:
    """Multiplies by the factors in the vector `spare` and shifts. Halves are rounded upwards; below zero, those of the second
    rounding away from zero."""
    code("csrwi vxrm, 2" if rounding == "once" else "csrwi vxrm, 0", "rounds down" if rounding == "once" else "halves upwards")
    code.each(sums, f"vsmul.vv {{0}}, {{0}}, {spare}")
    if rounding == "once":
        code("csrwi vxrm, 0", "halves upwards")
    else:
        for name in sums:
            code(f"vsra.vi {spare}, {name}, 31")
            code(f"vadd.vv {name}, {name}, {spare}")
    code("slli {spare}, {channels}, 2")
    code(f"add {{spare}}, {{spare}}, {{{factors}}}")
    code(load.format(spare, "{spare}"))
    code.each(sums, f"vssra.vv {{0}}, {{0}}, {spare}")


def emit_stores(code: Routine, rounding: str, sums: list[str], registers: int) -> None:
    """Stores the outputs of the first {count} of these sums, which are pixels {channels} bytes apart; v0 and the next registers
    are free. Changes {spare} and {place}."""
    code.elements(32, registers)
    emit_levels(code, rounding, sums, registers, "v0", "factors")
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
