# SPDX-License-Identifier: MIT
"""Depthwise convolution in assembly: 4 channels are gathered into planes of pixel pairs, then computed one by one.

Weights are 256 times as large as the model's (they fit int16), so the sums carry 8 fraction bits, and zero point, rounding
and bias of the integer requantization are one exact constant. Two neighbouring outputs are computed together; with stride 1
their windows lie in the same words, the second one a halfword further.
"""

from __future__ import annotations

from collections.abc import Callable

from .assembly import Routine
from .depthwise_layout import LARGEST_OFFSET, Depthwise, places
from .linear_int8 import HIGH_SHIFT

REGISTERS = {
    "words": "r0", "output": "r1", "sum0": "r2", "sum1": "r3", "x0": "r10", "x1": "r11", "factor": "r12", "end": "lr",
    "weights": "r6",
    **{f"w{index}": f"r{4 + index}" for index in range(6)},
}
LARGEST_PAIR_OFFSET = 1020  # of a load of two words
UNROLLED_PAIRS, UNROLLED_LOOP = 6, 4  # pairs of outputs without a loop, and in one turn of it
BAND_PARAMETERS = "const uint32_t *words, int8_t *output, const int32_t *constants, int32_t rows, const int32_t *head"
GATHER_PARAMETERS = "const int8_t *source, uint32_t *target, int32_t rows, uint32_t fill"


def texts(layer: Depthwise, shift: int, is_clamped: bool) -> tuple[str, tuple[str, ...]]:
    """Name and texts of the layer's functions."""
    plane = layer.plane
    (height, width), pads = plane.kernel, plane.pads
    gather = f"aidge_cortexm_depthwise_gather_{plane.in_channels}x{plane.in_size[1]}_p{pads[1]}_w{layer.pairs}"
    band = (f"aidge_cortexm_depthwise_band_{plane.in_channels}x{plane.out_size[1]}_k{height}x{width}"
            f"_s{plane.strides[0]}x{plane.strides[1]}d{plane.dilations[0]}_w{layer.pairs}_s{shift}"
            f"{'_clamped' if is_clamped else ''}")
    name = band.replace("_band_", "_int8_") + f"_i{plane.in_size[1]}p{pads[1]}"
    return name, (_gather_text(layer, gather), _band_text(layer, band, shift, is_clamped), _layer_text(name, gather, band))


def _layer_text(name: str, gather: str, band: str) -> str:
    return f"""/* All groups of 4 channels, band by band. */
static void {name}(
    const int8_t *input, int8_t *output, const int32_t *stream, void *scratch, const aidge_cortexm_depthwise *shape)
{{
    uint32_t *const words = (uint32_t *)scratch;
    const uint32_t fill = aidge_cortexm_even_bytes((uint32_t)stream[2]);
    const int32_t *const end = stream + shape->stream_words;
    const int32_t *group;
    int32_t batch, y;
    for (batch = 0; batch < shape->batches; batch++) {{
        for (group = stream + AIDGE_CORTEXM_HEAD_WORDS; group != end; group += shape->group_words) {{
            for (y = 0; y < shape->out_height; y += shape->band) {{
                const int32_t left = shape->out_height - y;
                const int32_t lines = left < shape->band ? left : shape->band;
                const aidge_cortexm_band band = aidge_cortexm_band_of(shape, words, fill, y, lines);
                if (band.count > 0) {{
                    {gather}(input + band.source + group[0], band.target, band.count, (uint32_t)stream[2]);
                }}
                {band}(words, output + y * shape->out_width * shape->channels + group[0], group + 1, lines, stream);
            }}
        }}
        input += shape->in_height * shape->in_width * shape->channels;
        output += shape->out_height * shape->out_width * shape->channels;
    }}
}}"""


def _gather_text(layer: Depthwise, name: str) -> str:
    plane = layer.plane
    width, pad, channels = plane.in_size[1], plane.pads[1], plane.in_channels
    columns = min(width, 2 * layer.pairs - pad)  # of a row that anything reads
    positions = [None] * pad + list(range(columns)) + [None] * (2 * layer.pairs - pad - columns)
    quads = [positions[first:first + 4] for first in range(0, len(positions), 4)]
    code = Routine({"source": "r0", "target": "r1", "t0": "r2", "t1": "r3", "pads": "lr", "rows": "r12"})
    code("push {{r4-r11, lr}}")
    code("mov {rows}, r2")
    code("mov {pads}, r3", "the input's zero point in each byte")
    code.label(1, "a row")
    index = advanced = 0
    while index < len(quads):
        alike = index
        while alike < len(quads) and len(quads[alike]) == 4 and None not in quads[alike]:
            alike += 1
        count = alike - index
        if count > 3:
            code.constant("r2", 8 * count)
            code("add r2, r2, {target}")
            code("vmov s1, r2")
            code.label(2, f"{count} times 4 pixels")
            _gather_quad(code, quads[index], 8 * index - advanced, layer.pairs, channels)
            code("vmov r2, s1")
            code("add {target}, {target}, #8")
            code("cmp {target}, r2")
            code("bne 2b")
            advanced += 8 * count
            index = alike
        else:
            _gather_quad(code, quads[index], 8 * index - advanced, layer.pairs, channels)
            index += 1
    _add(code, "source", (width - columns) * channels)
    _add(code, "target", 4 * layer.row_words - advanced)
    code("subs {rows}, {rows}, #1")
    code("bne 1b")
    code("pop {{r4-r11, pc}}")
    portable = f"aidge_cortexm_depthwise_gather(source, target, rows, fill, {channels}, {width}, {pad}, {layer.pairs});"
    return code.function(name, GATHER_PARAMETERS, f"Rows of 4 of {channels} channels as pairs of pixels.", portable)


