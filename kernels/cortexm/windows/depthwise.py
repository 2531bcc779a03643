# SPDX-License-Identifier: MIT
"""Depthwise convolution in assembly: 4 channels are gathered into planes of pixel pairs, then computed one by one.

Weights are 256 times as large as the model's (they fit int16), so the sums carry 8 fraction bits, and zero point, rounding
and bias of the integer requantization are one exact constant. Two neighbouring outputs are computed together, or four; with
stride 1 the windows of two are in the same words, the second one a halfword further.
"""

from __future__ import annotations

from ..core.assembly import Routine
from ..core.offsets import plus
from ..sums.dense import split_steps
from .depthwise_gather import gather_text
from .depthwise_groups import layer_text
from .depthwise_layout import LARGEST_OFFSET, Depthwise
from .depthwise_levels import Form, Levels, integer_form, levels_of, load_ends
from .depthwise_sums import KEPT, SUMS, sums
from .depthwise_weights import load_weights, place_for_weights, unpack_weights

LARGEST_STEP = 255  # by which a load or store of one number moves its pointer
BAND_PARAMETERS = "const uint32_t *words, int8_t *output, const int32_t *constants, int32_t rows, const int32_t *head"


def texts(layer: Depthwise, form: Form) -> tuple[str, tuple[str, ...]]:
    """Name and texts of the layer's functions."""
    plane = layer.plane
    (height, width), pads = plane.kernel, plane.pads
    quads = form.together // 2 + 1
    gather = (
        f"aidge_cortexm_depthwise_gather_{plane.in_channels}x{plane.in_size[1]}_p{pads[1]}_w{layer.pairs}{layer.turn}_u{quads}"
    )
    band = (
        f"aidge_cortexm_depthwise_band_{plane.in_channels}x{plane.out_size[1]}_k{height}x{width}"
        f"_s{plane.strides[0]}x{plane.strides[1]}d{plane.dilations[0]}_w{layer.pairs}{layer.turn}{form.variant}"
        f"{'_single' * (plane.made_for[0] == 1)}"
    )
    name = band.replace("_band_", "_int8_") + f"_i{plane.in_size[1]}p{pads[1]}{'' if layer.is_one_band else '_bands'}"
    return name, (
        gather_text(layer, gather, quads),
        _band_text(layer, band, form),
        layer_text(layer, name, (gather, band), _BEGIN, _ARGUMENTS),
    )


_BEGIN = (
    "const int8_t *input, int8_t *output",
    "    const uint32_t fill = aidge_cortexm_even_bytes((uint32_t)stream[2]);",
    "",
)
_ARGUMENTS = "AIDGE_CORTEXM_HEAD_WORDS", "(uint32_t)stream[2]", "stream"


def _band_text(layer: Depthwise, name: str, form: Form) -> str:
    code = Routine()
    code("%enter.floats" if form.has_fpu else "%enter")
    if form.has_fpu:
        code(KEPT)
    _Band(code, layer, form).print()
    code("%leave")
    code.print_behind()
    height, width = layer.plane.kernel
    return code.function(name, BAND_PARAMETERS, f"Output rows of 4 channels, window {height}x{width}.")


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
    """The outputs that most channels compute together."""
    return f"{4 if _has_fours(layer, form, form.has_integers) else 2} pixels x 1 channel"


