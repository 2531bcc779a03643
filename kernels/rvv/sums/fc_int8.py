# SPDX-License-Identifier: MIT
"""int8 fully connected layer."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.call import Argument, Call, Input, Literal, Output, Struct
from aidge_build.contract.kernel_kit.following import following
from aidge_build.contract.kernel_kit.linear_int8 import LinearNode
from aidge_build.contract.kernel_kit.window2d import rows_as_image
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, NodeView

from ..core.block import Block
from ..core.conditions import linear_spec, weights_of
from ..core.floats import Floats
from ..core.levels import Levels
from ..core.windows import SOURCES, blocks_of, constants, facts, is_one_vector, layer_call, strip_bytes
from .dense import block_of, dense_name, dense_text
from .row import row_text, taps_together

FEWEST_OF_TWO = 32  # outputs; more fill a vector of bytes with sums in sixteen registers by more than a half


class FullyConnected(KernelNode):
    """A fully connected layer of integers or floats."""

    @staticmethod
    def block(view: NodeView) -> Block:
        """Returns the block of the rows."""
        outputs, features = view.inputs[1].dims
        return block_of(outputs, view.inputs[0].dims[0], features, weights_of(view))

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        (data, *_), (output,) = view.inputs, view.outputs
        if data.dims[0] == 1:
            return Demands()
        image, block = rows_as_image(data.dims, output.dims).fields, cls.block(view)
        bytes_of_rows = output.dims[1] * block.element, data.dims[1] * block.element
        steps = [tuple(end * each for each in bytes_of_rows) for _, end in blocks_of(image, block.pixels)]
        return following(steps, output, strip_bytes(image, block.pixels, block.element))

    def layer(self, levels: Levels | Floats) -> Call:
        """Returns the call with the constants in `levels`."""
        block, (outputs, features) = replace(self.block(self.view), rounding=levels.rounding), self.inputs[1].dims
        sizes = block.sizes(outputs, 1, features, may_stay=int(is_one_vector(outputs, block)))
        text, name = dense_text(block), dense_name(block)
        if self.inputs[0].dims[0] > 1:
            return layer_call(block, text, name, levels, sizes, rows_as_image(self.inputs[0].dims, self.outputs[0].dims))
        return self.row(name, text, block, (*constants(levels, block), Literal(0), Literal(1), sizes))

    @staticmethod
    def row(name: str, text: str, block: Block, arguments: tuple[Argument, ...]) -> Call:
        """Returns the call of a function of one row."""
        note = f"a vector of outputs, rounding: {block.rounding}"
        return Call(name, SOURCES, (Input(0), Output(0), *arguments), note, (text,), facts=facts(block))


@kernel("FC", linear_spec(form=ROW_MAJOR))
class FcInt8(FullyConnected, LinearNode):
    def call(self) -> Call:
        levels = Levels.of(self.view, self.linear(self.inputs[1].data))
        outputs, features = self.inputs[1].dims
        block = replace(self.block(self.view), rounding=levels.rounding)
        is_row = self.inputs[0].dims[0] == 1 and outputs > FEWEST_OF_TWO and block.weights == "bytes"
        count = taps_together(levels.linear) if is_row else 1
        if count == 1:
            return self.layer(levels)
        name = f"aidge_rvv_fc_row_int8_{block.rounding}_{count}" + (f"_{features % count}" if features % count else "")
        sizes = block.sizes(outputs, 1, features)
        sizes = Struct(sizes.type, {**sizes.fields, "turns": features // count})
        text = row_text(name, block.rounding, count, features % count)
        return self.row(name, text, block, (*constants(levels, block), sizes))
