# SPDX-License-Identifier: MIT
"""float32 depthwise convolution over one or two axes: 8 channels of a pixel at a time, channels last."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct, computed
from aidge_build.contract.kernel_kit.raster import convolution_demands
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from .assembly import Routine
from .float32 import SAVED_BYTES, Limits, LinearFloat32, float_spec, span
from .packing import taps_last_channels
from .window import Plane, plane_of_view

PARAMETERS = (
    "float *output, const aidge_cortexm_sources_float32 *table, const float *stream, int32_t pixels, "
    "const float *limits, const aidge_cortexm_depthwise_float32 *shape"
)
PORTABLE = "aidge_cortexm_depthwise_pixels_float32(output, table, stream, pixels, limits, shape);"
TOGETHER = 8  # channels
MOST_OUTPUTS = 32  # of a channel: a store moves on by at most 255 bytes
HELD = tuple(f"r{number}" for number in range(4, 13))  # the taps of a window that fit registers


def _taps(plane: Plane) -> int:
    """In the table: an even number where they are read two by two."""
    taps = plane.kernel[0] * plane.kernel[1]
    return taps if taps <= len(HELD) else taps + taps % 2


@dataclass(frozen=True)
class Stores:
    """What becomes of the sums of neighbouring channels, whose outputs are `step` apart."""

    limits: Limits
    step: int

    @property
    def suffix(self) -> str:
        return self.limits.suffix + (f"_x{self.step}" if self.step > 1 else "")

    def __call__(self, code: Routine, channels: int, pair: tuple[str, str]) -> None:
        """Of s16 and on; r0 moves on."""
        registers = range(16, 16 + channels)
        self.limits.apply(code, registers, 28)
        if self.step == 1:
            self.limits.store(code, registers, "r0", pair)
            return
        for register in registers:
            if self.limits.is_zero:
                code(f"vmov {pair[0]}, s{register}", "negative values become 0")
                code(f"bic {pair[0]}, {pair[0]}, {pair[0]}, asr #31")
                code(f"str {pair[0]}, [r0], #{4 * self.step}")
            else:
                code(f"vstr s{register}, [r0]")
                code(f"add r0, r0, #{4 * self.step}")


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), float_spec())
class DepthwiseFloat32(LinearFloat32):
    assembly = "needed"

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        plane, pointer = plane_of_view(view), view.pointer_bytes
        scratch = (2 + _taps(plane)) * pointer + 4 * plane.in_channels
        is_run = plane.out_channels > plane.in_channels and _taps(plane) <= len(HELD)  # read again for each output of a channel
        demands = convolution_demands(view, plane.out_size[1] if is_run else 1)
        return replace(demands, scratch_bytes=scratch, scratch_alignment=pointer)

    def call(self) -> Call:
        plane = plane_of_view(self.view)
        taps, channels = _taps(plane), plane.in_channels
        rows = taps_last_channels(self.inputs[1].data).astype(numpy.float32)
        multiplier = plane.out_channels // channels
        rows = numpy.concatenate([self.bias()[:, None], rows, numpy.zeros((len(rows), taps - rows.shape[1]), numpy.float32)], 1)
        stream = [
            rows[output::multiplier][first : first + TOGETHER].T.ravel()
            for output in range(multiplier)
            for first in range(0, channels, TOGETHER)
        ]
        holds, advance = taps <= len(HELD), 4 * (plane.strides[1] - 1) * channels
        rest = channels % TOGETHER
        shape = Struct(
            "aidge_cortexm_depthwise_float32",
            {
                "batches": plane.batches,
                "in_height": plane.in_size[0],
                "in_width": plane.in_size[1],
                "channels": channels,
                "out_height": plane.out_size[0],
                "out_width": plane.out_size[1],
                "kernel_height": plane.kernel[0],
                "kernel_width": plane.kernel[1],
                "stride_height": plane.strides[0],
                "stride_width": plane.strides[1],
                "dilation_height": plane.dilations[0],
                "dilation_width": plane.dilations[1],
                "pad_top": plane.pads[0],
                "pad_left": plane.pads[1],
                "taps": taps,
                "longest": plane.out_size[1] if holds else 1,
                "advance": advance,
                "group": TOGETHER,
                "rest": rest,
                "multiplier": multiplier,
            },
        )
        whole = channels >= TOGETHER
        stores = Stores(self.clamp, multiplier)
        pixels, text = held_text(taps, whole, rest, advance > 0, stores) if holds else listed_text(whole, rest, stores)
        name = pixels.replace("pixels", "layer", 1)
        return Call(
            name,
            ("depthwise_float32.h",),
            (Input(0), Output(0), Constant("stream", numpy.concatenate(stream)), self.limits(), Scratch(), shape),
            texts=(text, _layer(name, pixels, multiplier)),
            facts=computed(f"1 pixel x {min(TOGETHER, channels)} channels"),
        )


def _several(view: NodeView) -> str:
    channels, outputs = view.inputs[0].dims[1], view.outputs[0].dims[1]
    if view.operator.groups != channels or channels == 1:
        return "several channels are summed"
    return "" if outputs // channels <= MOST_OUTPUTS else f"more than {MOST_OUTPUTS} outputs per channel"


@kernel(("Conv1D", "Conv2D"), float_spec(Predicate("each channel by itself, with several outputs", _several)))
class DepthwiseMultipliedFloat32(DepthwiseFloat32):
    """The same, once for each output of a channel; the spec differs."""


def _layer(name: str, pixels: str, multiplier: int) -> str:
    """The C function around the assembly."""
    calls = _CALL if multiplier == 1 else _CALLS
    return f"""/* Depthwise convolution of float32, channels last. */
