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
from aidge_build.contract.spec import CHANNELS_LAST, Demands, NodeView, Predicate
from aidge_build.operators.dynamic import FACTORS, WEIGHTS

from ..core.assembly import Routine
from ..core.conditions import FEATURES, GROUP, in_text
from ..core.offsets import plus
from ..windows.depthwise_gather import gather_text
from ..windows.depthwise_groups import layer_text
from ..windows.depthwise_layout import LARGEST_OFFSET, Depthwise, group, struct, upright_layer_of
from ..windows.depthwise_sums import KEPT, SUMS, sums
from ..windows.depthwise_weights import load_weights
from .dense import split_steps
from .dynamic import clamp, clamp_name, load_limit

HEAD_WORDS = 3  # sum of the weights, factor, bias
LARGEST_FPU_OFFSET = 1020  # of VSTR
QUADS = 5  # times 4 pixels in the text that gathers
PARAMETERS = (
    "const uint32_t *words, float *output, const int32_t *constants, int32_t rows, const aidge_cortexm_dynamic_numbers *numbers"
)
LIMIT = "%limit"
FLOATS = "%s.value0", "%s.value1"
NEAR = Predicate("strides of at most 2, columns not dilated, near rows", lambda view: upright_layer_of(view).unfit)


@kernel("DynamicConv", dynamic_spec(CHANNELS_LAST, FEATURES | {"fpu"}, GROUP, DEPTHWISE, NEAR))
class DynamicPlanes(KernelNode):
    assembly = "needed"
    together = {"speed": 8, "balanced": 2, "size": 1}  # pairs of outputs in the text

    @classmethod
    def layer(cls, view: NodeView) -> Depthwise:
        """The geometry."""
        return replace(upright_layer_of(view), head_words=HEAD_WORDS)

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
            texts=(gather_text(layer, gather, QUADS, signed), band_text, driver),
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
    code = Routine()
    code("%enter.floats")
    code(KEPT)
    _begin(code, layer)
    load_limit(code, bounds, LIMIT)
    code.label("channel")
    code("get %constants")
    code("ldr %total, [%constants], #4", "the sum of its weights")
    code("vmov %minus_zero, %s.minus_zero")
    code("mul %total, %total, %minus_zero")
    code("vmov %s.bias, %s.bias_again, %total, %total")
    code("vldmia %constants!, {%s.factor, %s.real_bias}")
    code("vmul.f32 %s.factor, %s.factor, %s.scale")
    load_weights(code, layer)
    code("put %constants")
    code("get %rows")
    code("mov %left, %rows")
    code("put %left")
    code("get %words, %output")
    code.label("row")
    _row(code, layer, bounds, together)
    plus(code, "%words", 4 * (layer.row_words * plane.strides[0] - plane.out_size[1] // 2 * plane.strides[1]))
    _next(code, "%left", "%row")
    code("get %words, %output")
    plus(code, "%words", 4 * layer.pairs)
    code("adds %output, %output, #4")
    code("put %words, %output")
    _next(code, "%channels", "%channel")
    code("%leave")
    return name, code.function(name, PARAMETERS, f"Output rows of 4 channels, window {height}x{width}.")


def _begin(code: Routine, layer: Depthwise) -> None:
    """Moves to the first channel that the group before has not computed."""
    code("ldr %numbers, [%argument.4]")
    code("vldmia %numbers, {%s.scale, %s.minus_zero}")
    code("ldr %computed, [%numbers, #8]", "channels that the group before has computed")
    code("rsb %channels, %computed, #4")
    code("put %channels")
    if layer.plane.in_channels % 4:
        code.constant("%step", 4 * layer.pairs)
        code("mla %words, %computed, %step, %words")
        code("add %output, %output, %computed, lsl #2")
        code.constant("%step", 4 * layer.step_words)
        code("mla %constants, %computed, %step, %constants")
    code("put %words, %output")
    code("put %constants")
    code("put %rows")


def _next(code: Routine, count: str, label: str) -> None:
    code(f"get {count}")
    code(f"subs {count}, {count}, #1")
    code(f"put {count}")
    code(f"bne {label}")


def _row(code: Routine, layer: Depthwise, bounds: tuple[float, float], together: int) -> None:
    """The outputs of a row; `words` ends behind what its pairs read first."""
    plane = layer.plane
    pairs, is_odd = divmod(plane.out_size[1], 2)
    ahead, body = split_steps(pairs, together, start=0)
    _outputs(code, layer, bounds, [2] * ahead)
    if body:
        code.constant("%row_end", 2 * (pairs - ahead) * 4 * plane.in_channels)
        code("add %row_end, %row_end, %output")
        code.label("outputs", f"{2 * body}")
        _outputs(code, layer, bounds, [2] * body)
        code("cmp %output, %row_end")
        code("bne %outputs")
    _outputs(code, layer, bounds, [1] * is_odd)


def _outputs(code: Routine, layer: Depthwise, bounds: tuple[float, float], counts: Sequence[int]) -> None:
    """So many outputs after each other, 2 or 1 at a time; the output moves on only where a store does not reach further."""
    step, furthest = 4 * layer.plane.in_channels, LARGEST_OFFSET if clamp_name(bounds) else LARGEST_FPU_OFFSET
    offset = 0
    for count in counts:
        sums(code, layer, count, 0, False, advance=4 * layer.plane.strides[1] if count == 2 else 0)
        for value in _values(code, SUMS[:count], bounds):
            if offset > furthest:
                plus(code, "%output", offset)
                offset = 0
            code(f"{'vstr' if value in FLOATS else 'str'} {value}, [%output, #{offset}]")
            offset += step
    plus(code, "%output", offset)


def _values(code: Routine, totals: tuple[str, ...], bounds: tuple[float, float]) -> tuple[str, ...]:
    """Sums times the factor plus the bias, clamped: the values with the results."""
    values = FLOATS[: len(totals)]
    code(f"vmov {', '.join((*values, *totals))}")
    for operation in ("vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, %s.factor", "vadd.f32 {0}, {0}, %s.real_bias"):
        for value in values:
            code(operation.format(value))
    if not clamp_name(bounds):
        return values
    code(f"vmov {', '.join((*totals, *values))}")
    clamp(code, totals, bounds, LIMIT)
    return totals
