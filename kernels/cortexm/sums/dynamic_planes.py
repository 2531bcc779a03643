# SPDX-License-Identifier: MIT
"""Depthwise layers of dynamic quantization: 4 channels are gathered into planes of pixel pairs, as int8 layers have them.

The bytes go into the planes as they are, and beside the image lies the zero point: what that contributes to a sum is the same
everywhere, the zero point times the sum of the weights, and each channel begins with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant, Output, Scratch, computed
from aidge_build.contract.kernel_kit.dynamic import DEPTHWISE, bias_of, data_arguments, dynamic_spec, is_signed
from aidge_build.contract.kernel_kit.packing import as_words, group_starts, taps_last_channels
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import CHANNELS_LAST, Demands, NodeView
from aidge_build.operators.dynamic import FACTORS, WEIGHTS

from ..core.assembly import Routine, Waiting
from ..core.conditions import FEATURES, GROUP, in_text
from ..core.offsets import plus
from ..windows.depthwise_gather import gather_text
from ..windows.depthwise_groups import layer_text
from ..windows.depthwise_int8 import NEAR
from ..windows.depthwise_layout import LARGEST_OFFSET, Depthwise, depthwise_of, group, struct
from ..windows.depthwise_sums import REGISTERS, sums
from ..windows.depthwise_weights import load_weights
from .dense import split_steps
from .dynamic import clamp, clamp_name, load_limit
from .window import plane_of_view

HEAD_WORDS = 3  # sum of the weights, factor, bias
LARGEST_FPU_OFFSET = 1020  # of VSTR
QUADS = 5  # times 4 pixels in the text that gathers
PARAMETERS = (
    "const uint32_t *words, float *output, const int32_t *constants, int32_t rows, const aidge_cortexm_dynamic_numbers *numbers"
)
_PLACES = ("bias", "bias_again", "scale", "minus_zero", "factor", "real_bias", "value", "value_again", "words", "output")
PLACES = {name: place for place, name in enumerate((*_PLACES, "constants", "channels", "rows", "left"))}
LIMIT = "r12"


@kernel("DynamicConv", dynamic_spec(CHANNELS_LAST, FEATURES | {"fpu"}, GROUP, DEPTHWISE, NEAR))
class DynamicPlanes(KernelNode):
    assembly = "needed"
    together = {"speed": 8, "balanced": 2, "size": 1}  # pairs of outputs in the text

    @classmethod
    def layer(cls, view: NodeView) -> Depthwise:
        """The geometry."""
        return replace(depthwise_of(plane_of_view(view, is_upright=True)), head_words=HEAD_WORDS)

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=cls.layer(view).scratch_bytes)

    def call(self) -> Call:
        layer, signed = self.layer(self.view), is_signed(self.inputs)
        plane, bounds = layer.plane, (self.operator.minimum, self.operator.maximum)
        kind, pads = "int8" if signed else "uint8", plane.pads
        gather = f"aidge_cortexm_depthwise_gather_{plane.in_channels}x{plane.in_size[1]}_p{pads[1]}_w{layer.pairs}_{kind}"
        band, band_text = text_of(layer, bounds, in_text(self.together, self.view))
        name = f"{band.replace('_band_', f'_{kind}_')}_i{plane.in_size[1]}p{pads[1]}{'' if layer.is_one_band else '_bands'}"
        stream = self._stream(layer)
        parameters = f"const {kind}_t *data, const {kind}_t *zero_point, const float *scale, float *output"
        zero = "(uint32_t)(uint8_t)zero_point[0]"
        begin = f"""\
    const int8_t *input = (const int8_t *)data;
    const uint32_t zeros = {zero} * 0x01010101u;
    const uint32_t fill = {"aidge_cortexm_even_bytes(zeros)" if signed else "zeros & 0x00FF00FFu"};
    aidge_cortexm_dynamic_numbers numbers[2];"""
        numbers = """\
    numbers[0].scale = scale[0];
    numbers[0].minus_zero = -zero_point[0];
    numbers[0].computed = 0;
    numbers[1] = numbers[0];
    numbers[1].computed = (4 - shape->channels % 4) % 4;
