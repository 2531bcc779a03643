# SPDX-License-Identifier: MIT
"""Requantization of a depthwise layer in assembly: sums of one channel become levels."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.contract.kernel_kit.linear_int8 import HIGH_SHIFT
from aidge_build.operators.arithmetic import near_halves

from ..core.assembly import Routine
from ..core.limits import Limits
from ..sums import curved_levels, dense_levels
from ..sums.curves import Curve


@dataclass(frozen=True)
class Form:
    """How sums become levels, and at most how many pairs of outputs stand in the text. `is_near` as of a Stream."""

    shift: int
    limits: Limits
    has_integers: bool
    has_floats: bool
    together: int
    has_fpu: bool
    is_near: bool
    are_bytes: bool = False  # weights, in the stream
    is_fixed: bool = False  # what is not proved has a fixed-point factor that rounds twice, and goes not through floats
    is_doubled: bool = False  # its sums are twice as large
    has_ends: bool = False  # what is proved must be limited by more than saturation, too
    is_even: bool = False  # all channels divide by powers of two, halves to even
    curve: Curve | None = None  # sums go through a function, whose words have their middle this far from the head
    distance: int = 0

    @property
    def is_mixed(self) -> bool:
        return self.has_integers and self.has_floats

    @property
    def needs_head(self) -> bool:
        """Whether outputs depend on what the stream says of all channels."""
        return self.has_floats or self.has_ends

    @property
    def in_float(self) -> bool:
        """Whether sums that are not proved go through the FPU."""
        return self.has_fpu and not self.is_fixed and self.curve is None

    @property
    def has_products(self) -> bool:
        """Whether sums go through a function without floats."""
        return self.curve is not None and not self.curve.is_float

    @property
    def variant(self) -> str:
        """What the text depends on, for its name."""
        kind = "" if self.is_mixed else "_integer" if self.has_integers else "_float"
        kind = "_even" if self.is_even else kind
        kind += "_ends" * self.has_ends
        core = "" if self.has_fpu else "_soft" if self.is_near else "_soft_exact"
        core += f"_twice{'_doubled' * self.is_doubled}" if self.is_fixed and self.has_floats else ""
        weights = "_bytes" * self.are_bytes
        if self.curve:
            return f"{self.curve.variant}_at{self.distance}{weights}_u{self.together}"
        return f"_s{self.shift}{self.limits.variant}{kind}{core}{weights}_u{self.together}"


def near_factor(code: Routine) -> None:
    """floor(multiplier * 2^32) of a float."""
    code("lsr {x0}, {factor}, #23", "exponent")
    code("rsb {x0}, {x0}, #126")
    code("lsl {factor}, {factor}, #8")
    code("orr {factor}, {factor}, #0x80000000")
    code("lsr {factor}, {factor}, {x0}")


def integer_form(code: Routine, form: Form, sums: tuple[str, ...], factor: str) -> None:
    """Sums of which an integer form is proved become levels."""
    for first in range(0, len(sums), 2) if form.is_even else ():
        both = [*zip(sums[first : first + 2], ("x0", "x1"))]
        for name, spare in both:
            code(f"ubfx {{{spare}}}, {{{name}}}, #{form.shift + HIGH_SHIFT}, #1", "the last bit of the level below a half")
        for name, spare in both:
            code(f"add {{{name}}}, {{{name}}}, {{{spare}}}")
    for name in () if form.is_even else sums:
        code(f"smmul {{{name}}}, {{{name}}}, {{{factor}}}")
    for name in sums:
        code(form.limits.saturate(f"{{{name}}}", form.shift + HIGH_SHIFT))
    if form.has_ends:
        _clamp(code, form.limits, sums)


class FloatForm:
    """Sums become levels in float."""

    def __init__(self, code: Routine, form: Form):
        self.code, self.limits = code, form.limits

    def __call__(self, sums: tuple[str, ...]) -> None:
        """Of one or two outputs."""
        code = self.code
        cells = ("s2", "s3")[: len(sums)]
        totals = ", ".join(f"{{{name}}}" for name in sums)
        code(f"vmov {', '.join(cells)}, {totals}")
        for operation in ("vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, s4", "vcvtr.s32.f32 {0}, {0}"):
            for cell in cells:
                code(operation.format(cell))
        code(f"vmov {totals}, {', '.join(cells)}")
        for name in sums:
            code(f"qadd {{{name}}}, {{{name}}}, {{factor}}")
            code(self.limits.saturate(f"{{{name}}}"))
        if self.limits.is_more:
            _clamp(code, self.limits, sums)


class CurvedLevels:
    """Sums become levels by way of float32, a table of words and a carry."""

    def __init__(self, code: Routine, form: Form):
        self.code, self.curve = code, form.curve

    def __call__(self, sums: tuple[str, ...]) -> None:
        """Of one or two outputs."""
        code, cells = self.code, (2, 3)[: len(sums)]
        floats, totals = ", ".join(f"s{cell}" for cell in cells), ", ".join(f"{{{name}}}" for name in sums)
        code(f"vmov {floats}, {totals}")
        curved_levels.convert(code, [(cell, 4, 7) for cell in cells])
        code(f"vmov {totals}, {floats}")
        code.get("{x0}, {x1}", "zero", "what numbers are raised and lowered by")
        for name in sums:
            code(f"qadd {{{name}}}, {{{name}}}, {{x0}}")
            code(f"qsub {{{name}}}, {{{name}}}, {{x1}}")
        for name, entry in zip(sums, ("{x0}", "{x1}")):
            curved_levels.carry(code, self.curve, f"{{{name}}}", entry, "{factor}")


class ProductLevels:
    """Sums become levels by a product, a table of words and one product more."""

    def __init__(self, code: Routine, form: Form):
        self.code, self.curve = code, form.curve

    def __call__(self, sums: tuple[str, ...]) -> None:
        """Of one or two outputs."""
        code = self.code
        left, bits = self.curve.head
        code.get("{x0}", "real_bias")
        for name in sums:
            code(f"lsl {{{name}}}, {{{name}}}, #{left}")
        for name in sums:
            code(f"smmla {{{name}}}, {{{name}}}, {{factor}}, {{x0}}")
        code.get("{x0}", "curve")
        for name in sums:
            code(f"usat {{{name}}}, #{bits}, {{{name}}}")
            curved_levels.follow(code, self.curve, f"{{{name}}}", "{x1}", "{x0}")
            code(f"lsr {{{name}}}, {{{name}}}, #16")


class FixedLevels:
    """Sums become levels by a fixed-point factor that rounds twice: arithmetic/fixed_form.py."""

    def __init__(self, code: Routine, form: Form):
        self.code, self.form = code, form

    def __call__(self, sums: tuple[str, ...]) -> None:
        """Of one or two outputs."""
        code = self.code
        code.get("{x0}, {x1}", "multiplier", "constant, shift")
        for name in (f"{{{name}}}" for name in sums):
            if not self.form.is_doubled:
                code(f"lsl {name}, {name}, #1")
            code(f"smmulr {name}, {name}, {{factor}}")
            code(f"add {name}, {name}, {name}, asr #31")
            code(f"add {name}, {name}, {{x0}}")
            code(f"asr {name}, {name}, {{x1}}")
            code(self.form.limits.saturate(name))
        if self.form.limits.is_more:
            _clamp(code, self.form.limits, sums)


def _clamp(code: Routine, limits: Limits, levels: tuple[str, ...]) -> None:
    """Between the output's limits."""
    registers = {"lowest": "x0", "highest": "x1"}
    code.get("{x0}", "limits")
    if "highest" in limits.ends:
        code("asr {x1}, {x0}, #16")
    if "lowest" in limits.ends:
        code("sxth {x0}, {x0}")
    for end in reversed(limits.ends):
        code(f"sub {{{registers[end]}}}, {{{registers[end]}}}, #128")
    for name in levels:
        for end in limits.ends:
            code(f"cmp {{{name}}}, {{{registers[end]}}}")
            code(f"it {dense_levels.CONDITIONS[end]}")
            code(f"mov{dense_levels.CONDITIONS[end]} {{{name}}}, {{{registers[end]}}}")


