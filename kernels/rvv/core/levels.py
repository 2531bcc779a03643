# SPDX-License-Identifier: MIT
"""Sums become stored values by the formula of the contract: in float32 with both its roundings, or, `even`, by the products of
arithmetic/rounded_products.py on cores whose vectors hold no floats; or by fixed-point factors, whose products are rounded
`once`, or `twice` with the shift.

The constants of a layer are words: zero point, lowest and highest stored value, zero points of the input and of computed weights;
what the sums of each channel begin with; the factor of each channel; the shift of each fixed-point factor. `even` has two more
words before the channels: the shift of the sums to the left, and how many sums of a channel are replaced; arrays of the replaced
sums and of the sums that replace them come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.linear_int8 import Linear
from aidge_build.contract.kernel_kit.packing import as_words
from aidge_build.contract.spec import NodeView
from aidge_build.operators.arithmetic.contracts import FixedFactors
from aidge_build.operators.arithmetic.rounded_products import RoundedForm, rounded_form

from .assembly import FLOATS, HEAD_PLACE, Routine, emit_stored

HEAD_WORDS = 5
LANE_FACTORS, ONE_FACTOR = "vle32.v {0}, ({1})", "vlse32.v {0}, ({1}), zero"  # each lane has its own factor, or all have the same
_ROUNDS = {"once": (2, "rounds down"), "twice": (0, "halves upwards"), "even": (1, "halves to even")}  # how products do


@dataclass(frozen=True, eq=False)
class Levels:
    """A layer whose sums have no fractions; `rounding` is "float", "even", "once" or "twice"."""

    linear: Linear
    rounding: str
    form: RoundedForm | None  # of "even"

    @property
    def rows(self) -> numpy.ndarray:
        """The weights [outputs, taps]."""
        return self.linear.rows

    @staticmethod
    def of(view: NodeView, linear: Linear) -> Levels:
        """Returns the layer for the core of this view; its weights may have a unit."""
        factors, fine = linear.requantization, linear.in_fine_units()
        if isinstance(factors, FixedFactors):
            return Levels(fine, "once" if factors.once else "twice", None)
        if FLOATS in view.features:
            return Levels(fine, "float", None)
        return Levels(fine, "even", rounded_form(linear.staircase(), fine.factors, linear.fractions, linear.unit))

    def words(self, weights_zero_point: int = 0) -> numpy.ndarray:
        """Returns the constants."""
        linear = self.linear
        head = [linear.zero_point, *linear.clamp, linear.input_zero_point, weights_zero_point]
        arrays: list[numpy.ndarray] = [linear.factors.view(numpy.int32)]
        if isinstance(linear.requantization, FixedFactors):
            multipliers, shifts = linear.requantization.factors.T
            arrays = [multipliers, -shifts]
        if form := self.form:
            head += [form.left, len(form.wrong)]
            arrays = [form.multipliers, form.rights, *(each for pair in zip(form.wrong, form.instead) for each in pair)]
        return as_words(numpy.concatenate([head, linear.bias, *arrays]).tolist())


def emit_head(code: Routine, names: Sequence[str], rounding: str) -> None:
    """Loads the first words that the channels share; {numbers} then points to the first channel, {factors} to its factor."""
    for place, name in enumerate(names):
        code(f"lw {{{name}}}, {4 * place}({{numbers}})")
    if rounding == "even":
        code(f"sw {{numbers}}, {HEAD_PLACE}(sp)")
    code(f"addi {{numbers}}, {{numbers}}, {4 * HEAD_WORDS + 8 * (rounding == 'even')}")
    code.lines("slli {factors}, {channels}, 2", "add {factors}, {numbers}, {factors}")


def emit_levels(
    code: Routine, rounding: str, sums: Sequence[str], registers: int, spare: str, factors: str, load: str = LANE_FACTORS
) -> None:
    """Sums of 32 bits, in so many registers each, become stored values of 8 bits. The register `factors` has the place of the
    channels' factors, and `load` is LANE_FACTORS or ONE_FACTOR; `spare` is a vector, for "even" v0. Changes {spare}, and for
    "even" {tap}, {turns} and {rows}."""
    if rounding == "even":
        _emit_replaced(code, sums, registers, factors)
    code(load.format(spare, f"{{{factors}}}"))
    if rounding == "float":
        for line in ("vfcvt.f.x.v {0}, {0}", f"vfmul.vv {{0}}, {{0}}, {spare}", "vfcvt.x.f.v {0}, {0}"):
            code.each(sums, line)
    else:
        _emit_fixed(code, rounding, sums, spare, factors, load)
    code.each(sums, "vsadd.vx {0}, {0}, {{zero}}")
    emit_stored(code, sums, registers)


def _emit_replaced(code: Routine, sums: Sequence[str], registers: int, factors: str) -> None:
    """Replaces the sums that the products would round to another level, then shifts all sums to the left."""
    code(f"vsetvli zero, zero, e32, m{registers}, ta, mu")
    code.lines(f"lw {{rows}}, {HEAD_PLACE}(sp)", f"lw {{turns}}, {4 * HEAD_WORDS + 4}({{rows}})")
    code.lines("slli {spare}, {channels}, 2", f"add {{tap}}, {{{factors}}}, {{spare}}")
    code("beqz {turns}, 7f")
    code.label(6, "one sum of each channel")
    code.lines("add {tap}, {tap}, {spare}", "add {rows}, {tap}, {spare}")
    for name in sums:
        code.lines("vle32.v v0, ({tap})", f"vmseq.vv v0, {name}, v0", f"vle32.v {name}, ({{rows}}), v0.t")
    code("mv {tap}, {rows}")
    code.again("turns", 6)
    code.label(7)
    code.lines(f"lw {{rows}}, {HEAD_PLACE}(sp)", f"lw {{rows}}, {4 * HEAD_WORDS}({{rows}})")
    code.each(sums, "vsll.vx {0}, {0}, {{rows}}")


def _emit_fixed(code: Routine, rounding: str, sums: Sequence[str], spare: str, factors: str, load: str) -> None:
    """Multiplies by the factors in the vector `spare` and shifts. Halves are rounded to even, or upwards; below zero, with two
    roundings, halves of the second one away from zero."""
    _emit_mode(code, *_ROUNDS[rounding])
    code.each(sums, f"vsmul.vv {{0}}, {{0}}, {spare}")
    if rounding == "once":
        _emit_mode(code, *_ROUNDS["twice"])
    elif rounding == "twice":
        for name in sums:
            code.lines(f"vsra.vi {spare}, {name}, 31", f"vadd.vv {name}, {name}, {spare}")
    code.lines("slli {spare}, {channels}, 2", f"add {{spare}}, {{spare}}, {{{factors}}}", load.format(spare, "{spare}"))
    code.each(sums, f"vssra.vv {{0}}, {{0}}, {spare}")


def _emit_mode(code: Routine, mode: int, comment: str) -> None:
    """Sets how products and shifts round. Names of cores without F need not say that they have control registers."""
    code.lines(".option push", ".option arch, +zicsr")
    code(f"csrwi vxrm, {mode}", comment)
    code(".option pop")


def emit_stores(code: Routine, results: Sequence[str], bits: int) -> None:
    """Stores the first {count} of these results, which are pixels {channels} bytes apart. Changes {spare} and {place}."""
    code.lines("mv {place}, {output}", "mv {spare}, {count}")
    for pixel, name in enumerate(results):
        if pixel:
            code.lines("addi {spare}, {spare}, -1", "beqz {spare}, 9f", "add {place}, {place}, {channels}")
        code(f"vse{bits}.v {name}, ({{place}})")
    code.label(9)


def emit_next_numbers(code: Routine) -> None:
    """Moves the pointers to the constants behind the channels of a vector."""
    code.lines("slli {spare}, {length}, 2", "add {numbers}, {numbers}, {spare}", "add {factors}, {factors}, {spare}")


def emit_next_channels(code: Routine, weight_bytes: int) -> None:
    """Moves the pointers to weights and outputs behind the channels of a vector, which {left} then lacks."""
    for _ in range(weight_bytes):
        code("add {weights}, {weights}, {length}")
    code.lines("add {output}, {output}, {length}", "sub {left}, {left}, {length}")