class _Band:
    """The output rows of 4 channels, one channel after the other."""

    def __init__(self, code: Routine, layer: Depthwise, form: Form):
        self.code, self.layer, self.form = code, layer, form
        self.levels = levels_of(code, form)
        self.rows = _Rows(code, layer, form, self.levels)

    def print(self) -> None:
        """Prints all channels."""
        code = self.code
        self._begin()
        code.label("channel")
        self._load()
        self.rows.begin()
        if self.form.is_mixed:
            self._either()
        else:
            is_integer = self.form.has_integers
            unpack_weights(code, self.layer, is_scaled=is_integer or self.form.in_float)
            if not is_integer:
                self.levels.begin_channel()
            self.rows.print("", is_integer)
        self.rows.to_next_channel()
        code("get %constants, %group_end")
        code("cmp %constants, %group_end")
        code("bne %channel")

    def _begin(self) -> None:
        """Prepares the numbers that all channels need."""
        code, layer, form = self.code, self.layer, self.form
        if form.needs_head:
            code("ldr %head, [%argument.4]")
            if form.limits.is_more:
                load_ends(code, form.limits)
        if form.has_floats:
            self.levels.begin()
        if not self.rows.stay:
            code("put %words, %output")
        place_for_weights(code, layer)
        _sum(code, "%group_end", "%constants", 16 * layer.step_words)
        if layer.are_bytes:
            code("mov %taps, %group_end")
            code("put %taps")
        code("put %group_end")
        if not self.rows.is_single:
            code.constant("%row_bytes", layer.out_steps[0])
            code("mul %row_bytes, %row_bytes, %rows")
            code("put %row_bytes", "bytes of the output rows")

    def _load(self) -> None:
        """Loads a channel from the stream."""
        code, layer, rows = self.code, self.layer, self.rows
        code("ldrd %bias, %factor, [%constants], #8", "bias, multiplier")
        if self.form.has_floats:
            self.levels.load()
        if rows.fours:
            code("put %bias")
        if rows.fours and layer.in_registers:
            code("put %factor")
        load_weights(code, layer)
        code("put %constants")

    def _either(self) -> None:
        """Prints the rows of a channel that is proved, and the rows of another one."""
        code, layer, form = self.code, self.layer, self.form
        differ = not form.in_float  # weights, by whether they are scaled
        if not differ:
            unpack_weights(code, layer, is_scaled=True)
        code("cmp %factor, #0")
        code("blt %other", "the multiplier is not proved")
        if differ:
            unpack_weights(code, layer, is_scaled=True)
        self.rows.print("proved_", True)
        code("b %computed")
        code.label("other")
        self.levels.begin_channel()
        if differ:
            unpack_weights(code, layer, is_scaled=False)
        self.rows.print("", False)
        code.label("computed")


class _Rows:
    """The output rows of one channel; with a single row there is no loop over them."""

    def __init__(self, code: Routine, layer: Depthwise, form: Form, levels: Levels):
        self.code, self.layer, self.form, self.levels = code, layer, form, levels
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
        """Lets the end of the rows wait."""
        if not self.is_single:
            self.code("get %row_bytes")
            self.code("add %rows_end, %output, %row_bytes")
            self.code("put %rows_end")

    def to_next_channel(self) -> None:
        """Moves words and output."""
        code = self.code
        if not self.stay:
            code("get %words, %output")
        plus(code, "%words", 4 * self.layer.pairs)
        code("adds %output, %output, #1")
        if not self.stay:
            code("put %words, %output")

    def print(self, label: str, is_integer: bool) -> None:
        """The rows of proved channels, or of the others; `label`: what the names of labels begin with."""
        code, layer, plane = self.code, self.layer, self.layer.plane
        pair_bytes, (row_step, pixel_step) = 4 * plane.strides[1], layer.out_steps
        ahead, body, rest = self._split(is_integer)
        pairs = self.pairs - rest
        row = 4 * plane.strides[0] * layer.row_words
        moved = 0 if self.is_single or body or row > LARGEST_STEP else row  # by the first load of a row
        code.align()
        if not self.is_single:
            code.label(f"{label}row")
        if body:
            _sum(code, "%row_end", "%words", pairs * pair_bytes)
            code("put %row_end")
        at_words, at_output = self._pairs(ahead, ahead * pair_bytes if body else moved, is_integer)
        if body:
            self._store()
            plus(code, "%output", at_output)
            code.align()
            code.label(f"{label}outputs", f"{2 * body}")
            _, at_output = self._pairs(body, body * pair_bytes, is_integer)
            self._store()
            plus(code, "%output", at_output)
            self._compare("words", "row_end")
            code(f"bne %{label}outputs")
            at_words, at_output = self._pairs(rest, 0, is_integer)
        if self.is_odd:
            self._outputs(1, at_words, moved if self.pairs == 0 else 0, at_output, is_integer)
        self._store()
        if self.is_single:
            return
        plus(code, "%words", row - (pairs * pair_bytes if body else moved))
        plus(code, "%output", row_step - pixel_step * (plane.out_size[1] if self.moves else 2 * pairs if body else 0))
        self._compare("output", "rows_end")
        code(f"bne %{label}row")

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
                self.code("get %bias")

        sums(self.code, self.layer, count, at_words, True, advance, begin)
        if is_integer:
            if has_fours and self.layer.in_registers and not self.form.is_even:
                self.code("get %factor")
            integer_form(self.code, self.form, SUMS[:count])
        else:
            for first in range(0, count, 2):
                self.levels(SUMS[first : min(first + 2, count)])
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
            self.code(f"strb.w {SUMS[number]}, [%output{at}")

    def _compare(self, value: str, end: str) -> None:
        self.code(f"get %{end}")
        self.code(f"cmp %{value}, %{end}")


def _sum(code: Routine, total: str, start: str, number: int) -> None:
    """A value and a number."""
    if number <= LARGEST_OFFSET:
        code(f"addw {total}, {start}, #{number}")
    else:
        code.constant(total, number)
        code(f"add {total}, {total}, {start}")
