# SPDX-License-Identifier: MIT
"""int8 products of two matrices that are computed at run time: the second one has its elements where a layer has its weights."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.products import columns_as_channels, matrix_dims, operand, product_shape, product_spec
from aidge_build.contract.kernel_kit.window2d import rows_as_image
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView
from aidge_build.graph.dtype import DType

from ..core.assembly import FEATURES
from ..core.block import Block
from ..core.conditions import INTEGERS
from ..core.levels import Levels
from ..core.windows import SOURCES, facts, image_text
from .dense import block_of, dense_name, dense_text


class Product(KernelNode):
    """A product of matrices of integers or floats."""

    @staticmethod
    def block(view: NodeView) -> Block:
        """Returns the block of the rows."""
        rows, inner, columns = matrix_dims(view.inputs)
        return block_of(columns, rows, inner, "floats" if view.inputs[1].dtype is DType.float32 else "computed")

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        block = cls.block(view)
        return Demands(scratch_bytes=block.pixels * matrix_dims(view.inputs)[1] * block.element)

    def product(self, rounding: str, numbers: numpy.ndarray) -> Call:
        """Returns the call with these constants."""
        rows, inner, columns = matrix_dims(self.inputs)
        block = replace(self.block(self.view), rounding=rounding)
        name, element = dense_name(block), block.element
        batches = product_shape("aidge_kit_matrices", self.inputs, self.outputs[0], columns=columns * element)
        steps = {each: tuple(element * step for step in batches.fields[each]) for each in ("first_steps", "second_steps")}
        return Call(
            f"{name}_matrices",
            (*SOURCES, "kit/batches.h"),
            (
                operand(self.inputs, 0),
                operand(self.inputs, 1),
                Output(0),
                Constant("numbers", numbers),
                Scratch(),
                block.sizes(columns, 1, inner, may_stay=1),
                rows_as_image((rows, inner * element), (rows, columns * element)),
                Struct(batches.type, {**batches.fields, **steps}),
            ),
            note=f"{block.pixels} rows x a vector of columns, rounding: {block.rounding}",
            texts=(dense_text(block), image_text(name, block.pixels), _batches_text(name)),
            facts=facts(block),
        )


@kernel("MatMul", product_spec(INTEGERS, features=FEATURES))
class MatmulInt8(Product):
    def call(self) -> Call:
        columns = matrix_dims(self.inputs)[2]
        levels = Levels.of(self.view, columns_as_channels(self.view, numpy.zeros((columns, 0), numpy.int64)))
        return self.product(levels.rounding, levels.words(self.inputs[1].quantization.zero_point))


def _batches_text(function: str) -> str:
    return f"""/* Products of matrices, batch after batch. */
static void {function}_matrices(const void *left, const void *right, void *product, const int32_t *numbers, void *scratch,
    const aidge_rvv_sizes *sizes, const aidge_kit_window2d *image, const aidge_kit_matrices *shape)
{{
    const int8_t *first = (const int8_t *)left;
    const int8_t *second = (const int8_t *)right;
    int8_t *output = (int8_t *)product;
    int32_t place[4] = {{0, 0, 0, 0}};
    do {{
        {function}_layer(first, output, numbers, second, scratch, sizes, image);
        output += shape->rows * shape->columns;
    }} while (aidge_kit_next_batch(place, shape->dims, shape->first_steps, shape->second_steps, &first, &second) != 0);
}}"""
