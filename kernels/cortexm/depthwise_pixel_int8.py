# SPDX-License-Identifier: MIT
"""int8 depthwise convolution of one output pixel, as layers have that stream: 4 channels at a time, whose taps are read where
they lie. There is no other pixel with which they could share what planes of single channels cost."""

from __future__ import annotations

from aidge_build.contract.call import Call, Constant, Input, Output, Struct
from aidge_build.contract.kernel_kit.linear_int8 import LinearNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView

from . import dense
from .assembly import Routine
from .conditions import GROUP, has_fpu, linear_spec
from .dense_levels import epilogue
from .one_pixel import ONE_PIXEL, seen_taps
from .packing import Stream, pack_blocks, taps_last_channels

PARAMETERS = "const int8_t *input, int8_t *output, const int32_t *stream, const aidge_cortexm_depthwise_pixel *shape"


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), linear_spec(ONE_PIXEL))
class DepthwisePixelInt8(LinearNode):
    assembly = "needed"

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        """In place where no group of channels reads what the one before wrote."""
        return Demands(in_place=(0,) if view.inputs[0].dims[1] % GROUP == 0 else ())

    def call(self) -> Call:
        data, seen = self.inputs[0], seen_taps(self.view)
        batches, channels = data.dims[:2]
        taps = [tap for tap, _ in seen]
        linear = self.linear(taps_last_channels(self.inputs[1].data)[:, taps])
        order = [*range(len(taps)), *[-1] * (len(taps) % 2)]
        stream = pack_blocks(linear, order, channels, has_fpu(self.view), may_pack=False, is_row=True)
        function, text = routine(stream, [place for _, place in seen], is_uneven=channels % GROUP > 0)
        shape = Struct(
            "aidge_cortexm_depthwise_pixel",
            {
                "batches": batches,
                "channels": channels,
                "image_bytes": data.elements // batches,
                "stream_bytes": stream.words.nbytes,
            },
        )
        return Call(
            function,
            ("depthwise_pixel.h",),
            (Input(0), Output(0), Constant("stream", stream.words), shape),
            note=stream.note,
            texts=(text,),
            facts=stream.facts(pixels=1),
        )


def routine(stream: Stream, places: list[int], is_uneven: bool) -> tuple[str, str]:
    """Name and text for taps whose first channel is at these bytes of an image. `is_uneven`: the last group begins with channels
    of the one before."""
    name = f"aidge_cortexm_depthwise_pixel_int8_{_grid(places)}_{stream.variant}{'_uneven' * is_uneven}"
    code = dense.routine_of(stream)
    code.begin()
    code("mov {w1}, r1", "the output stays there")
    code("mov {stream}, r2")
    code("ldm r3, {{r4-r7}}", "batches, channels, image_bytes, stream_bytes")
    code.put("pairs", "r4", "batches")
    code.put("output_step", "r5")
    code.put("input_step", "r6")
    code("add r7, r7, {stream}")
    code.put("end", "r7")
    dense.load_head(code, stream)
    code.label(1, "an image")
    code.put("input", "{column}")
    if is_uneven:
        code.get("r4", "output_step")
        code(f"subs r4, r4, #{GROUP}")
        code("add r4, r4, {column}")
        code.put("column_end", "r4", "where the last group begins")
    code.label(3, "4 channels")
    code("ldm {stream}!, {{r4-r7}}", "their biases")
    _sums(code, places)
    if stream.is_stated:
        code.put("base", "{column}")
    epilogue(code, stream, "a")
    _next_group(code, stream, is_uneven)
    if stream.is_stated:
        code.get("r4", "output_step")
        code("add {w1}, {w1}, r4")
    code.get("{column}", "input")
    code.get("r4", "pairs")
    code.get("r5", "input_step")
    code.get("{stream}", "begin")
    code("add {column}, {column}, r5")
    code("subs r4, r4, #1")
    code.put("pairs", "r4")
    code("bne 1b")
    code.end()
    table = ", ".join(map(str, places))
    portable = (
        f"static const int16_t places[] = {{{table}}};\n"
        f"    aidge_cortexm_depthwise_pixel_int8(input, output, stream, shape, places, {len(places)}, {stream.numbers});"
    )
    return name, code.function(name, PARAMETERS, f"One pixel of depthwise layers: {len(places)} taps.", portable)


def _grid(places: list[int]) -> str:
    """What tells the places of taps, which are a grid, from others."""
    steps = [second - first for first, second in zip(places, places[1:])]
    width = next((count for count, step in enumerate(steps, 1) if step != steps[0]), len(places))
    right, down = (places[count] - places[0] if count < len(places) else 0 for count in (1, width))
    return f"{len(places) // width}x{width}_d{down}x{right}_from{places[0]}"


def _next_group(code: Routine, stream: Stream, is_uneven: bool) -> None:
    """To the next group, which begins no later than the last one. Label 3."""
    if stream.is_stated:
        code.get("{column}", "base")
    code(f"adds {{column}}, {{column}}, #{GROUP}")
    if is_uneven:
        code.get("{x1}", "column_end")
        code("cmp {column}, {x1}")
        code("it hi")
        code("movhi {column}, {x1}")
    code.get("{x0}", "end")
    code("cmp {stream}, {x0}")
    code("bne 3b")


def _sums(code: Routine, places: list[int]) -> None:
    """All taps of 4 channels, two taps of a channel at a time."""
    for first, second in zip(places[::2], places[1::2]):
        code("ldm {stream}!, {{r8-r11}}", "two weights of each channel")
        code(f"ldr {{w0}}, [{{column}}, #{first}]")
        code(f"ldr {{x1}}, [{{column}}, #{second}]")
        code("pkhbt {x0}, {w0}, {x1}, lsl #16", "channels 0 and 1 of both taps")
        code("pkhtb {w0}, {x1}, {w0}, asr #16", "channels 2 and 3")
        for channel, source in ((0, "x0"), (2, "w0")):
            code(f"sxtb16 {{x1}}, {{{source}}}")
            code(f"sxtb16 {{{source}}}, {{{source}}}, ror #8")
            code(f"smlad {{a{channel}}}, {{x1}}, {{b{channel}}}, {{a{channel}}}")
            code(f"smlad {{a{channel + 1}}}, {{{source}}}, {{b{channel + 1}}}, {{a{channel + 1}}}")
    if len(places) % 2:
        code("ldm {stream}!, {{r8-r11}}", "a weight of each channel")
        code(f"ldr {{x0}}, [{{column}}, #{places[-1]}]")
        code("sxtb16 {x1}, {x0}, ror #8")
        code("sxtb16 {x0}, {x0}")
        for channel in range(GROUP):
            half = "b" if channel < GROUP // 2 else "t"
            code(f"smla{half}b {{a{channel}}}, {{x{channel % 2}}}, {{b{channel}}}, {{a{channel}}}")
