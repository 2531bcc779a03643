# SPDX-License-Identifier: MIT
"""Depthwise convolution in assembly: 4 channels are gathered into planes of pixel pairs, then computed one by one.

Weights are 256 times as large as the model's (they fit int16), so the sums carry 8 fraction bits, and zero point, rounding
and bias of the integer requantization are one exact constant. Two neighbouring outputs are computed together; with stride 1
their windows lie in the same words, the second one a halfword further.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aidge_build.arithmetic import near_halves
from aidge_build.kernel_kit.linear_int8 import HIGH_SHIFT

from . import dense
from .assembly import Routine, Waiting
from .dense import split_steps
from .depthwise_gather import gather_text
from .depthwise_layout import LARGEST_OFFSET, Depthwise, places

REGISTERS = {
    "words": "r0",
    "output": "r1",
    "sum0": "r2",
    "sum1": "r3",
    "x0": "r10",
    "x1": "r11",
    "factor": "r12",
    "end": "lr",
    "weights": "r6",
    **{f"w{index}": f"r{4 + index}" for index in range(6)},
}
WAITING = {  # in FPU registers; s2 and s3 are for the requantization
    "bias": 0,
    "bias_again": 1,
    "multiplier": 4,
    "zero": 5,
    "limits": 6,
    "words": 8,
    "output": 9,
    "constants": 10,
    "group_end": 11,
    "row_bytes": 12,
    "rows_end": 13,
}
LARGEST_PAIR_OFFSET = 1020  # of a load of two words
BAND_PARAMETERS = "const uint32_t *words, int8_t *output, const int32_t *constants, int32_t rows, const int32_t *head"


@dataclass(frozen=True)
class Form:
    """How sums become outputs, and at most how many pairs of outputs stand in the text. `is_near` as of a Stream."""

    shift: int
    is_clamped: bool
    has_integers: bool
    has_floats: bool
    together: int
    has_fpu: bool
    is_near: bool

    @property
    def is_mixed(self) -> bool:
        return self.has_integers and self.has_floats

    @property
    def variant(self) -> str:
        """What the text depends on, for its name."""
        kind = "" if self.is_mixed else "_integer" if self.has_integers else "_float"
        core = "" if self.has_fpu else "_soft" if self.is_near else "_soft_exact"
        return f"_s{self.shift}{'_clamped' if self.is_clamped else ''}{kind}{core}_u{self.together}"


def texts(layer: Depthwise, form: Form) -> tuple[str, tuple[str, ...]]:
    """Name and texts of the layer's functions."""
    plane = layer.plane
    (height, width), pads = plane.kernel, plane.pads
    gather = f"aidge_cortexm_depthwise_gather_{plane.in_channels}x{plane.in_size[1]}_p{pads[1]}_w{layer.pairs}"
    gather += "" if form.has_fpu else "_soft"
    band = (
        f"aidge_cortexm_depthwise_band_{plane.in_channels}x{plane.out_size[1]}_k{height}x{width}"
        f"_s{plane.strides[0]}x{plane.strides[1]}d{plane.dilations[0]}_w{layer.pairs}{form.variant}"
        f"{'_single' if plane.out_size[0] == 1 else ''}"
    )
    name = band.replace("_band_", "_int8_") + f"_i{plane.in_size[1]}p{pads[1]}{'' if layer.is_one_band else '_bands'}"
    return name, (gather_text(layer, gather, form.has_fpu), _band_text(layer, band, form), _layer_text(layer, name, gather, band))


_BANDS = """\
            for (y = 0; y < shape->out_height; y += shape->band) {{
                const int32_t left = shape->out_height - y;
                const int32_t lines = left < shape->band ? left : shape->band;
                const aidge_cortexm_band band = aidge_cortexm_band_of(shape, words, fill, y, lines);
                if (band.count > 0) {{
                    {gather}(input + band.source + group[0], band.target, band.count, (uint32_t)stream[2]);
                }}
                {band}(words, output + y * shape->out_width * shape->channels + group[0], group + 1, lines, stream);
            }}"""
_ONE_BAND = """\
            {gather}(input + whole.source + group[0], whole.target, whole.count, (uint32_t)stream[2]);
            {band}(words, output + group[0], group + 1, shape->out_height, stream);"""


