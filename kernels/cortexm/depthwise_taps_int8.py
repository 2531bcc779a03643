# SPDX-License-Identifier: MIT
"""int8 depthwise convolution with any strides and dilations: the rows of 4 channels are copied with their pads, then read tap by
tap. Where columns are close together, pairs of pixels (depthwise_int8) take fewer instructions."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.linear_int8 import LinearNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from . import dense
from .assembly import Routine
from .conditions import has_fpu, linear_spec
from .conv2d import LARGEST_OFFSET, load_lines
from .conv2d_grouped_int8 import all_blocks, blocks_of
from .depthwise_int8 import unfit
from .one_pixel import OTHERS
from .packing import Stream, pack_blocks, taps_last_channels
from .window import ROW_PARAMETERS, Buffer, Plane, begin_row, end_row, plane_buffer, whole_layer

MOST_TAPS = 64  # of 60 B each


def _buffer(plane: Plane) -> Buffer:
    """Rows of 4 channels, a word for each pixel."""
    planes = plane_buffer(plane)
    return replace(planes, row_words=planes.span)


def _unfit(view: NodeView) -> str:
    if not unfit(view.layer.whole if view.layer else view):
        return "columns that are close together"
    blocks = blocks_of(view)
    if blocks.taps > MOST_TAPS:
        return f"{blocks.taps} taps, wants at most {MOST_TAPS}"
    far = _buffer(blocks.plane).size_bytes
    return "" if far <= LARGEST_OFFSET else f"the rows of a window take {far} bytes, wants at most {LARGEST_OFFSET}"


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), linear_spec(Predicate("distant columns, few taps", _unfit), OTHERS))
class DepthwiseTapsInt8(LinearNode):
    assembly = "needed"

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=_buffer(blocks_of(view).plane).size_bytes)

    def call(self) -> Call:
        blocks = blocks_of(self.view)
        linear = blocks.channels_of(self.linear(taps_last_channels(self.inputs[1].data)))
        stream = pack_blocks(linear, list(range(blocks.taps)), blocks.plane.out_channels, has_fpu(self.view), by_tap=True)
        buffer = _buffer(blocks.plane)
        call = all_blocks(blocks, buffer, stream, *_texts(stream, buffer))
        return replace(call, sources=("taps.h",))


def _texts(stream: Stream, buffer: Buffer) -> tuple[str, tuple[str, str]]:
    """Name and texts of 4 channels."""
    plane = buffer.plane
    (height, width), (down, right) = plane.kernel, plane.dilations
    places = [row * down * buffer.row_words + tap * right for row in range(height) for tap in range(width)]
    second = 4 * plane.strides[1] if plane.made_for[1] > 1 else 0
    name = (
        f"aidge_cortexm_depthwise_taps_int8_{height}x{width}_r{buffer.row_words}d{down}x{right}"
        f"{f's{plane.strides[1]}' if second else '_alone'}{'_last2' * buffer.leaves_one}{'_of_more' * (plane.in_gap > 0)}"
        f"_{stream.variant}{plane.suffix}"
    )
    code = dense.routine_of(stream)
    begin_row(code, stream, "column")
    code.label(1, "two pixels")
    code.put("base", "{column}")
    dense.groups(code, stream, lambda: _sums(code, [4 * place for place in places], second))
    end_row(code, "column")
    portable = (
        f"static const int16_t places[] = {{{', '.join(map(str, places))}}};\n"
        f"    aidge_cortexm_taps_row(words, output, stream, run, places, {len(places)}, {stream.shift}, {stream.form_in_c});"
    )
    row = code.function(f"{name}_row", ROW_PARAMETERS, f"{len(places)} taps of 4 channels.", portable)
    return name, (row, whole_layer(name, load_lines(plane), "(uint32_t)stream[2]", stream, buffer, buffer.leaves_one))


def _sums(code: Routine, places: list[int], second: int) -> None:
    """All taps of two pixels `second` bytes apart. The biases stand in b0..b3."""
    for index, place in enumerate(places):
        code("ldrd {w0}, {w1}, [{stream}], #8", "a tap of channels 0 and 2, of 1 and 3")
        for pixel, offset in (("a", place), ("b", place + second)):
            addend = "a" if pixel == "a" and index else "b"
            code(f"ldr {{x0}}, [{{column}}, #{offset}]")
            code("sxtb16 {x1}, {x0}, ror #8")
            code("sxtb16 {x0}, {x0}")
            for channel, (half, number) in enumerate((("bb", 0), ("bb", 1), ("tt", 0), ("tt", 1))):
                code(f"smla{half} {{{pixel}{channel}}}, {{x{number}}}, {{w{number}}}, {{{addend}{channel}}}")
