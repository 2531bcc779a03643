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

_ENDS = {"lowest": 4, "highest": 6}  # bytes of the head


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
        """The part of a function's name that says on which properties its text depends."""
        kind = "" if self.is_mixed else "_integer" if self.has_integers else "_float"
        kind = "_even" if self.is_even else kind
        kind += "_ends" * self.has_ends
        core = "" if self.has_fpu else "_soft" if self.is_near else "_soft_exact"
        core += f"_twice{'_doubled' * self.is_doubled}" if self.is_fixed and self.has_floats else ""
        weights = "_bytes" * self.are_bytes
        if self.curve:
            return f"{self.curve.variant}_at{self.distance}{weights}_u{self.together}"
        return f"_s{self.shift}{self.limits.variant}{kind}{core}{weights}_u{self.together}"


def integer_form(code: Routine, form: Form, sums: tuple[str, ...]) -> None:
    """Sums of which an integer form is proved become levels."""
    for first in range(0, len(sums), 2) if form.is_even else ():
        both = [*zip(sums[first : first + 2], ("%x0", "%x1"))]
        for name, spare in both:
            code(f"ubfx {spare}, {name}, #{form.shift + HIGH_SHIFT}, #1", "the last bit of the level below a half")
        for name, spare in both:
            code(f"add {name}, {name}, {spare}")
    for name in () if form.is_even else sums:
        code(f"smmul {name}, {name}, %factor")
    for name in sums:
        code(form.limits.saturate(name, form.shift + HIGH_SHIFT))
    if form.has_ends:
        _clamp(code, form.limits.ends, sums)


def load_ends(code: Routine, limits: Limits) -> None:
    """Loads the output's limits from the head."""
    for end in limits.ends:
        code(f"ldrh %{end}, [%head, #{_ENDS[end]}]")
        code(f"sub %{end}, %{end}, #128")
    code(f"put {_named(limits.ends)}")


def _named(ends: tuple[str, ...]) -> str:
    return ", ".join(f"%{end}" for end in ends)


def _clamp(code: Routine, ends: tuple[str, ...], levels: tuple[str, ...]) -> None:
    """Limits levels at these ends of the output."""
    code(f"get {_named(ends)}")
    for name in levels:
        for end in ends:
            code(f"cmp {name}, %{end}")
            code(f"it {dense_levels.CONDITIONS[end]}")
            code(f"mov{dense_levels.CONDITIONS[end]} {name}, %{end}")


class Levels:
    """How sums become levels for which no integer form is proved."""

    def __init__(self, code: Routine, form: Form):
        self.code, self.form = code, form

    def begin(self) -> None:
        """Loads the numbers of the head that all channels need."""

    def load(self) -> None:
        """Loads the numbers of a channel that follow its bias and factor."""

    def begin_channel(self) -> None:
        """Prepares the factor of a channel."""

    def __call__(self, sums: tuple[str, ...]) -> None:
        """Computes the levels of one or two outputs."""
        raise NotImplementedError


class FloatForm(Levels):
    """Sums become levels in float."""

    def begin(self) -> None:
        self.code("ldrsh %zero, [%head]")
        self.code("sub %zero, %zero, #128", "zero point")
        self.code("put %zero")

    def begin_channel(self) -> None:
        code = self.code
        code("bic %factor, %factor, #0x80000000")
        code("vmov %s.multiplier, %factor")
        code("get %zero")

    def __call__(self, sums: tuple[str, ...]) -> None:
        code, limits = self.code, self.form.limits
        cells = ("%s.value0", "%s.value1")[: len(sums)]
        code(f"vmov {', '.join((*cells, *sums))}")
        for operation in ("vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, %s.multiplier", "vcvtr.s32.f32 {0}, {0}"):
            for cell in cells:
                code(operation.format(cell))
        code(f"vmov {', '.join((*sums, *cells))}")
        for name in sums:
            code(f"qadd {name}, {name}, %zero")
            code(limits.saturate(name))
        if limits.is_more:
            _clamp(code, limits.ends, sums)


class _Curved(Levels):
    """Sums go through a function, whose words are as far from the head as the form says."""

    def begin(self) -> None:
        self.code.constant("%curve", 4 * self.form.distance)
        self.code("add %curve, %curve, %head", "the middle of the function's words")
        self.code("put %curve")


class CurvedLevels(_Curved):
    """Sums become levels by way of float32, a table of words and a carry."""

    def begin(self) -> None:
        self.code("vldmia %head, {%s.raised, %s.lowered}", "what numbers are raised and lowered by")
        super().begin()

    def load(self) -> None:
        self.code("vldmia %constants!, {%s.real_bias}")

    def begin_channel(self) -> None:
        self.code("vmov %s.multiplier, %factor")
        self.code("get %curve")

    def __call__(self, sums: tuple[str, ...]) -> None:
        code, cells = self.code, ("%s.value0", "%s.value1")[: len(sums)]
        code(f"vmov {', '.join((*cells, *sums))}")
        curved_levels.convert(code, [(cell, "%s.multiplier", "%s.real_bias") for cell in cells])
        code(f"vmov {', '.join((*sums, *cells))}")
        code("vmov %raised, %lowered, %s.raised, %s.lowered")
        for name in sums:
            code(f"qadd {name}, {name}, %raised")
            code(f"qsub {name}, {name}, %lowered")
        for name, entry in zip(sums, ("%x0", "%x1")):
            curved_levels.carry(code, self.form.curve, name, entry, "%curve")