def _layer_text(layer: Depthwise, name: str, gather: str, band: str) -> str:
    """With one band the rows outside the image are filled once: no group of channels writes there."""
    once = "        const aidge_cortexm_band whole = aidge_cortexm_band_of(shape, words, fill, 0, shape->out_height);\n"
    once = once if layer.is_one_band else ""
    return f"""/* All groups of 4 channels{"" if layer.is_one_band else ", band by band"}. */
static void {name}(
    const int8_t *input, int8_t *output, const int32_t *stream, void *scratch, const aidge_cortexm_depthwise *shape)
{{
    uint32_t *const words = (uint32_t *)scratch;
    const uint32_t fill = aidge_cortexm_even_bytes((uint32_t)stream[2]);
    const int32_t *const end = stream + shape->stream_words;
    const int32_t *group;
    int32_t batch{"" if layer.is_one_band else ", y"};
    for (batch = 0; batch < shape->batches; batch++) {{
{once}        for (group = stream + AIDGE_CORTEXM_HEAD_WORDS; group != end; group += shape->group_words) {{
{(_ONE_BAND if layer.is_one_band else _BANDS).format(gather=gather, band=band)}
        }}
        input += shape->in_height * shape->in_width * shape->channels;
        output += shape->out_height * shape->out_width * shape->channels;
    }}
}}"""


def _waiting(form: Form) -> Waiting:
    if form.has_fpu:
        return Waiting(WAITING)
    unneeded = ("zero", "limits") if form.has_floats else ("zero", "limits", "multiplier")
    places = {name: place for name, place in WAITING.items() if name not in unneeded}
    return Waiting(places, (*dense.near_words(form.has_floats, form.is_clamped), "head")[: None if form.has_floats else 0], False)


def _band_text(layer: Depthwise, name: str, form: Form) -> str:
    plane = layer.plane
    code = Routine(REGISTERS, _waiting(form))
    code("ldr r12, [sp]", "head")
    code.begin()
    _load_head(code, form)
    code.put("words", "r0, r1")
    code("mov r10, r2")
    code.constant("r5", 16 * (2 + layer.weight_words))
    code("add r5, r5, r10")
    code.put("group_end", "r5")
    code.constant("r4", plane.out_size[1] * plane.in_channels)
    code("mul r4, r4, r3")
    code.put("row_bytes", "r4", "bytes of the output rows")
    code.label(1, "a channel")
    code("ldrd r11, {factor}, [r10], #8", "bias, multiplier")
    if layer.in_registers:
        code(f"ldm r10!, {{{{r4-r{3 + layer.weight_words}}}}}" if layer.weight_words > 1 else "ldr r4, [r10], #4")
    else:
        code("mov {weights}, r10")
        _plus(code, "r10", 4 * layer.weight_words)
    code.put("constants", "r10")
    code.put("bias", "r11, r11")
    code.get("{words}, {output}", "words")
    rows = _Rows(code, layer)
    rounded = _FloatForm(code, form) if form.has_fpu else _NearForm(code, form)
    rows.begin()
    if form.is_mixed:
        code("cmp {factor}, #0")
        code("blt 5f", "the multiplier is a float")
    if form.has_integers:
        rows.print(
            2,
            form.together,
            lambda two, pair: _integer_form(code, form.shift, two, 2 * pair * plane.in_channels, plane.in_channels),
        )
    if form.is_mixed:
        code("b 8f")
        code.label(5)
    if form.has_floats:
        code("bic {factor}, {factor}, #0x80000000")
        code.put("multiplier", "{factor}")
        if form.has_fpu:
            code.get("{factor}", "zero")
            code("sxth {factor}, {factor}")
            code("sub {factor}, {factor}, #128", "zero point")
        elif form.is_near:
            _near_factor(code)
        rows.print(
            6,
            1 if form.is_mixed or not form.has_fpu else form.together,
            lambda two, pair: rounded(two, 2 * pair * plane.in_channels, plane.in_channels),
        )
    if form.is_mixed:
        code.label(8)
    code.get("r0, r1", "words")
    code.get("r10, r11", "constants")
    _plus(code, "r0", 4 * layer.pairs)
    code("adds r1, r1, #1")
    code.put("words", "r0, r1")
    code("cmp r10, r11")
    code("bne 1b")
    code.end()
    table = ", ".join(map(str, places(layer)))
    numbers = (
        plane.in_channels,
        plane.out_size[1],
        *plane.kernel,
        *plane.strides,
        plane.dilations[0],
        layer.row_words,
        layer.pairs,
        layer.weight_words,
    )
    portable = (
        f"static const int16_t places[] = {{{table}}};\n"
        f"    const aidge_cortexm_depthwise_geometry geometry = {{{', '.join(map(str, numbers))}, places}};\n"
        f"    aidge_cortexm_depthwise_band(words, output, constants, rows, head, &geometry, {form.shift});"
    )
    return code.function(
        name, BAND_PARAMETERS, f"Output rows of 4 channels, window {plane.kernel[0]}x{plane.kernel[1]}.", portable
    )


def _load_head(code: Routine, form: Form) -> None:
    """What the stream says of the output, from r12."""
    if form.has_fpu:
        code("vldmia r12, {{s5-s6}}", "zero point, limits")
    elif form.has_floats:
        code.put("head", "r12")
        dense.head_to_stack(code, ("r4", "r5", "r6"), "ldrd r4, r5, [r12]", form.is_clamped)


