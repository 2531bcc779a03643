# SPDX-License-Identifier: MIT
"""int8 convolutions with groups, among them depthwise ones with several outputs per channel: each group is a dense layer whose
pixels lie apart. Groups of fewer than 4 outputs are computed several together, their weights for each other's channels are 0."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy

from aidge_build.contract.call import Call, Scratch, Struct
from aidge_build.contract.kernel_kit.linear_int8 import Linear, LinearNode
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from ..core.conditions import GROUP, has_fpu, keeps_words_of_groups, linear_spec, wants_short
from .conv2d import LARGEST_OFFSET, line_taps, lines_texts, plane_taps, planes_texts
from .conv2d_lines_int8 import Conv2dLinesInt8, no_lines
from .conv2d_planes_int8 import Conv2dPlanesInt8, no_planes
from .dense_node import stream_call
from .offset_weights import sum_taps
from .packing import pack_blocks
from .plane_sums import plane_sums, sum_bytes
from .stream import Stream
from .window import Buffer, Plane, line_buffer, plane_buffer, plane_of_view


@dataclass(frozen=True)
class Blocks:
    """How many groups there are, how many of them make a block, and the geometry of one block."""

    groups: int
    together: int
    plane: Plane

    @property
    def starts(self) -> list[int]:
        """The first group of each block; the last block overlaps the one before where that is needed."""
        return [min(first, self.groups - self.together) for first in range(0, self.groups, self.together)]

    @property
    def taps(self) -> int:
        return self.plane.kernel[0] * self.plane.kernel[1]

    @property
    def reads_planes(self) -> bool:
        return self.plane.in_channels % 4 == 0 and self.together == 1 and not no_planes(self.plane)

    def struct(self) -> Struct:
        """The struct of grouped.h."""
        return Struct(
            "aidge_cortexm_groups",
            {
                "blocks": len(self.starts),
                "together": self.together,
                "last": self.starts[-1],
                "channels": self.plane.in_channels // self.together,
                "outputs": self.plane.out_channels // self.together,
            },
        )

    def channels_of(self, linear: Linear) -> Linear:
        """The channels of all blocks, one behind the other."""
        outputs = self.plane.out_channels // self.together
        channels = (numpy.array(self.starts)[:, None] * outputs + numpy.arange(self.plane.out_channels)).ravel()
        return linear.of(channels)

    def linear(self, linear: Linear) -> Linear:
        """As `channels_of`, with the weights of whole blocks."""
        chosen = self.channels_of(linear)
        channels = linear.rows.shape[1] // self.taps
        rows = chosen.rows.reshape(len(self.starts), self.together, -1, *self.plane.kernel, 1, channels)
        whole = rows * numpy.eye(self.together, dtype=rows.dtype).reshape(1, self.together, 1, 1, 1, self.together, 1)
        return replace(chosen, rows=whole.reshape(len(chosen.rows), -1))

    def shape(self, buffer: Buffer, stream: Stream) -> Struct:
        """The struct of window.h for one block."""
        return buffer.struct(replace(stream, words=stream.words[: len(stream.words) // len(self.starts)]))


def blocks_of(view: NodeView) -> Blocks:
    """As few groups in a block as give it 4 outputs."""
    plane, groups = plane_of_view(view, is_upright=True), view.operator.groups
    channels, outputs = plane.in_channels // groups, plane.out_channels // groups
    together = -(-GROUP // outputs)
    block = replace(
        plane,
        in_channels=together * channels,
        out_channels=together * outputs,
        in_gap=plane.in_channels - together * channels,
        out_gap=plane.out_channels - together * outputs,
    )
    return Blocks(groups, together, block)


def _unfit(view: NodeView) -> str:
    if view.operator.groups == 1:
        return "one group"
    blocks = blocks_of(view)
    if blocks.plane.in_gap > LARGEST_OFFSET:
        return f"{blocks.plane.in_gap} channels of other groups in a pixel, wants at most {LARGEST_OFFSET}"
    return "" if blocks.reads_planes else no_lines(blocks.plane)


@kernel(("Conv1D", "Conv2D"), linear_spec(Predicate("several groups, of few taps or of a multiple of 4 channels", _unfit)))
class Conv2dGroupedInt8(LinearNode):
    assembly = "needed"

    @classmethod
    def keeps_words(cls, view: NodeView) -> bool:
        return super().keeps_words(view) and keeps_words_of_groups(view)

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        blocks = blocks_of(view)
        if blocks.reads_planes:
            buffer = plane_buffer(blocks.plane)
            return Demands(scratch_bytes=buffer.size_bytes + sum_bytes(buffer, plane_sums(view, blocks.plane)))
        buffer = line_buffer(blocks.plane)
        taps = len(line_taps(blocks.plane, buffer)[0])
        return Demands(scratch_bytes=buffer.size_bytes + 4 * (taps + len(sum_taps(view, taps))))

    def call(self) -> Call:
        blocks = blocks_of(self.view)
        linear = blocks.linear(self.linear(taps_last_channels(self.inputs[1].data)))
        outputs, fpu, is_short = blocks.plane.out_channels, has_fpu(self.view), wants_short(self.view)
        if blocks.reads_planes:
            buffer = plane_buffer(blocks.plane)
            order = plane_taps(blocks.plane) + plane_sums(self.view, blocks.plane)
            stream = pack_blocks(linear, order, outputs, fpu, is_short=is_short)
            layer, texts = planes_texts(
                stream,
                buffer,
                Conv2dPlanesInt8.unroll.steps(self.view),
                Conv2dPlanesInt8.looped.steps(self.view),
            )
        else:
            buffer = line_buffer(blocks.plane)
            order, places = line_taps(blocks.plane, buffer)
            stream = pack_blocks(linear, order + sum_taps(self.view, len(order)), outputs, fpu, is_short=is_short)
            layer, texts = lines_texts(stream, buffer, order, places, Conv2dLinesInt8.unroll.steps(self.view))
        return all_blocks(blocks, buffer, stream, layer, texts)


def all_blocks(blocks: Blocks, buffer: Buffer, stream: Stream, layer: str, texts: tuple[str, ...]) -> Call:
    """The call of a layer whose blocks are computed by the function `layer` of these texts."""
    around = f"""/* All blocks of groups. */
static void {layer}_groups(const int8_t *input, int8_t *output, const int32_t *stream, void *scratch,
    const aidge_cortexm_window *shape, const aidge_cortexm_groups *groups)
{{
    int32_t block;
    for (block = 0; block < groups->blocks; block++) {{
        const int32_t next = block * groups->together;
        const int32_t first = next < groups->last ? next : groups->last;
        {layer}(input + first * groups->channels, output + first * groups->outputs, stream, scratch, shape);
        stream += shape->stream_bytes / 4;
    }}
}}"""
    others = Scratch(), blocks.shape(buffer, stream), blocks.struct()
    return stream_call(f"{layer}_groups", "sums/grouped.h", stream, others, (*texts, around))
