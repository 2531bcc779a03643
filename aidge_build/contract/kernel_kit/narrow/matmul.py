# SPDX-License-Identifier: MIT
"""int8 products of two matrices that are computed at run time: columns of the second one become the stream of a dense layer, in
scratch, and the rows of the first one its pixels."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy

from aidge_build.contract.call import Call, computed
from aidge_build.contract.kernel_kit.conditions import ROOM
from aidge_build.contract.kernel_kit.linear_int8 import INT8
from aidge_build.contract.kernel_kit.narrow.columns import TAP_BYTES, dense_struct
from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.narrow.dense import SHIFT_BYTES, block_texts
from aidge_build.contract.kernel_kit.narrow.fc_rows import MOST_ROWS
from aidge_build.contract.kernel_kit.narrow.packing import SUM_BITS, Form, Stream, pack, words_in_turn
from aidge_build.contract.kernel_kit.products import columns_as_channels, matrix_dims, product_call, product_shape, product_spec
from aidge_build.contract.kernel_kit.window2d import rows_as_image
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import Demands, ImplSpec, NodeView, Predicate

MOST_SCRATCH_BYTES = 4096
HEAD_WORDS, BEFORE = 7, 2  # of the stream, and before the weights of a channel, which have an offset
_FURTHEST = INT8[0] - 1  # a weight that is the lowest byte and an offset


def _unfit(core: Core, view: NodeView) -> str:
    rows, inner, _ = matrix_dims(view.inputs)
    if rows <= MOST_ROWS:
        return f"{rows} rows, wants more than {MOST_ROWS}"
    if 128 * inner >= 1 << (SUM_BITS - 1):
        return f"{inner} products of a sum, too many for the words that three sums share"
    stream = _stream(core, view)
    if stream.form is Form.sums:
        return "its requantization is not proved"
    needed = _scratch_bytes(view, stream)
    return "" if needed <= MOST_SCRATCH_BYTES else f"{needed:,} B of scratch, wants at most {MOST_SCRATCH_BYTES:,}"


def spec(core: Core) -> ImplSpec:
    """Returns the spec of products on the cores of a library."""
    fits = Predicate("rows that pay, columns that fit the scratch, proved levels", partial(_unfit, core))
    return product_spec(ROOM, fits, features=core.features)


class MatmulInt8(KernelNode):
    """A library's subclass names its `core`."""

    core: ClassVar[Core]

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=_scratch_bytes(view, _stream(cls.core, view)))

    def call(self) -> Call:
        stream = _stream(self.core, self.view)
        rows, inner, columns = matrix_dims(self.inputs)
        image = rows_as_image((rows, inner), (rows, columns))
        block, functions = block_texts(self.core.on(self.view.features), stream)
        weights = stream.taps // 4
        shape = product_shape(
            "aidge_kit_narrow_product",
            self.inputs,
            self.outputs[0],
            weight_words=weights,
            tail_words=_tail_words(stream),
            stream_words=_stream_words(stream, columns),
        )
        points = [tensor.quantization.zero_point for tensor in self.inputs]
        words = numpy.delete(stream.words, numpy.s_[HEAD_WORDS + BEFORE : HEAD_WORDS + BEFORE + weights])
        function = f"{self.core.prefix}_matmul_int8_{stream.variant}"
        return product_call(
            function,
            self.inputs,
            numpy.concatenate([numpy.array(points, numpy.int32), words]),
            (shape, dense_struct(image.fields, stream, False)),
            ("core/target.h", "kit/narrow/matmul.h"),
            note=stream.note,
            texts=(*functions, _loop(function, block, stream.form is Form.single)),
            facts=computed("6 rows x 1 column", columns, columns, "column"),
        )


def _stream(core: Core, view: NodeView) -> Stream:
    """Returns the stream of one column of any values."""
    inner = matrix_dims(view.inputs)[1]
    linear = columns_as_channels(view, numpy.full((1, inner), _FURTHEST, numpy.int64))
    return pack(core, linear, words_in_turn(-(-inner // 4)))


def _tail_words(stream: Stream) -> int:
    """Returns the words after the weights of each column."""
    return len(stream.words) - HEAD_WORDS - BEFORE - stream.taps // 4


def _stream_words(stream: Stream, columns: int) -> int:
    return HEAD_WORDS + columns * (len(stream.words) - HEAD_WORDS)


def _scratch_bytes(view: NodeView, stream: Stream) -> int:
    return 4 * _stream_words(stream, matrix_dims(view.inputs)[2]) + SHIFT_BYTES + TAP_BYTES * stream.taps


def _loop(function: str, block: str, is_packed: bool) -> str:
    return f"""/* Products of int8 matrices. Scratch: the columns of the second one as a stream, then what six rows need. */
static void {function}(const int8_t *first, const int8_t *second, int8_t *output, const int32_t *pattern, void *scratch,
    const aidge_kit_narrow_product *shape, const aidge_kit_narrow_dense *dense)
{{
    int32_t *const stream = (int32_t *)scratch;
    uint32_t *const columns = (uint32_t *)scratch + shape->stream_words + {SHIFT_BYTES // 4};
    aidge_kit_narrow_window window = {{{{0}}, 0, 0, columns, dense, 0, 0, 0, 0}};
    int32_t place[4] = {{0, 0, 0, 0}};
    do {{
        int32_t row;
        aidge_kit_narrow_product_stream(second, pattern, stream, shape);
        for (row = 0; row < shape->rows; row += AIDGE_KIT_NARROW_PIXELS) {{
            const int8_t *const source = first + row * shape->inner;
            aidge_kit_narrow_product_rows(&window, source, output + row * shape->columns, shape->rows - row, shape);
            aidge_kit_narrow_shift_of(window.columns, shape->inner, {int(is_packed)});
            {block}
        }}
        output += shape->rows * shape->columns;
    }} while (aidge_kit_next_batch(place, shape->dims, shape->first_steps, shape->second_steps, &first, &second) != 0);
}}"""