def _near_factor(code: Routine) -> None:
    """floor(multiplier * 2^32) of a float."""
    code("lsr {x0}, {factor}, #23", "exponent")
    code("rsb {x0}, {x0}, #126")
    code("lsl {factor}, {factor}, #8")
    code("orr {factor}, {factor}, #0x80000000")
    code("lsr {factor}, {factor}, {x0}")


def _plus(code: Routine, register: str, value: int) -> None:
    while value > 0:
        part = min(value, LARGEST_OFFSET)
        code(f"addw {register}, {register}, #{part}")
        value -= part
    while value < 0:
        part = min(-value, LARGEST_OFFSET)
        code(f"subw {register}, {register}, #{part}")
        value += part


class _Rows:
    """The output rows of one channel; with a single row there is no loop over them."""

    def __init__(self, code: Routine, layer: Depthwise):
        self.code, self.layer = code, layer
        self.is_single = layer.plane.out_size[0] == 1

    def begin(self) -> None:
        """Where the rows end waits; the end of a row without a loop stays in a register, too."""
        if not self.is_single:
            self.code.get("r11", "row_bytes")
            self.code("add {end}, {output}, r11")
            self.code.put("rows_end", "{end}")

    def print(self, label: int, together: int, requantize: Callable[[bool, int], None]) -> None:
        """The rows, with at most `together` pairs of outputs in the text; labels `label` and `label + 1`."""
        code, layer, plane = self.code, self.layer, self.layer.plane
        pair_bytes, channels = 4 * plane.strides[1], plane.in_channels
        pairs = plane.out_size[1] // 2
        ahead, body = split_steps(pairs, min(together, layer.most_together), start=0)
        done = ahead
        if not self.is_single:
            code.label(label, "an output row")
        if body:
            _end_of_row(code, pairs * pair_bytes)
        for pair in range(ahead):
            _sums(code, layer, True, pair * pair_bytes)
            requantize(True, pair)
        if body:
            _plus(code, "r0", ahead * pair_bytes)
            _plus(code, "r1", 2 * ahead * channels)
            code.label(label + 1, f"{2 * body} outputs")
            for pair in range(body):
                _sums(code, layer, True, pair * pair_bytes)
                requantize(True, pair)
            _plus(code, "r0", body * pair_bytes)
            _plus(code, "r1", 2 * body * channels)
            code("cmp {words}, {end}")
            code(f"bne {label + 1}b")
            done = 0
        if plane.out_size[1] % 2:
            _sums(code, layer, False, done * pair_bytes)
            requantize(False, done)
        if self.is_single:
            return
        _plus(code, "r0", 4 * plane.strides[0] * layer.row_words - (pairs - done) * pair_bytes)
        _plus(code, "r1", (plane.out_size[1] - 2 * (pairs - done)) * channels)
        if body:
            code.get("{end}", "rows_end")
        code("cmp {output}, {end}")
        code(f"bne {label}b")


def _end_of_row(code: Routine, size: int) -> None:
    if size <= LARGEST_OFFSET:
        code(f"addw {{end}}, {{words}}, #{size}")
    else:
        code.constant("{end}".format_map(REGISTERS), size)
        code("add {end}, {end}, {words}")


def _sums(code: Routine, layer: Depthwise, two: bool, place: int) -> None:
    """The sums of two neighbouring outputs (or of the first of them), whose activations begin at byte `place`."""
    code.get("{sum0}, {sum1}" if two else "{sum0}", "bias")
    for row in range(layer.plane.kernel[0]):
        start = place + 4 * row * layer.plane.dilations[0] * layer.row_words
        weights = row * layer.row_weights
        if layer.overlaps:
            _load(code, ("x0", "x1"), start)
            code(f"smlad {{sum0}}, {{x0}}, {{w{weights}}}, {{sum0}}")
            if two:
                code(f"smlatb {{sum1}}, {{x0}}, {{w{weights}}}, {{sum1}}")
            code(f"smlabt {{sum0}}, {{x1}}, {{w{weights + 1}}}, {{sum0}}")
            if two:
                code(f"smlad {{sum1}}, {{x1}}, {{w{weights + 1}}}, {{sum1}}")
        elif layer.wide_stride:
            _strided_row(code, layer, start, weights, two)
        else:
            _dense_row(code, layer, start, weights, two)


def _load(code: Routine, registers: tuple[str, ...], offset: int) -> None:
    if len(registers) == 2 and offset <= LARGEST_PAIR_OFFSET:
        code(f"ldrd {{{registers[0]}}}, {{{registers[1]}}}, [{{words}}, #{offset}]")
    else:
        for index, register in enumerate(registers):
            code(f"ldr {{{register}}}, [{{words}}, #{offset + 4 * index}]")