"""
        driver = layer_text(
            layer, name, (gather, band), (parameters, begin, numbers), ("0", "zeros", "&numbers[first == last ? 1 : 0]")
        )
        return Call(
            name,
            ("sums/dynamic_planes.h",),
            (*data_arguments(self.inputs), Output(0), Constant("stream", stream), Scratch(), struct(layer, len(stream))),
            texts=(gather_text(layer, gather, True, QUADS, signed), band_text, driver),
            note="2 pixels x 1 channel",
            facts=computed("2 pixels x 1 channel"),
        )

    def _stream(self, layer: Depthwise) -> numpy.ndarray:
        rows = taps_last_channels(self.inputs[WEIGHTS].data).astype(numpy.int64)
        factors, bias = (
            numbers.astype(numpy.float32).view(numpy.int32) for numbers in (self.inputs[FACTORS].data, bias_of(self.inputs))
        )
        words: list[int] = []
        for first in group_starts(len(rows)):
            heads = [
                [int(rows[channel].sum()), int(factors[channel]), int(bias[channel])] for channel in range(first, first + GROUP)
            ]
            words += group(layer, heads, rows[first : first + GROUP])
        return as_words(words)


def text_of(layer: Depthwise, bounds: tuple[float, float], together: int) -> tuple[str, str]:
    """Name and text of the output rows of 4 channels, with `together` pairs of outputs in the text."""
    plane = layer.plane
    (height, width), channels = plane.kernel, plane.in_channels
    name = (
        f"aidge_cortexm_dynamic_band_{channels}x{plane.out_size[1]}_k{height}x{width}"
        f"_s{plane.strides[0]}x{plane.strides[1]}d{plane.dilations[0]}_w{layer.pairs}{clamp_name(bounds)}_u{together}"
    )
    code = Routine(REGISTERS, Waiting(PLACES))
    code("ldr r12, [sp]", "numbers")
    code.begin()
    code("vldmia r12, {{s2-s3}}", "scale, zero point")
    code("ldr r4, [r12, #8]", "channels that the group before has computed")
    code("rsb r5, r4, #4")
    code.put("channels", "r5")
    if channels % 4:
        code.constant("r5", 4 * layer.pairs)
        code("mla r0, r4, r5, r0")
        code("add r1, r1, r4, lsl #2")
        code.constant("r5", 4 * layer.step_words)
        code("mla r2, r4, r5, r2")
    code.put("words", "r0, r1")
    code.put("constants", "r2")
    code.put("rows", "r3")
    load_limit(code, bounds, LIMIT)
    code.label(1, "a channel")
    code.get("r10", "constants")
    code("ldr r2, [r10], #4", "the sum of its weights")
    code.get("r3", "minus_zero")
    code("mul r2, r2, r3")
    code.put("bias", "r2, r2")
    code("vldmia r10!, {{s4-s5}}", "factor, bias")
    code("vmul.f32 s4, s4, s2")
    load_weights(code, layer)
    code.put("constants", "r10")
    code.get("r2", "rows")
    code.put("left", "r2")
    code.get("r0, r1", "words")
    code.label(2, "a row")
    _row(code, layer, bounds, together)
    plus(code, "r0", 4 * (layer.row_words * plane.strides[0] - plane.out_size[1] // 2 * plane.strides[1]))
    _next(code, "left", 2)
    code.get("r0, r1", "words")
    plus(code, "r0", 4 * layer.pairs)
    code("adds r1, r1, #4")
    code.put("words", "r0, r1")
    _next(code, "channels", 1)
    code.end()
    return name, code.function(name, PARAMETERS, f"Output rows of 4 channels, window {height}x{width}.")


def _next(code: Routine, name: str, label: int) -> None:
    code.get("r2", name)
    code("subs r2, r2, #1")
    code.put(name, "r2")
    code(f"bne {label}b")


def _row(code: Routine, layer: Depthwise, bounds: tuple[float, float], together: int) -> None:
    """The outputs of a row; `words` ends behind what its pairs read first."""
    plane = layer.plane
    pairs, is_odd = divmod(plane.out_size[1], 2)
    ahead, body = split_steps(pairs, together, start=0)
    _outputs(code, layer, bounds, [2] * ahead)
    if body:
        code.constant("lr", 2 * (pairs - ahead) * 4 * plane.in_channels)
        code("add lr, lr, {output}")
        code.label(3, f"{2 * body} outputs")
        _outputs(code, layer, bounds, [2] * body)
        code("cmp {output}, lr")
        code("bne 3b")
    _outputs(code, layer, bounds, [1] * is_odd)


def _outputs(code: Routine, layer: Depthwise, bounds: tuple[float, float], counts: Sequence[int]) -> None:
    """So many outputs after each other, 2 or 1 at a time; the output moves on only where a store does not reach further."""
    step, furthest = 4 * layer.plane.in_channels, LARGEST_OFFSET if clamp_name(bounds) else LARGEST_FPU_OFFSET
    offset = 0
    for count in counts:
        sums(code, layer, count, 0, False, advance=4 * layer.plane.strides[1] if count == 2 else 0)
        for value in _values(code, ("{sum0}", "{sum1}")[:count], bounds):
            if offset > furthest:
                plus(code, "{output}", offset)
                offset = 0
            code(f"{'v' * value.startswith('s')}str {value}, [{{output}}, #{offset}]")
            offset += step
    plus(code, "{output}", offset)


def _values(code: Routine, totals: tuple[str, ...], bounds: tuple[float, float]) -> tuple[str, ...]:
    """Sums times the factor plus the bias, clamped: the registers with the results."""
    values = ("s6", "s7")[: len(totals)]
    code(f"vmov {', '.join((*values, *totals))}")
    for operation in ("vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, s4", "vadd.f32 {0}, {0}, s5"):
        for value in values:
            code(operation.format(value))
    if not clamp_name(bounds):
        return values
    code(f"vmov {', '.join((*totals, *values))}")
    clamp(code, totals, bounds, LIMIT)
    return totals
