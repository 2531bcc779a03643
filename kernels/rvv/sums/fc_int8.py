# SPDX-License-Identifier: MIT
"""int8 fully connected layer."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.call import Call, Input, Literal, Output, Struct
from aidge_build.contract.kernel_kit.following import following
from aidge_build.contract.kernel_kit.linear_int8 import LinearNode
from aidge_build.contract.kernel_kit.window2d import rows_as_image
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, NodeView

from ..core.block import Block
from ..core.conditions import linear_spec, weights_of
from ..core.levels import rounding_of
from ..core.windows import SOURCES, blocks_of, constants, facts, is_one_vector, layer_call, strip_bytes
from .dense import block_of, dense_name, dense_text
from .row import row_text, taps_together

FEWEST_OF_TWO = 32  # outputs; more fill a vector of bytes with sums in sixteen registers by more than a half


def _block(view: NodeView) -> Block:
    outputs, features = view.inputs[1].dims
    return block_of(outputs, view.inputs[0].dims[0], features, weights_of(view))


@kernel("FC", linear_spec(form=ROW_MAJOR))
class FcInt8(LinearNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        (data, *_), (output,) = view.inputs, view.outputs
        if data.dims[0] == 1:
            return Demands()
        image, pixels = rows_as_image(data.dims, output.dims).fields, _block(view).pixels
        steps = [(end * output.dims[1], end * data.dims[1]) for _, end in blocks_of(image, pixels)]
        return following(steps, output, strip_bytes(image, pixels))

    def call(self) -> Call:
        linear = self.linear(self.inputs[1].data).in_fine_units()
        block, (outputs, features) = replace(_block(self.view), rounding=rounding_of(linear)), self.inputs[1].dims
        sizes = block.sizes(outputs, 1, features, may_stay=int(is_one_vector(outputs, block)))
        text, name = dense_text(block), dense_name(block)
        if self.inputs[0].dims[0] > 1:
            image = rows_as_image(self.inputs[0].dims, self.outputs[0].dims)
            return layer_call(block, text, name, linear, sizes, image)
        count = taps_together(linear) if outputs > FEWEST_OF_TWO and block.weights == "bytes" else 1
        more = (Literal(0), Literal(1)) if count == 1 else ()
        if count > 1:
            name = f"aidge_rvv_fc_row_int8_{block.rounding}_{count}" + (f"_{features % count}" if features % count else "")
            text = row_text(name, block.rounding, count, features % count)
            sizes = Struct(sizes.type, {**sizes.fields, "turns": features // count})
        arguments = Input(0), Output(0), *constants(linear, block), *more, sizes
        return Call(name, SOURCES, arguments, f"a vector of outputs, rounding: {block.rounding}", (text,), facts=facts(block))