def _gather_quad(code: Routine, quad: list[int | None], offset: int, pairs: int, channels: int) -> None:
    """4 (or 2) pixels of 4 channels to `offset` in the planes of the channels."""
    loads = [index for index, position in enumerate(quad) if position is not None]
    after = channels <= 255
    for number, index in enumerate(loads):
        place = f"], #{channels}" if after else f", #{number * channels}]" if number else "]"
        code(f"ldr r{4 + index}, [{{source}}{place}")
    if not after:
        _add(code, "source", len(loads) * channels)
    pixel = [f"r{4 + index}" if position is not None else "{pads}" for index, position in enumerate(quad)]
    code(f"pkhbt r8, {pixel[0]}, {pixel[1]}, lsl #16")
    code(f"pkhtb r10, {pixel[1]}, {pixel[0]}, asr #16")
    if len(quad) == 4:
        code(f"pkhbt r9, {pixel[2]}, {pixel[3]}, lsl #16")
        code(f"pkhtb r11, {pixel[3]}, {pixel[2]}, asr #16")
    for channel, (pair, rotation) in enumerate(((8, ""), (8, ", ror #8"), (10, ""), (10, ", ror #8"))):
        place = offset + 4 * pairs * channel
        code(f"sxtb16 {{t0}}, r{pair}{rotation}")
        if len(quad) == 4:
            code(f"sxtb16 {{t1}}, r{pair + 1}{rotation}")
        if len(quad) == 4 and place <= LARGEST_PAIR_OFFSET:
            code(f"strd {{t0}}, {{t1}}, [{{target}}, #{place}]")
        else:
            code(f"str {{t0}}, [{{target}}, #{place}]")
            if len(quad) == 4:
                code(f"str {{t1}}, [{{target}}, #{place + 4}]")


def _add(code: Routine, register: str, value: int) -> None:
    while value:
        part = min(value, LARGEST_OFFSET)
        code(f"addw {{{register}}}, {{{register}}}, #{part}")
        value -= part


def _band_text(layer: Depthwise, name: str, shift: int, is_clamped: bool) -> str:
    plane = layer.plane
    outputs = plane.out_size[1]
    code = Routine(REGISTERS)
    code("ldr r12, [sp]", "head")
    code("push {{r4-r11, lr}}")
    code("vldmia r12, {{s5-s6}}", "zero point, limits")
    code("vmov s8, r0")
    code("vmov s9, r1")
    code("mov r10, r2")
    code("vmov s11, r3")
    code("movs r4, #4")
    code("vmov s12, r4")
    code.label(1, "a channel")
    code("ldr r11, [r10], #4", "bias")
    code("ldr {factor}, [r10], #4")
    if layer.in_registers:
        code(f"ldm r10!, {{{{r4-r{3 + layer.weight_words}}}}}" if layer.weight_words > 1 else "ldr r4, [r10], #4")
    else:
        code("mov {weights}, r10")
        _plus(code, "r10", 4 * layer.weight_words)
    code("vmov s10, r10")
    code("vmov s0, r11")
    code("vmov s1, r11")
    code("vmov {words}, s8")
    code("vmov {output}, s9")
    code("vmov s13, s11")
    code("cmp {factor}, #0")
    code("blt 5f", "the multiplier is a float")
    _rows(code, layer, 2, layer.most_together, lambda two, pair: _integer_form(code, shift, two, 2 * pair * plane.in_channels,
                                                                               plane.in_channels))
    code("b 8f")
    code.label(5)
    code("bic {factor}, {factor}, #0x80000000")
    code("vmov s4, {factor}")
    code("vmov {factor}, s5")
    code("sxth {factor}, {factor}")
    code("sub {factor}, {factor}, #128", "zero point")
    _rows(code, layer, 6, 1, lambda two, pair: _float_form(code, is_clamped, two, 2 * pair * plane.in_channels,
                                                           plane.in_channels))
    code.label(8)
    code("vmov r0, s8")
    code("vmov r1, s9")
    code("vmov r4, s12")
    code("vmov r10, s10")
    _plus(code, "r0", 4 * layer.pairs)
    code("add r1, r1, #1")
    code("vmov s8, r0")
    code("vmov s9, r1")
    code("subs r4, r4, #1")
    code("vmov s12, r4")
    code("bne 1b")
    code("pop {{r4-r11, pc}}")
    table = ", ".join(map(str, places(layer)))
    numbers = (plane.in_channels, outputs, *plane.kernel, *plane.strides, plane.dilations[0], layer.row_words, layer.pairs,
               layer.weight_words)
    portable = (f"static const int16_t places[] = {{{table}}};\n"
                f"    const aidge_cortexm_depthwise_geometry geometry = {{{', '.join(map(str, numbers))}, places}};\n"
                f"    aidge_cortexm_depthwise_band(words, output, constants, rows, head, &geometry, {shift});")
    return code.function(name, BAND_PARAMETERS, f"Output rows of 4 channels, window {plane.kernel[0]}x{plane.kernel[1]}.",
                         portable)