class ProductLevels(_Curved):
    """Sums become levels by a product, a table of words and one product more."""

    def load(self) -> None:
        self.code("ldr %real_bias, [%constants], #4")
        self.code("put %real_bias")

    def __call__(self, sums: tuple[str, ...]) -> None:
        code, curve = self.code, self.form.curve
        left, bits = curve.head
        code("get %real_bias")
        for name in sums:
            code(f"lsl {name}, {name}, #{left}")
        for name in sums:
            code(f"smmla {name}, {name}, %factor, %real_bias")
        code("get %curve")
        for name in sums:
            code(f"usat {name}, #{bits}, {name}")
            curved_levels.follow(code, curve, name, "%x1", "%curve")
            code(f"lsr {name}, {name}, #16")


class FixedLevels(Levels):
    """Sums become levels by a fixed-point factor that rounds twice: arithmetic/fixed_form.py."""

    def load(self) -> None:
        self.code("ldrd %constant, %shift, [%constants], #8")
        self.code("put %constant, %shift")

    def begin_channel(self) -> None:
        self.code("bic %factor, %factor, #0x80000000")

    def __call__(self, sums: tuple[str, ...]) -> None:
        code = self.code
        code("get %constant, %shift")
        for name in sums:
            if not self.form.is_doubled:
                code(f"lsl {name}, {name}, #1")
            code(f"smmulr {name}, {name}, %factor")
            code(f"add {name}, {name}, {name}, asr #31")
            code(f"add {name}, {name}, %constant")
            code(f"asr {name}, {name}, %shift")
            code(self.form.limits.saturate(name))
        if self.form.limits.is_more:
            _clamp(code, self.form.limits.ends, sums)


class NearForm(Levels):
    """Sums become levels by a product of 64 bits, or by a function where this product may be wrong."""

    def __init__(self, code: Routine, form: Form):
        super().__init__(code, form)
        self.places = 0

    def begin(self) -> None:
        code = self.code
        code("put %head")
        if self.form.is_near:
            code("ldrsh %zero, [%head]")
            code("sub %zero, %zero, #128", "zero point")
            code.constant("%start", near_halves.START)
            code("put %start, %zero", "one half and a margin, zero point")

    def begin_channel(self) -> None:
        code = self.code
        code("bic %multiplier, %factor, #0x80000000")
        code("put %multiplier")
        if self.form.is_near:  # floor(multiplier * 2^32) of a float
            code("lsr %shift, %multiplier, #23", "exponent")
            code("rsb %shift, %shift, #126")
            code("lsl %factor, %multiplier, #8")
            code("orr %factor, %factor, #0x80000000")
            code("lsr %factor, %factor, %shift")

    def __call__(self, sums: tuple[str, ...]) -> None:
        for name in sums:
            self._level(name)

    def _level(self, name: str) -> None:
        code, exactly, limited = self.code, f"exactly{self.places}", f"limited{self.places}"
        self.places += 1
        code.behind(lambda: self._exactly(name, exactly, limited))
        if not self.form.is_near:
            code(f"b %{exactly}")
            code.label(limited)
            return
        code("get %start, %zero")
        code(f"smlal %start, %zero, {name}, %factor")
        code(f"lsrs %start, %start, #{near_halves.BAND_BITS}")
        code(f"beq %{exactly}", "near the middle of two levels")
        limits = self.form.limits
        if len(limits.ends) < 2:
            code(limits.saturate("%zero"))
        for end in limits.ends:
            _clamp(code, (end,), ("%zero",))
        code(f"mov {name}, %zero")
        code.label(limited)

    def _exactly(self, name: str, exactly: str, limited: str) -> None:
        """Calls a function near the middle of two levels. It changes registers, so the values in them wait on the stack."""
        code = self.code
        code.label(exactly)
        code("mov %next_words, %words")
        code("mov %next_output, %output")
        code("put %next_words, %next_output")
        code("put %bias, %factor" if self.form.is_near else "put %bias")
        code(f"mov %exact, {name}")
        code("get %multiplier")
        code("get %head")
        code.call("aidge_cortexm_round_sum", "%exact", "%multiplier", "%head", result="%level")
        code(f"mov {name}, %level")
        code("get %bias, %factor" if self.form.is_near else "get %bias")
        code("get %next_words, %next_output")
        code("mov %words, %next_words")
        code("mov %output, %next_output")
        code(f"b %{limited}")


def levels_of(code: Routine, form: Form) -> Levels:
    """Returns how sums become levels for which no integer form is proved."""
    if form.curve:
        return ProductLevels(code, form) if form.has_products else CurvedLevels(code, form)
    return (FixedLevels if form.is_fixed else FloatForm if form.has_fpu else NearForm)(code, form)
