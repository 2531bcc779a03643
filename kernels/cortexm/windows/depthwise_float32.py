# SPDX-License-Identifier: MIT
"""float32 depthwise convolution over one or two axes: 8 channels of a pixel at a time, channels last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, computed
from aidge_build.contract.kernel_kit.linear_float32 import limits, linear_float_spec
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.kernel_kit.raster import convolution_demands
from aidge_build.contract.kernel_kit.window2d import window_or_row
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from ..core.assembly import Routine
from ..core.float32 import FEATURES, CortexmLinearFloat32, Limits, listed, values

PARAMETERS = (
    "float *output, const aidge_cortexm_sources_float32 *table, const float *stream, int32_t pixels, "
    "const float *limits, int32_t channels"
)
TOGETHER = 8  # channels
MOST_OUTPUTS = 32  # of a channel: a store moves on by at most 255 bytes
HELD = 9  # taps of a window whose pointers fit registers


def _taps(fields: Mapping[str, int]) -> int:
    """In the table: an even number where they are read two by two."""
    taps = fields["kernel_height"] * fields["kernel_width"]
    return taps if taps <= HELD else taps + taps % 2


@dataclass(frozen=True)
class Pixels:
    """The function of one pixel, or of neighbours if all of its taps have pointers in registers: `whole` groups of 8 channels if
    there are any, then `rest` channels. `apart`: pixels are not adjacent. `multiplier`: outputs of a channel, one of which is
    computed."""

    taps: int
    whole: bool
    rest: int
    apart: bool
    limits: Limits
    multiplier: int

    @property
    def is_held(self) -> bool:
        return self.taps <= HELD

    @property
    def name(self) -> str:
        """Tells all that the text depends on."""
        groups = f"{'8' * self.whole}{'_' * bool(self.whole and self.rest)}{self.rest or ''}{'_apart' * self._moves}"
        several = f"_x{self.multiplier}" * (self.multiplier > 1)
        return f"aidge_cortexm_depthwise_pixels_float32_{self.taps}_taps_{groups}{self.limits.suffix}{several}"

    @property
    def _moves(self) -> bool:
        """Whether all pointers move from pixel to pixel."""
        return self.apart and self.is_held

    def text(self) -> str:
        """The C text of the assembly."""
        code = Routine()
        code("%enter")
        if self.limits.compared:
            code("ldr %limits, [%argument.4]")
            self.limits.load(code, "%limits")
        if self.is_held:
            self._neighbours(code)
        else:
            self._pixel(code)
        code("%leave")
        return code.function(self.name, PARAMETERS, f"Pixels of a depthwise layer of {self.taps} taps.")

    def _neighbours(self, code: Routine) -> None:
        """A pointer to each tap moves on from channel to channel, behind the last one of a pixel to the next pixel."""
        pointers = [f"%tap{number}" for number in range(self.taps)]
        code("vmov %s.stream, %stream")
        code("vmov %s.pixels, %pixels")
        code("ldmia %table!, {%advance, %end}", "to the next pixel, end of the whole groups")
        code("vmov %s.advance, %advance")
        # A list of one register is no instruction: some assemblers take it for a load, others encode what no core promises.
        code(f"ldm %table, {listed(pointers)}" if len(pointers) > 1 else f"ldr {pointers[0]}, [%table]")
        code.label("pixel", "a pixel")
        code("vmov %weights, %s.stream")
        if self.whole:
            code.label("group", f"{TOGETHER} channels")
            self._held_group(code, pointers, TOGETHER)
            code("cmp %weights, %end")
            code("bne %group")
        if self.rest:
            self._held_group(code, pointers, self.rest)
        if self._moves:
            code("vmov %advance, %s.advance")
            for pointer in pointers:
                code(f"add {pointer}, {pointer}, %advance")
        code("vmov %left, %s.pixels")
        code("subs %left, %left, #1")
        code("vmov %s.pixels, %left")
        code("bne %pixel")

    def _held_group(self, code: Routine, pointers: list[str], channels: int) -> None:
        code(f"vldmia %weights!, {listed(values('sum', channels))}")
        for pointer in pointers:
            self._tap(code, f"vldmia {pointer}!", channels, "%weights")
        self._store(code, channels)

    def _pixel(self, code: Routine) -> None:
        """One pixel, whose taps are read from the table two by two for each group of channels."""
        code("ldr %end, [%table, #4]", "end of the whole groups")
        code("add %sources, %table, #8")
        code("movs %before, #0", "bytes of the channels before this group")
        if self.whole:
            code.label("group", f"{TOGETHER} channels")
            self._listed_group(code, TOGETHER, "")
            code(f"adds %before, %before, #{4 * TOGETHER}")
            code("cmp %stream, %end")
            code("bne %group")
        if self.rest:
            self._listed_group(code, self.rest, "_of_rest")

    def _listed_group(self, code: Routine, channels: int, which: str) -> None:
        code(f"vldmia %stream!, {listed(values('sum', channels))}")
        code("mov %source, %sources")
        code(f"movs %left, #{self.taps}")
        code.label(f"taps{which}", "two taps")
        code("ldrd %tap0, %tap1, [%source], #8")
        for pointer in ("%tap0", "%tap1"):
            code(f"add {pointer}, {pointer}, %before")
            self._tap(code, f"vldm {pointer}", channels, "%stream")
        code("subs %left, %left, #2")
        code(f"bne %taps{which}")
        self._store(code, channels)

    @staticmethod
    def _tap(code: Routine, load: str, channels: int, weights: str) -> None:
        sums, data, factors = (values(name, channels) for name in ("sum", "value", "weight"))
        code(f"{load}, {listed(data)}")
        code(f"vldmia {weights}!, {listed(factors)}")
        for total, value, factor in zip(sums, data, factors):
            code(f"vfma.f32 {total}, {value}, {factor}")

    def _store(self, code: Routine, channels: int) -> None:
        """%output moves on."""
        sums = values("sum", channels)
        self.limits.apply(code, sums)
        if self.multiplier == 1:
            self.limits.store(code, sums, "%output")
            return
        for total in sums:
            if self.limits.is_zero:
                code(f"vmov %word, {total}", "negative values become 0")
                code("bic %word, %word, %word, asr #31")
                code(f"str %word, [%output], #{4 * self.multiplier}")
            else:
                code(f"vstr {total}, [%output]")
                code(f"add %output, %output, #{4 * self.multiplier}")

    def layer(self) -> str:
        """The C function around the assembly."""
        calls = (_CALL if self.multiplier == 1 else _CALLS).format(
            pixels=self.name, multiplier=self.multiplier, numbers=1 + self.taps
        )
        return f"""/* Depthwise convolution of float32, channels last. */
