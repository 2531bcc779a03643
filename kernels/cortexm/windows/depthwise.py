# SPDX-License-Identifier: MIT
"""Depthwise convolution in assembly: 4 channels are gathered into planes of pixel pairs, then computed one by one.

Weights are 256 times as large as the model's (they fit int16), so the sums carry 8 fraction bits, and zero point, rounding
and bias of the integer requantization are one exact constant. Two neighbouring outputs are computed together, or four; with
stride 1 the windows of two are in the same words, the second one a halfword further.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.assembly import Routine, Waiting
from ..core.offsets import plus
from ..sums import dense
from ..sums.dense import split_steps
from .depthwise_gather import gather_text
from .depthwise_groups import layer_text
from .depthwise_layout import FIXED_HEAD_WORDS, LARGEST_OFFSET, Depthwise
from .depthwise_levels import (
    CurvedLevels,
    FixedLevels,
    FloatForm,
    Form,
    NearForm,
    ProductLevels,
    integer_form,
    near_factor,
)
from .depthwise_sums import REGISTERS, SUMS, registers_of, sums
from .depthwise_weights import load_weights, place_for_weights, unpack_weights

LARGEST_STEP = 255  # by which a load or store of one number moves its pointer
WAITING = {  # in FPU registers; s2 and s3 are for the requantization
    "taps": 0,  # the weights that come next, if they are bytes
    "multiplier": 4,
    "zero": 5,
    "limits": 6,
    "words": 8,
    "output": 9,
    "constants": 10,
    "group_end": 11,
    "row_bytes": 12,
    "rows_end": 13,
    "row_end": 14,
    "real_bias": 7,
    "curve": 15,
    "bias": 1,  # of a channel, if four outputs are computed together
    "factor": 3,  # of the same, if weights are in registers
}
BAND_PARAMETERS = "const uint32_t *words, int8_t *output, const int32_t *constants, int32_t rows, const int32_t *head"


def texts(layer: Depthwise, form: Form) -> tuple[str, tuple[str, ...]]:
    """Name and texts of the layer's functions."""
    plane = layer.plane
    (height, width), pads = plane.kernel, plane.pads
    gather = f"aidge_cortexm_depthwise_gather_{plane.in_channels}x{plane.in_size[1]}_p{pads[1]}_w{layer.pairs}{layer.turn}"
    quads = form.together // 2 + 1
    gather += f"{'' if form.has_fpu else '_soft'}_u{quads}"
    band = (
        f"aidge_cortexm_depthwise_band_{plane.in_channels}x{plane.out_size[1]}_k{height}x{width}"
        f"_s{plane.strides[0]}x{plane.strides[1]}d{plane.dilations[0]}_w{layer.pairs}{layer.turn}{form.variant}"
        f"{'_single' * (plane.made_for[0] == 1)}"
    )
    name = band.replace("_band_", "_int8_") + f"_i{plane.in_size[1]}p{pads[1]}{'' if layer.is_one_band else '_bands'}"
    return name, (
        gather_text(layer, gather, form.has_fpu, quads),
        _band_text(layer, band, form),
        layer_text(layer, name, (gather, band), _BEGIN, _ARGUMENTS),
    )


_BEGIN = (
    "const int8_t *input, int8_t *output",
    "    const uint32_t fill = aidge_cortexm_even_bytes((uint32_t)stream[2]);",
    "",
)
_ARGUMENTS = "AIDGE_CORTEXM_HEAD_WORDS", "(uint32_t)stream[2]", "stream"


def _waiting(form: Form) -> Waiting:
    unneeded = [] if form.has_fpu else ["bias", "factor"]
    unneeded += [*(() if form.curve else ("real_bias", "curve")), *(() if form.are_bytes else ("taps",))]
    if not form.has_fpu and form.is_fixed and form.has_floats:
        unneeded += ["limits"] * (not form.limits.is_more)
        return Waiting(_without(unneeded), has_fpu=False)
    if form.has_fpu:
        return Waiting(_without(unneeded))
    unneeded += ["zero", "limits", *(() if form.has_floats else ("multiplier",))]
    on_stack = (*dense.near_words(form.has_floats, form.limits.is_more), "head") if form.has_floats else ()
    return Waiting(_without(unneeded), on_stack, False)