class NearForm:
    """Sums become levels by a product of 64 bits, or where that says that it may be wrong by a function in C."""

    FIRST_LABEL = 20

    def __init__(self, code: Routine, form: Form):
        self.code, self.form, self.places = code, form, 0

    def __call__(self, sums: tuple[str, ...]) -> None:
        """Of one or two outputs."""
        for name in sums:
            self._level(name)
            dense_levels.limit(self.code, self.form.limits)
            self.code(f"mov {{{name}}}, {{x1}}")

    def _level(self, name: str) -> None:
        code, exactly = self.code, self.FIRST_LABEL + 2 * self.places
        self.places += 1
        if self.form.is_near:
            code.get("{x0}, {x1}", "near_start", "one half and a margin, zero point")
            code(f"smlal {{x0}}, {{x1}}, {{{name}}}, {{factor}}")
            code(f"lsrs {{x0}}, {{x0}}, #{near_halves.BAND_BITS}")
            code(f"beq {exactly}f", "near the middle of two levels")
        else:
            code(f"b {exactly}f")
        code.label(exactly + 1)
        code.behind(lambda: self._exactly(name, exactly))

    def _exactly(self, name: str, label: int) -> None:
        code, pushed = self.code, 16
        code.label(label, "near the middle of two levels: by a function that knows these registers")
        code("push {{r2, r3, r12, lr}}")
        code(f"ldr r12, [sp, #{pushed + code.waiting.offset('head')}]", "zero point, limits")
        if name != "sum0":
            code(f"mov r2, {{{name}}}")
        code(f"ldr r3, [sp, #{pushed + code.waiting.offset('multiplier')}]")
        code.call("aidge_cortexm_round_sum")
        code("mov {x1}, r2")
        code("pop {{r2, r3, r12, lr}}")
        code(f"b {label + 1}b")