static void {name}(
    const float *input, float *output, const float *stream, const float *limits, void *scratch,
    const aidge_cortexm_depthwise_float32 *shape)
{{
    aidge_cortexm_sources_float32 *const table = aidge_cortexm_sources_of_float32(scratch, stream, shape);
    int32_t batch, x, y, count{", i" * (multiplier > 1)};
    for (batch = shape->batches; batch > 0; batch--) {{
        int32_t top = -shape->pad_top;
        for (y = shape->out_height; y > 0; y--) {{
            for (x = 0; x < shape->out_width; x += count) {{
                count = aidge_cortexm_together_float32(top, x, shape);
                aidge_cortexm_seen_float32(table, input, top, x * shape->stride_width - shape->pad_left, shape);
{calls.format(pixels=pixels)}
            }}
            top += shape->stride_height;
        }}
        input += shape->in_height * shape->in_width * shape->channels;
    }}
}}"""


_CALL = """\
                {pixels}(output, table, stream, count, limits, shape);
                output += count * shape->channels;"""
_CALLS = """\
                for (i = 0; i < shape->multiplier; i++) {{
                    const float *const weights = stream + i * shape->channels * (1 + shape->taps);
                    table->groups = weights + (shape->channels - shape->rest) * (1 + shape->taps);
                    {pixels}(output + i, table, weights, count, limits, shape);
                }}
                output += count * shape->channels * shape->multiplier;"""


def _begin(limits: Limits) -> Routine:
    """s28, s29: the limits."""
    code = Routine({})
    code("push {{r4-r11, lr}}")
    code("vpush {{s16-s31}}")
    if limits.compared:
        code(f"ldr r4, [sp, #{SAVED_BYTES}]", "limits")
        code("vldm r4, {{s28-s29}}")
    return code


def _end(code: Routine) -> None:
    code("vpop {{s16-s31}}")
    code("pop {{r4-r11, pc}}")


def _load(code: Routine, register: int, pointer: str, channels: int, moves: bool = True) -> None:
    code(f"vldm{'ia' if moves else ''} {pointer}{'!' if moves else ''}, {span(register, channels)}")


def _multiply(code: Routine, channels: int) -> None:
    for channel in range(channels):
        code(f"vfma.f32 s{16 + channel}, s{channel}, s{8 + channel}")


def held_text(taps: int, whole: bool, rest: int, advances: bool, stores: Stores) -> tuple[str, str]:
    """Name and text for windows of at most 9 taps: a pointer to each stays in a register and moves on from channel to channel,
    behind the last one of a pixel to the next pixel.

    `whole`: there is a group of 8 channels; `rest`: channels of the last group; `advances`: pixels lie apart.
    """
    name = (
        f"aidge_cortexm_depthwise_pixels_float32_{taps}_taps_{'8' * whole}{'_' * bool(whole and rest)}{rest or ''}"
        f"{'_apart' if advances else ''}{stores.suffix}"
    )
    pointers = HELD[:taps]
    code = _begin(stores.limits)
    code("vmov s24, r2", "stream")
    code("vmov s25, r3", "pixels")
    code("ldmia r1!, {{r2, r4}}", "advance, end of the whole groups")
    code("vmov s26, r2")
    code("mov r3, r4")
    # A list of one register is no instruction: some assemblers take it for a load, others encode what no core promises to run.
    code(f"ldm r1, {{{{{', '.join(pointers)}}}}}" if len(pointers) > 1 else f"ldr {pointers[0]}, [r1]")
    code("mov r1, r3")
    code.label(1, "a pixel")
    code("vmov lr, s24")
    if whole:
        code.label(2, f"{TOGETHER} channels")
        _held_group(code, pointers, TOGETHER, stores)
        code("cmp lr, r1")
        code("bne 2b")
    if rest:
        _held_group(code, pointers, rest, stores)
    if advances:
        code("vmov r2, s26")
        for pointer in pointers:
            code(f"add {pointer}, {pointer}, r2")
    code("vmov r2, s25")
    code("subs r2, r2, #1")
    code("vmov s25, r2")
    code("bne 1b")
    _end(code)
    return name, code.function(name, PARAMETERS, f"Neighbouring pixels of a depthwise layer of {taps} taps.", PORTABLE)


def _held_group(code: Routine, pointers: tuple[str, ...], channels: int, stores: Stores) -> None:
    _load(code, 16, "lr", channels)
    for pointer in pointers:
        _load(code, 0, pointer, channels)
        _load(code, 8, "lr", channels)
        _multiply(code, channels)
    stores(code, channels, ("r2", "r3"))


def listed_text(whole: bool, rest: int, stores: Stores) -> tuple[str, str]:
    """Name and text for larger windows: one pixel, whose taps are read from the table two by two for each group of channels."""
    name = f"aidge_cortexm_depthwise_pixels_float32_taps_{'8' * whole}{'_' * bool(whole and rest)}{rest or ''}{stores.suffix}"
    code = _begin(stores.limits)
    code(f"ldr r4, [sp, #{SAVED_BYTES + 4}]", "shape")
    code("ldr r12, [r4, #56]", "taps")
    code("ldr r11, [r1, #4]", "end of the whole groups")
    code("add r10, r1, #8", "sources")
    code("movs r9, #0", "bytes of the channels before this group")
    if whole:
        code.label(1, f"{TOGETHER} channels")
        _listed_group(code, TOGETHER, stores, 2)
        code(f"adds r9, r9, #{4 * TOGETHER}")
        code("cmp r2, r11")
        code("bne 1b")
    if rest:
        _listed_group(code, rest, stores, 3)
    _end(code)
    return name, code.function(name, PARAMETERS, "One pixel of a depthwise layer.", PORTABLE)


def _listed_group(code: Routine, channels: int, stores: Stores, label: int) -> None:
    _load(code, 16, "r2", channels)
    code("mov r6, r10")
    code("mov r7, r12")
    code.label(label, "two taps")
    code("ldrd r4, r5, [r6], #8")
    for source in ("r4", "r5"):
        code(f"add {source}, {source}, r9")
        _load(code, 0, source, channels, moves=False)
        _load(code, 8, "r2", channels)
        _multiply(code, channels)
    code("subs r7, r7, #2")
    code(f"bne {label}b")
    stores(code, channels, ("r4", "r5"))