def _dense_row(code: Routine, layer: Depthwise, start: int, weights: int, two: bool) -> None:
    for word in range(layer.steps):
        if word % 2 == 0:
            _load(code, ("x0", "x1")[: layer.steps - word], start + 4 * word)
        even, odd = f"w{weights + 2 * word}", f"w{weights + 2 * word + 1}"
        if not layer.in_registers:
            even, odd = "w0", "w1"
            _load_weights(code, 4 * (weights + 2 * word), 2)
        code(f"smlad {{sum0}}, {{x{word % 2}}}, {{{even}}}, {{sum0}}")
        if two:
            code(f"smlad {{sum1}}, {{x{word % 2}}}, {{{odd}}}, {{sum1}}")


def _strided_row(code: Routine, layer: Depthwise, start: int, weights: int, two: bool) -> None:
    words = layer.steps + int(two)
    for word in range(words):
        if word % 2 == 0:
            _load(code, ("x0", "x1")[: words - word], start + 4 * word)
        # the word meets the weights of this step for the first output, and those of the step before for the second
        current, before = f"w{word % 2}", f"w{(word + 1) % 2}"
        if layer.in_registers:
            current, before = f"w{weights + word}", f"w{weights + word - 1}"
        if word < layer.steps:
            if not layer.in_registers:
                code(f"ldr {{{current}}}, [{{weights}}, #{4 * (weights + word)}]")
            code(f"smlad {{sum0}}, {{x{word % 2}}}, {{{current}}}, {{sum0}}")
        if two and word:
            code(f"smlad {{sum1}}, {{x{word % 2}}}, {{{before}}}, {{sum1}}")


def _load_weights(code: Routine, offset: int, count: int) -> None:
    if offset <= LARGEST_PAIR_OFFSET:
        code(f"ldrd {{w0}}, {{w1}}, [{{weights}}, #{offset}]")
    else:
        for index in range(count):
            code(f"ldr {{w{index}}}, [{{weights}}, #{offset + 4 * index}]")


def _integer_form(code: Routine, shift: int, two: bool, place: int, channels: int) -> None:
    sums = ("sum0", "sum1")[: 1 + two]
    for name in sums:
        code(f"smmul {{{name}}}, {{{name}}}, {{factor}}")
    for name in sums:
        code(f"ssat {{{name}}}, #8, {{{name}}}, asr #{shift + HIGH_SHIFT}")
    _store(code, two, place, channels)


class _FloatForm:
    """Sums become outputs in float."""

    def __init__(self, code: Routine, form: Form):
        self.code, self.is_clamped = code, form.is_clamped

    def __call__(self, two: bool, place: int, channels: int) -> None:
        """Of two outputs, or of the first."""
        code = self.code
        sums, cells = ("sum0", "sum1")[: 1 + two], ("s2", "s3")[: 1 + two]
        code("vmov s2, s3, {sum0}, {sum1}" if two else "vmov s2, {sum0}")
        for operation in ("vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, s4", "vcvtr.s32.f32 {0}, {0}"):
            for cell in cells:
                code(operation.format(cell))
        code("vmov {sum0}, {sum1}, s2, s3" if two else "vmov {sum0}, s2")
        for name in sums:
            code(f"qadd {{{name}}}, {{{name}}}, {{factor}}")
            code(f"ssat {{{name}}}, #8, {{{name}}}")
        if self.is_clamped:
            code.get("{x0}", "limits")
            code("asr {x1}, {x0}, #16")
            code("sxth {x0}, {x0}")
            code("sub {x1}, {x1}, #128")
            code("sub {x0}, {x0}, #128")
            for name in sums:
                for limit, condition in (("x0", "lt"), ("x1", "gt")):
                    code(f"cmp {{{name}}}, {{{limit}}}")
                    code(f"it {condition}")
                    code(f"mov{condition} {{{name}}}, {{{limit}}}")
        _store(code, two, place, channels)


class _NearForm:
    """Sums become outputs by a product of 64 bits, or where that says that it may be wrong by a function in C."""

    FIRST_LABEL = 20

    def __init__(self, code: Routine, form: Form):
        self.code, self.form, self.places = code, form, 0

    def __call__(self, two: bool, place: int, channels: int) -> None:
        """Of two outputs, or of the first."""
        for number, name in enumerate(("sum0", "sum1")[: 1 + two]):
            self._level(name)
            dense.limit(self.code, self.form.is_clamped)
            self.code(f"strb {{x1}}, [{{output}}, #{place + number * channels}]")

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


def _store(code: Routine, two: bool, place: int, channels: int) -> None:
    """The levels to byte `place` behind the output."""
    code(f"strb {{sum0}}, [{{output}}, #{place}]")
    if two:
        code(f"strb {{sum1}}, [{{output}}, #{place + channels}]")