static void {self.name.replace("pixels", "layer", 1)}(
    const float *input, float *output, const float *stream, const float *limits, void *scratch, const aidge_kit_window2d *shape)
{{
    aidge_cortexm_sources_float32 *const table = aidge_cortexm_sources_of_float32(scratch, stream, {self.taps}, shape);
    int32_t batch, x, y, count{", i" * (self.multiplier > 1)};
    for (batch = shape->batches; batch > 0; batch--) {{
        int32_t top = -shape->pad_top;
        for (y = shape->out_height; y > 0; y--) {{
            for (x = 0; x < shape->out_width; x += count) {{
                count = aidge_cortexm_next_windows_float32(table, input, {self.taps}, top, x, shape);
{calls}
            }}
            top += shape->stride_height;
        }}
        input += shape->in_height * shape->in_width * shape->in_channels;
    }}
}}"""


_CALL = """\
                {pixels}(output, table, stream, count, limits, shape->in_channels);
                output += count * shape->in_channels;"""
_CALLS = """\
                for (i = 0; i < {multiplier}; i++) {{
                    const float *const weights = stream + i * shape->in_channels * {numbers};
                    table->groups = weights + (shape->in_channels & ~7) * {numbers};
                    {pixels}(output + i, table, weights, count, limits, shape->in_channels);
                }}
                output += count * shape->in_channels * {multiplier};"""


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), linear_float_spec(FEATURES))
class DepthwiseFloat32(CortexmLinearFloat32):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        fields, pointer = window_or_row(view).fields, view.pointer_bytes
        taps, channels = _taps(fields), fields["in_channels"]
        is_run = fields["out_channels"] > channels and taps <= HELD  # read again for each output of a channel
        demands = convolution_demands(view, fields["out_width"] if is_run else 1)
        return replace(demands, scratch_bytes=(2 + taps) * pointer + 4 * channels, scratch_alignment=pointer)

    def call(self) -> Call:
        shape = window_or_row(self.view)
        taps, channels = _taps(shape.fields), shape.fields["in_channels"]
        rows = taps_last_channels(self.inputs[1].data).astype(numpy.float32)
        multiplier = shape.fields["out_channels"] // channels
        rows = numpy.concatenate([self.bias()[:, None], rows, numpy.zeros((len(rows), taps - rows.shape[1]), numpy.float32)], 1)
        stream = [
            rows[output::multiplier][first : first + TOGETHER].T.ravel()
            for output in range(multiplier)
            for first in range(0, channels, TOGETHER)
        ]
        form = Pixels(taps, channels >= TOGETHER, channels % TOGETHER, shape.fields["stride_width"] > 1, self.clamp, multiplier)
        return Call(
            form.name.replace("pixels", "layer", 1),
            ("windows/depthwise_float32.h",),
            (Input(0), Output(0), Constant("stream", numpy.concatenate(stream)), limits(self.operator), Scratch(), shape),
            texts=(form.text(), form.layer()),
            facts=computed(f"1 pixel x {min(TOGETHER, channels)} channels"),
        )


def _several(view: NodeView) -> str:
    channels, outputs = view.inputs[0].dims[1], view.outputs[0].dims[1]
    if view.operator.groups != channels or channels == 1:
        return "several channels are summed"
    return "" if outputs // channels <= MOST_OUTPUTS else f"more than {MOST_OUTPUTS} outputs per channel"


@kernel(("Conv1D", "Conv2D"), linear_float_spec(FEATURES, Predicate("each channel by itself, with several outputs", _several)))
class DepthwiseMultipliedFloat32(DepthwiseFloat32):
    """The same, once for each output of a channel; the spec differs."""
