# SPDX-License-Identifier: MIT
"""int8 products of two matrices that are computed at run time: columns of the second one become the stream of a fully connected
layer, in scratch, and the rows of the first one its inputs."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.products import columns_as_channels, matrix_dims, product_call, product_shape, product_spec
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from ..core.conditions import FEATURES, GROUP, has_fpu
from .fc import HEAD_WORDS, routine
from .fc_int8 import FcInt8
from .packing import Stream, pack
from .weights import WIDE

BAND_BYTES = {"speed": 8192, "balanced": 4096, "size": 0}  # of scratch for the columns that are a stream at a time


def _columns(view: NodeView) -> str:
    columns = matrix_dims(view.inputs)[2]
    return "" if columns >= GROUP else f"{columns} columns, wants at least {GROUP}"


@kernel("MatMul", product_spec(Predicate("at least 4 columns", _columns), features=FEATURES))
class MatmulInt8(KernelNode):
    assembly = "needed"

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=4 * (_Bands(view).stream_words + 2 * _Bands(view).quads))

    def call(self) -> Call:
        bands = _Bands(self.view)
        layer, text = routine(bands.stream, matrix_dims(self.inputs)[1], FcInt8.unroll.steps(self.view))
        function = layer.replace("_fc_", "_matmul_")
        more = {"band": bands.columns, "stream_words": bands.stream_words, "tail_words": len(bands.tail)}
        return product_call(
            function,
            self.inputs,
            bands.pattern(self.inputs),
            (product_shape("aidge_cortexm_product", self.inputs, self.outputs[0], **more),),
            note=bands.stream.note,
            texts=(text, _loop(function, layer)),
            facts=bands.stream.facts(pixels=1),
        )


class _Bands:
    """Columns that are a stream at a time, and a stream of one group, or of two that overlap, without weights."""

    def __init__(self, view: NodeView):
        _, inner, columns = matrix_dims(view.inputs)
        self.quads = (inner + 3) // 4
        weight_words = WIDE.quad_words * self.quads  # of a group
        group_bytes = 4 * (GROUP + weight_words + GROUP + 2)
        most = GROUP * max(1, BAND_BYTES[view.objective] // group_bytes)
        self.columns = min(most, -(-columns // GROUP) * GROUP)
        is_stated = columns > self.columns or columns % GROUP > 0
        linear = columns_as_channels(view, numpy.zeros((GROUP + is_stated, 1), numpy.int64))
        self.stream: Stream = pack(linear, [-1, -1], has_fpu(view), is_alike=True, encodings=(WIDE,))
        weights = HEAD_WORDS + GROUP
        length = (len(self.stream.words) - HEAD_WORDS) // self.stream.groups
        self.tail = self.stream.words[weights + GROUP : HEAD_WORDS + length]
        self.stream_words = HEAD_WORDS + self.columns // GROUP * (GROUP + weight_words + len(self.tail))

    def pattern(self, inputs) -> numpy.ndarray:
        """The words of matmul_int8.h."""
        first, second = (tensor.quantization.zero_point for tensor in inputs)
        twice = numpy.array([second, second], numpy.int16).view(numpy.int32)
        extra, is_stated = self.stream.words[HEAD_WORDS], int(self.stream.is_stated)
        numbers = numpy.array([first, twice[0], extra, is_stated], numpy.int32)
        return numpy.concatenate([numbers, self.stream.words[:HEAD_WORDS], self.tail])


def _loop(function: str, layer: str) -> str:
    return f"""/* Products of int8 matrices. Scratch: a band of columns as a stream, a row as int16. */
static void {function}(const int8_t *first, const int8_t *second, int8_t *output, const int32_t *pattern, void *scratch,
    const aidge_cortexm_product *shape)
{{
    int32_t *const stream = (int32_t *)scratch;
    int32_t place[4] = {{0, 0, 0, 0}};
    int32_t column;
    do {{
        for (column = 0; column < shape->columns; column += shape->band) {{
            const int32_t left = shape->columns - column;
            const int32_t count = left < 4 ? 4 : left < shape->band ? left : shape->band;
            const int32_t start = left < 4 ? shape->columns - 4 : column;
            aidge_cortexm_fc rows;
            rows.rows = shape->rows;
            rows.outputs = shape->columns;
            rows.stream_bytes = aidge_cortexm_product_stream(second + start, stream, pattern, shape, count);
            {layer}(first, output + start, stream, stream + shape->stream_words, &rows);
        }}
        output += shape->rows * shape->columns;
    }} while (aidge_kit_next_batch(place, shape->dims, shape->first_steps, shape->second_steps, &first, &second) != 0);
}}"""