def _without(names: Sequence[str]) -> dict[str, int]:
    return {name: place for name, place in WAITING.items() if name not in names}


def _band_text(layer: Depthwise, name: str, form: Form) -> str:
    plane = layer.plane
    code = Routine(registers_of(layer), _waiting(form))
    if form.needs_head:
        code("ldr r12, [sp]", "head")
    code.begin()
    if form.needs_head:
        _load_head(code, form)
    rows = _Rows(code, layer, form)
    if not rows.stay:
        code.put("words", "r0, r1")
    place_for_weights(code, layer)
    code("mov r10, r2")
    _sum(code, "r5", "r2", 16 * layer.step_words)
    code.put("group_end", "r5")
    if layer.are_bytes:
        code.put("taps", "r5")
    if not rows.is_single:
        code.constant("r4", layer.out_steps[0])
        code("mul r4, r4, r3")
        code.put("row_bytes", "r4", "bytes of the output rows")
    code.label(1, "a channel")
    code("ldrd {bias}, {factor}, [r10], #8", "bias, multiplier")
    if layer.head_words == FIXED_HEAD_WORDS:
        code("ldrd {sum0}, {sum1}, [r10], #8", "constant, shift")
        code.put("multiplier", "{sum0}, {sum1}")
    if form.curve:
        code("ldr {sum0}, [r10], #4")
        code.put("real_bias", "{sum0}")
    if rows.fours:
        code.put("bias", "{bias}")
    if rows.fours and layer.in_registers:
        code.put("factor", "{factor}")
    load_weights(code, layer)
    code.put("constants", "r10")
    rows.begin()
    differ = form.is_mixed and not form.in_float  # weights, by whether they are scaled
    if not differ:
        unpack_weights(code, layer, is_scaled=form.has_integers or form.in_float)
    if form.is_mixed:
        code("cmp {factor}, #0")
        code("blt 5f", "the multiplier is not proved")
    if form.has_integers:
        if differ:
            unpack_weights(code, layer, is_scaled=True)
        rows.print(2, True)
    if form.is_mixed:
        code("b 8f")
        code.label(5)
    if form.has_floats:
        if not form.curve:
            code("bic {factor}, {factor}, #0x80000000")
        if not form.is_fixed and not form.has_products:
            code.put("multiplier", "{factor}")
        if form.in_float:
            code.get("{factor}", "zero")
            code("sxth {factor}, {factor}")
            code("sub {factor}, {factor}, #128", "zero point")
        elif form.curve and not form.has_products:
            code.get("{factor}", "curve")
        elif form.is_near and not form.is_fixed:
            near_factor(code)
        if differ:
            unpack_weights(code, layer, is_scaled=False)
        rows.print(6, False)
    if form.is_mixed:
        code.label(8)
    rows.to_next_channel()
    code.get("r10, r11", "constants")
    code("cmp r10, r11")
    code("bne 1b")
    code.end()
    return code.function(name, BAND_PARAMETERS, f"Output rows of 4 channels, window {plane.kernel[0]}x{plane.kernel[1]}.")


def _other_form(form: Form) -> type[CurvedLevels | FixedLevels | FloatForm | NearForm | ProductLevels]:
    """Of sums of which no integer form is proved."""
    if form.curve:
        return ProductLevels if form.has_products else CurvedLevels
    return FixedLevels if form.is_fixed else FloatForm if form.has_fpu else NearForm


