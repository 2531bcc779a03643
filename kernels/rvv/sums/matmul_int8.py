# SPDX-License-Identifier: MIT
"""int8 products of two matrices that are computed at run time: the second one has its elements where a layer has its weights."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Output, Scratch
from aidge_build.contract.kernel_kit.products import columns_as_channels, matrix_dims, operand, product_shape, product_spec
from aidge_build.contract.kernel_kit.window2d import rows_as_image
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView

from ..core.assembly import FEATURES
from ..core.block import Block
from ..core.levels import words_of
from ..core.windows import SOURCES, facts, image_text
from .dense import block_of, dense_name, dense_text


def _block(view: NodeView) -> Block:
    rows, inner, columns = matrix_dims(view.inputs)
    return block_of(columns, rows, inner, "computed")


@kernel("MatMul", product_spec(features=FEATURES))
class MatmulInt8(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=_block(view).pixels * matrix_dims(view.inputs)[1])

    def call(self) -> Call:
        block, (rows, inner, columns) = _block(self.view), matrix_dims(self.inputs)
        name = dense_name(block)
        linear = columns_as_channels(self.view, numpy.zeros((columns, 0), numpy.int64))
        image = rows_as_image((rows, inner), (rows, columns))
        return Call(
            f"{name}_matrices",
            (*SOURCES, "kit/batches.h"),
            (
                operand(self.inputs, 0),
                operand(self.inputs, 1),
                Output(0),
                Constant("numbers", words_of(linear, self.inputs[1].quantization.zero_point)),
                Scratch(),
                block.sizes(columns, 1, inner, may_stay=1),
                image,
                product_shape("aidge_kit_matrices", self.inputs, self.outputs[0]),
            ),
            note=f"{block.pixels} rows x a vector of columns, requantized in float",
            texts=(dense_text(block), image_text(name, block.pixels), _batches_text(name)),
            facts=facts(block),
        )


def _batches_text(function: str) -> str:
    return f"""/* Products of matrices, batch after batch. */
static void {function}_matrices(const int8_t *first, const int8_t *second, int8_t *output, const int32_t *numbers, void *scratch,
    const aidge_rvv_sizes *sizes, const aidge_kit_window2d *image, const aidge_kit_matrices *shape)
{{
    int32_t place[4] = {{0, 0, 0, 0}};
    do {{
        {function}_layer(first, output, numbers, second, scratch, sizes, image);
        output += shape->rows * shape->columns;
    }} while (aidge_kit_next_batch(place, shape->dims, shape->first_steps, shape->second_steps, &first, &second) != 0);
}}"""