def _plus(code: Routine, register: str, value: int) -> None:
    while value:
        part = min(value, LARGEST_OFFSET)
        code(f"addw {register}, {register}, #{part}")
        value -= part


def _rows(code: Routine, layer: Depthwise, label: int, most: int, requantize: Callable[[bool, int], None]) -> None:
    """The rows of one channel, at most `most` pairs of outputs without a loop; labels `label` and `label + 1`."""
    plane = layer.plane
    outputs, pair_bytes = plane.out_size[1], 4 * plane.strides[1]
    pairs = outputs // 2
    together = pairs if pairs <= min(most, UNROLLED_PAIRS) else max(
        count for count in range(1, min(most, UNROLLED_LOOP) + 1) if pairs % count == 0)
    code.label(label, "an output row")
    if pairs > together:
        code.constant("{end}".format_map(REGISTERS), pairs * pair_bytes)
        code("add {end}, {end}, {words}")
        code.label(label + 1, f"{2 * together} outputs")
    for pair in range(together):
        _sums(code, layer, True, pair * pair_bytes)
        requantize(True, pair)
    _plus(code, "r0", together * pair_bytes)
    _plus(code, "r1", 2 * together * plane.in_channels)
    if pairs > together:
        code("cmp {words}, {end}")
        code(f"bne {label + 1}b")
    if outputs % 2:
        _sums(code, layer, False, 0)
        requantize(False, 0)
        _plus(code, "r1", plane.in_channels)
    back = 4 * plane.strides[0] * layer.row_words - pairs * pair_bytes
    if back >= 0:
        _plus(code, "r0", back)
    else:
        code.constant("r10", -back)
        code("sub r0, r0, r10")
    code("vmov r10, s13")
    code("subs r10, r10, #1")
    code("vmov s13, r10")
    code(f"bne {label}b")


def _sums(code: Routine, layer: Depthwise, two: bool, place: int) -> None:
    """The sums of two neighbouring outputs (or of the first of them), whose activations begin at byte `place`."""
    code("vmov {sum0}, {sum1}, s0, s1" if two else "vmov {sum0}, s0")
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
            _load(code, ("x0", "x1")[:layer.steps - word], start + 4 * word)
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
            _load(code, ("x0", "x1")[:words - word], start + 4 * word)
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
    sums = ("sum0", "sum1")[:1 + two]
    for name in sums:
        code(f"smmul {{{name}}}, {{{name}}}, {{factor}}")
    for name in sums:
        code(f"ssat {{{name}}}, #8, {{{name}}}, asr #{shift + HIGH_SHIFT}")
    _store(code, two, place, channels)


def _float_form(code: Routine, is_clamped: bool, two: bool, place: int, channels: int) -> None:
    sums, cells = ("sum0", "sum1")[:1 + two], ("s2", "s3")[:1 + two]
    code("vmov s2, s3, {sum0}, {sum1}" if two else "vmov s2, {sum0}")
    for operation in ("vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, s4", "vcvtr.s32.f32 {0}, {0}"):
        for cell in cells:
            code(operation.format(cell))
    code("vmov {sum0}, {sum1}, s2, s3" if two else "vmov {sum0}, s2")
    for name in sums:
        code(f"qadd {{{name}}}, {{{name}}}, {{factor}}")
        code(f"ssat {{{name}}}, #8, {{{name}}}")
    if is_clamped:
        code("vmov {x0}, s6")
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


def _store(code: Routine, two: bool, place: int, channels: int) -> None:
    """The levels to byte `place` behind the output."""
    code(f"strb {{sum0}}, [{{output}}, #{place}]")
    if two:
        code(f"strb {{sum1}}, [{{output}}, #{place + channels}]")
