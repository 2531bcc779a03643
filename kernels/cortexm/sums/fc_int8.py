# SPDX-License-Identifier: MIT
"""int8 fully connected layer, and a convolution of one window, which sees the whole image."""

from __future__ import annotations

from aidge_build.contract.call import Call, Scratch, Struct
from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.kernel_kit.following import following
from aidge_build.contract.kernel_kit.linear_int8 import LinearNode, fewest_bits
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, NodeView
from aidge_build.graph.dtype import DType

from ..core.conditions import FEW_OUTPUTS, GROUP, WHOLE_IMAGE, Loop, has_fpu, linear_spec, wants_short
from . import fc_bits, fc_few
from .dense_node import stream_call
from .fc import routine
from .offset_weights import sum_taps
from .packed_sums import pack_nibbles
from .packing import pack, quads, rows_of_image
from .sparse import is_sparse_row, sparse
from .stream import Stream
from .weights import BITS, BYTES, OF_FEW_OUTPUTS, OF_ROWS

LONG_ROW = 512  # inputs, of which two halves cost less than one instruction in 200
LEAST_SAVED_BYTES = 64
LEAST_OF_TABLES = 64, 128  # outputs of one row, and of several, which products take two at a time


@kernel("FC", linear_spec(form=ROW_MAJOR, channels=FEW_OUTPUTS))
class FcInt8(LinearNode):
    assembly = "needed"
    unroll = Loop(56, {"speed": 40, "balanced": 16, "compact": 8, "size": 2})

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return fc_demands(view, view.inputs[0].dims[0])

    def call(self) -> Call:
        return fc_call(self, self.inputs[0].dims[0], self.unroll.steps(self.view))


@kernel(("Conv1D", "Conv2D"), linear_spec(ONE_GROUP, WHOLE_IMAGE, channels=FEW_OUTPUTS))
class WholeImageInt8(FcInt8):
    """An image is a row."""


def has_tables(view: NodeView, rows: int) -> bool:
    """Whether binary weights are to share bytes in flash, and tables of sums take fewer instructions than products."""
    outputs, features = _row(view, rows)
    are_many = view.packs_weights and outputs >= LEAST_OF_TABLES[rows > 1] and fc_bits.tables_of(features) > 0
    return are_many and view.inputs[1].dtype is DType.int8 and fewest_bits(view.inputs[1].data) == 1


def _blocks(view: NodeView, outputs: int, features: int) -> int:
    """2 where half of a row with the sums of all outputs takes much less room than the row, and few instructions more."""
    is_long = outputs >= GROUP and features >= LONG_ROW and features % 8 == 0 and not is_sparse_row(view)
    return 2 if is_long and features - _sums_bytes(outputs) >= LEAST_SAVED_BYTES else 1


def _row(view: NodeView, rows: int) -> tuple[int, int]:
    """How many outputs, and how many inputs each of them adds up."""
    return view.inputs[1].dims[0], view.inputs[0].elements // rows


def _sum_taps(view: NodeView, features: int) -> list[int]:
    """As in offset_weights.py, behind each block of a row: a step takes two pairs of them. The sum of nibbles waits elsewhere."""
    return [] if pack_nibbles(view) else sum_taps(view, features // _blocks(view, view.inputs[1].dims[0], features), together=4)


def _sums_bytes(outputs: int) -> int:
    return 4 * GROUP * -(-outputs // GROUP)


def fc_demands(view: NodeView, rows: int) -> Demands:
    """Scratch: a row as int16, or half of one and sums, which is there before its outputs are written."""
    outputs, features = _row(view, rows)
    is_whole = _blocks(view, outputs, features) == 1
    sums = 2 * len(_sum_taps(view, features))
    scratch = 0 if outputs < GROUP else 8 * ((features + 3) // 4) + sums if is_whole else features + sums + _sums_bytes(outputs)
    scratch = fc_bits.scratch_bytes(outputs, features) if has_tables(view, rows) else scratch
    return following([(row * outputs, row * features) for row in range(1, rows + 1)], view.outputs[0], scratch)


def fc_call(node: LinearNode, rows: int, unroll: int) -> Call:
    """The call for so many rows of all inputs."""
    outputs, features = _row(node.view, rows)
    if has_tables(node.view, rows):
        return _bits_call(node, rows)
    stream = _stream(node, outputs, features, unroll)
    shape = Struct("aidge_cortexm_fc", {"rows": rows, "outputs": outputs, "stream_bytes": stream.words.nbytes})
    if stream.few:
        function, text = fc_few.routine(stream, features, unroll)
    else:
        function, text = routine(stream, features, unroll, _blocks(node.view, outputs, features))
    others = (shape,) if stream.few else (Scratch(), shape)
    return stream_call(function, "sums/fc_int8.h", stream, others, (text,), pixels=1)


def _bits_call(node: LinearNode, rows: int) -> Call:
    """The call for binary weights."""
    view, is_short = node.view, wants_short(node.view)
    linear = fc_bits.for_bits(node.linear(rows_of_image(view)))
    outputs, features = linear.rows.shape
    stream = pack(
        linear, [], has_fpu(view), is_row=True, is_short=is_short, encodings=(BITS,), may_share=is_short, may_join=is_short
    )
    shape = Struct("aidge_cortexm_fc", {"rows": rows, "outputs": outputs, "stream_bytes": stream.words.nbytes})
    function, text = fc_bits.routine(stream, features)
    whole = fc_bits.with_bits(stream, linear.rows)
    return stream_call(function, "sums/fc_int8.h", whole, (Scratch(), shape), (text,), pixels=1)


def _order(view: NodeView, outputs: int, features: int) -> list[int]:
    """The inputs of a row, with what follows each block."""
    taps = [tap if tap < features else -1 for tap in quads(features)]
    size, sums = len(taps) // _blocks(view, outputs, features), _sum_taps(view, features)
    return [tap for first in range(0, len(taps), size) for tap in [*taps[first : first + size], *sums]]


def _stream(node: LinearNode, outputs: int, features: int, unroll: int) -> Stream:
    view = node.view
    # The stream of the layer; in a short row, a text that unpacks bytes is longer by more than they save.
    gains = outputs >= GROUP or features > 4 * unroll
    may_be_bytes = gains and view.objective != "speed" and node.inputs[1].dtype is DType.int8
    encodings = OF_ROWS if outputs >= GROUP else OF_FEW_OUTPUTS
    if is_sparse_row(view):
        encodings = (sparse(range(0, 2 * features, 8)),)
    return pack(
        node.linear(rows_of_image(view)),
        _order(view, outputs, features),
        has_fpu(view),
        is_even=_blocks(view, outputs, features) > 1,
        is_row=True,
        is_short=wants_short(view),
        encodings=tuple(weights for weights in encodings if may_be_bytes or weights is not BYTES),
        may_share=wants_short(view),
        may_join=wants_short(view) and not is_sparse_row(view),
    )
