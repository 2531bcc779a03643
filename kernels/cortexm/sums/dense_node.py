# SPDX-License-Identifier: MIT
"""Layers that the dense core computes."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.contract.call import Argument, Call, Constant, Input, Output
from aidge_build.contract.kernel_kit.linear_int8 import LinearNode
from aidge_build.contract.kernel_kit.packing import taps_last_channels

from ..core.conditions import has_fpu, wants_short
from .packing import pack
from .sparse import has_few_blocks, sparse
from .stream import Stream


class DenseNode(LinearNode):
    """A convolution of one group of channels."""

    assembly = "needed"

    def stream(self, order: list[int], blocks: Sequence[int] = (), places: Sequence[int] = ()) -> Stream:
        """For taps in this order, as in `pack`; or for taps in the order `blocks`, where so few of these have weights that the
        others are left out. `places` are the bytes of the blocks in the column."""
        linear, is_short = self.linear(taps_last_channels(self.inputs[1].data)), wants_short(self.view)
        if places and has_fpu(self.view) and has_few_blocks(linear, places):  # sums wait in registers of an FPU
            return pack(linear, list(blocks), has_fpu(self.view), is_short=is_short, encodings=(sparse(places),))
        return pack(linear, order, has_fpu(self.view), is_short=is_short, may_join=is_short)


def stream_call(
    function: str, header: str, stream: Stream, others: Sequence[Argument], texts: Sequence[str], pixels: int = 2, **said
) -> Call:
    """The call of a layer of the dense core for so many pixels at a time; the `others` follow the stream."""
    arguments = (Input(0), Output(0), Constant("stream", stream.words), *others)
    return Call(function, (header,), arguments, note=stream.note, texts=tuple(texts), facts=stream.facts(pixels), **said)