def _load_head(code: Routine, form: Form) -> None:
    """What the stream says of the output, from r12."""
    if form.has_fpu:
        code("vldmia r12, {{s5-s6}}", "zero point, limits")
        if form.curve:
            code.constant("r4", 4 * form.distance)
            code("add r12, r12, r4")
            code.put("curve", "r12", "the middle of the function's words")
    elif form.is_fixed and form.has_floats and form.limits.is_more:
        code("ldr r4, [r12, #4]", "limits")
        code.put("limits", "r4")
    elif form.has_floats and not form.is_fixed:
        code.put("head", "r12")
        dense.head_to_stack(code, ("r4", "r5", "r6"), "ldrd r4, r5, [r12]", form.limits.is_more)


def _together(layer: Depthwise, form: Form, is_integer: bool) -> int:
    """Pairs of outputs in the text of proved channels, or of the others."""
    is_one = not is_integer and (form.is_mixed or not (form.has_fpu or form.is_fixed))
    return 1 if is_one else min(form.together, layer.most_together)


def _has_fours(layer: Depthwise, form: Form, is_integer: bool) -> bool:
    """Whether four outputs of such channels are computed together, which share loads. Bias and, if weights are in registers,
    factor then wait in FPU registers, which costs a few outputs more than they gain."""
    pairs = layer.plane.out_size[1] // 2
    may = form.has_fpu and min(_together(layer, form, is_integer), pairs) > 1
    return may and (not layer.in_registers or is_integer and (pairs % 2 == 0 or pairs > 4))


def block(layer: Depthwise, form: Form) -> str:
    """What most channels compute together."""
    return f"{4 if _has_fours(layer, form, form.has_integers) else 2} pixels x 1 channel"


class _Rows:
    """The output rows of one channel; with a single row there is no loop over them."""

    def __init__(self, code: Routine, layer: Depthwise, form: Form):
        self.code, self.layer, self.form = code, layer, form
        self.rounded = _other_form(form)(code, form)
        self.is_single = layer.plane.made_for[0] == 1
        self.pairs, self.is_odd = divmod(layer.plane.out_size[1], 2)
        loops = [True] * form.has_integers + [False] * form.has_floats
        self.fours = [is_integer for is_integer in loops if _has_fours(layer, form, is_integer)]
        self.stay = self.is_single and not any(self._split(is_integer)[1] for is_integer in loops)  # what words and output are
        self.moves = not self.stay and (4 if self.fours else 2) * layer.out_steps[1] <= LARGEST_STEP  # stores move the output
        self.unstored: tuple[int, int] | None = None  # so many levels, and their byte from the output on

    def _split(self, is_integer: bool) -> tuple[int, int, int]:
        """Pairs of outputs ahead of a loop, in it, and behind it."""
        unit = 2 if is_integer in self.fours else 1
        units, rest = divmod(self.pairs, unit)
        ahead, body = split_steps(units, _together(self.layer, self.form, is_integer) // unit, start=0)
        if body:
            return ahead * unit, body * unit, rest
        reaches = self.pairs + self.is_odd <= self.layer.most_together  # from where a row begins
        return (self.pairs, 0, 0) if reaches or not units else (0, units * unit, rest)

    def begin(self) -> None:
        """Where the rows end waits."""
        if not self.is_single:
            self.code.get("r11", "row_bytes")
            self.code("add r11, {output}, r11")
            self.code.put("rows_end", "r11")

    def to_next_channel(self) -> None:
        """Words and output."""
        code = self.code
        if not self.stay:
            code.get("r0, r1", "words")
        plus(code, "r0", 4 * self.layer.pairs)
        code("adds r1, r1, #1")
        if not self.stay:
            code.put("words", "r0, r1")

    def print(self, label: int, is_integer: bool) -> None:
        """The rows of proved channels, or of the others; labels `label` and `label + 1`."""
        code, layer, plane = self.code, self.layer, self.layer.plane
        pair_bytes, (row_step, pixel_step) = 4 * plane.strides[1], layer.out_steps
        ahead, body, rest = self._split(is_integer)
        pairs = self.pairs - rest
        row = 4 * plane.strides[0] * layer.row_words
        moved = 0 if self.is_single or body or row > LARGEST_STEP else row  # by the first load of a row
        code.align()
        if not self.is_single:
            code.label(label, "an output row")
        if body:
            _sum(code, REGISTERS["x0"], REGISTERS["words"], pairs * pair_bytes)
            code.put("row_end", "{x0}")
        at_words, at_output = self._pairs(ahead, ahead * pair_bytes if body else moved, is_integer)
        if body:
            self._store()
            plus(code, "r1", at_output)
            code.align()
            code.label(label + 1, f"{2 * body} outputs")
            _, at_output = self._pairs(body, body * pair_bytes, is_integer)
            self._store()
            plus(code, "r1", at_output)
            self._compare("words", "row_end")
            code(f"bne {label + 1}b")
            at_words, at_output = self._pairs(rest, 0, is_integer)
        if self.is_odd:
            self._outputs(1, at_words, moved if self.pairs == 0 else 0, at_output, is_integer)
        self._store()
        if self.is_single:
            return
        plus(code, "r0", row - (pairs * pair_bytes if body else moved))
        plus(code, "r1", row_step - pixel_step * (plane.out_size[1] if self.moves else 2 * pairs if body else 0))
        self._compare("output", "rows_end")
        code(f"bne {label}b")

    def _pairs(self, count: int, advance: int, is_integer: bool) -> tuple[int, int]:
        """Pairs of outputs, of which the first load moves the words by `advance`. Returns how far behind the pointers the next
        activations and outputs are."""
        pair_bytes, outputs = 4 * self.layer.plane.strides[1], 0 if self.moves else 2 * self.layer.out_steps[1]
        together = 2 if is_integer in self.fours else 1
        for pair in range(0, count, together):
            moved, first = (advance, 0) if pair else (0, advance)
            self._outputs(2 * min(together, count - pair), pair * pair_bytes - moved, first, pair * outputs, is_integer)
        return count * pair_bytes - (advance if count else 0), count * outputs

    def _outputs(self, count: int, at_words: int, advance: int, at_output: int, is_integer: bool) -> None:
        """1, 2 or 4 outputs. The levels of the ones before leave behind the first load: a load right behind a store takes a
        cycle more."""
        has_fours = is_integer in self.fours

        def begin() -> None:
            self._store()
            if has_fours:  # the bias is in the register of the last sum
                self.code.get("{bias}", "bias")

        sums(self.code, self.layer, count, at_words, True, advance, begin)
        if is_integer:
            factor = "x0" if has_fours and self.layer.in_registers else "factor"
            if factor == "x0" and not self.form.is_even:
                self.code.get("{x0}", "factor")
            integer_form(self.code, self.form, SUMS[:count], factor)
        else:
            for first in range(0, count, 2):
                self.rounded(SUMS[first : min(first + 2, count)])
        self.unstored = count, at_output

    def _store(self) -> None:
        """The levels that still are in registers; the output moves behind them, or stays. Stores of 32 bits keep the text
        aligned: some cores wait for instructions that are not."""
        if self.unstored is None:
            return
        (count, place), self.unstored, step = self.unstored, None, self.layer.out_steps[1]
        for number in reversed(range(count)):
            moves = self.moves and number == 0
            at = f"], #{count * step}" if moves else f", #{place * (not self.moves) + number * step}]"
            self.code(f"strb.w {{{SUMS[number]}}}, [{{output}}{at}")

    def _compare(self, register: str, end: str) -> None:
        self.code.get("{x0}", end)
        self.code(f"cmp {{{register}}}, {{x0}}")


def _sum(code: Routine, register: str, start: str, value: int) -> None:
    """A register and a number in another register, which may not be the same."""
    if value <= LARGEST_OFFSET:
        code(f"addw {register}, {start}, #{value}")
    else:
        code.constant(register, value)
        code(f"add {register}, {register}, {start}")
