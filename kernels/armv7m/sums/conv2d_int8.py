# SPDX-License-Identifier: MIT
"""int8 convolution over one or two axes: blocks of pixels whose taps are gathered, three pixels to two words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.byte_weights import has_offsets
from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.kernel_kit.linear_int8 import Linear, LinearNode
from aidge_build.contract.kernel_kit.packing import group_starts, taps_last_channels
from aidge_build.contract.kernel_kit.raster import block_demands
from aidge_build.contract.kernel_kit.window2d import is_pointwise, window2d, window_of_layer
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from ..core.conditions import BYTES_AND_OFFSETS, linear_spec
from .dense import FEW_PIXELS, SHAPES, Shape, can_begin_so, offset_words, segment_taps
from .packing import CHANNEL_WORDS, NIBBLE_BITS, Form, form_of, grouped, grouped_numbers, head, with_offsets
from .pixels import layer_texts

MOST_SCRATCH_BYTES = 4096
MOST_BYTES_OF_FEW_PIXELS = 5632  # where the shape of the fewest pixels needs more than that
MOST_BYTES_WITH_OFFSETS = 8704  # no other kernel of a library computes these layers
BLOCK_BYTES = 80  # of aidge_armv7m_block


def shape_of(view: NodeView) -> Shape | None:
    """The first shape with small scratch, else the first one with scratch that is not too large; None where none is."""
    outputs, pixels = view.outputs[0].dims[1], _images_and_pixels(view)[1]
    if view.layer:
        pixels = view.layer.fewest * math.prod(view.outputs[0].dims[3:])
    shapes = (FEW_PIXELS, *SHAPES) if has_offsets(view) else SHAPES
    fitting = [shape for shape in shapes if shape.channels <= outputs and shape.pixels <= pixels]
    limits = MOST_SCRATCH_BYTES, MOST_BYTES_WITH_OFFSETS if has_offsets(view) else MOST_BYTES_OF_FEW_PIXELS
    return next((shape for most in limits for shape in fitting if scratch_bytes(view, shape) <= most), None)


def scratch_bytes(view: NodeView, shape: Shape) -> int:
    """The block, its column, what stands before that, and of a window a row of the pixels that share words."""
    fields = window2d(view.inputs[0], view.outputs[0], view.operator.window).fields
    run = fields["kernel_width"] * fields["in_channels"]
    column = shape.step_bytes * fields["kernel_height"] * run
    before = 4 * shape.pixels * has_offsets(view)
    return BLOCK_BYTES + before + column + (0 if is_pointwise(window_of_layer(view)) else 3 * run)


def _images_and_pixels(view: NodeView) -> tuple[int, int]:
    """Pixels of a pointwise layer are those of one image."""
    batches, _, *spatial = view.outputs[0].dims
    pixels = math.prod(spatial)
    return (1, batches * pixels) if is_pointwise(window_of_layer(view)) else (batches, pixels)


def _patched_rows(fields: Mapping[str, int]) -> int:
    """The rows of all windows of an image that are partly outside of it, and are copied."""
    rows, columns = (_places(fields, axis) for axis in ("height", "width"))
    inside_rows = int((rows >= 0).sum() - (rows >= fields["in_height"]).sum())
    is_inside = ((columns >= 0) & (columns < fields["in_width"])).all(axis=1) & (fields["dilation_width"] == 1)
    return rows.size * len(columns) - inside_rows * int(is_inside.sum())


def _places(fields: Mapping[str, int], axis: str) -> numpy.ndarray:
    """The places in the input of the taps of each output, [outputs, taps], along an axis."""
    outputs, taps = numpy.arange(fields[f"out_{axis}"]), numpy.arange(fields[f"kernel_{axis}"])
    first = outputs * fields[f"stride_{axis}"] - fields["pad_top" if axis == "height" else "pad_left"]
    return first[:, None] + taps * fields[f"dilation_{axis}"]


def _has_shape(view: NodeView) -> str:
    return "" if shape_of(view) else "too few pixels or channels, or too many taps for the scratch"


def _has_room(view: NodeView) -> str:
    linear = LinearNode(view).linear(taps_last_channels(view.inputs[1].data))
    fits = can_begin_so(form_of(linear), -(-linear.rows.shape[1] // _segment(linear, shape_of(view))))
    return "" if fits else "biases that leave the sums no room"


def _segment(linear: Linear, shape: Shape) -> int:
    """How many taps a sum has room for; the first segment of a column may be shorter."""
    taps = linear.rows.shape[1]
    return segment_taps(with_offsets(linear.rows)[:, -taps:], shape.unroll, linear.is_any)


BLOCKS = Predicate("6 or 3 pixels, few taps", _has_shape)
ROOM_OF_SUMS = Predicate("biases that fit", _has_room)


@kernel(("Conv1D", "Conv2D"), linear_spec(ONE_GROUP, BLOCKS, ROOM_OF_SUMS, weights=BYTES_AND_OFFSETS))
class Conv2dInt8(LinearNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        shape = shape_of(view)
        data, (output,) = view.inputs[0], view.outputs
        window = window2d(data, output, view.operator.window).fields
        images, pixels = _images_and_pixels(view)
        blocks = [
            (image * pixels + first, image * pixels + first + shape.pixels)
            for image in range(images)
            for first in group_starts(pixels, shape.pixels)
        ]
        return replace(block_demands(window, data, output, blocks), scratch_bytes=scratch_bytes(view, shape))

    def call(self) -> Call:
        shape, is_window = shape_of(self.view), not is_pointwise(window_of_layer(self.view))
        rows = taps_last_channels(self.inputs[1].data)
        linear = self.linear(rows)
        form = replace(form_of(linear), has_nibbles=linear.bits <= NIBBLE_BITS and shape.channels > 1)
        taps, segment = rows.shape[1], _segment(linear, shape)
        weights, numbers = with_offsets(linear.rows), offset_words(form, -(-taps // segment))
        group_bytes = shape.channels * weights.shape[1] // (2 if form.has_nibbles else 1)
        name, texts = layer_texts(shape, form, is_window, segment < taps or form.has_offsets)
        arguments = [
            Input(0),
            Output(0),
            Constant("weights", grouped(weights, shape.channels, form.has_nibbles)),
            Constant("numbers", numpy.concatenate([head(linear, form), grouped_numbers(numbers, shape.channels)])),
            Scratch(),
            self._layer(shape, taps, segment, group_bytes),
        ]
        if is_window:
            arguments.append(window2d(self.inputs[0], self.outputs[0], self.operator.window))
        return Call(
            name,
            ("core/gather.h" if is_window else "sums/pixels.h",),
            tuple(arguments),
            note=form.note,
            texts=texts,
            facts=form.facts(f"{shape.pixels} pixels x {shape.channels} channel{'s' * (shape.channels > 1)}"),
            work=self._turns(shape, taps, form),
        )

    def _turns(self, shape: Shape, taps: int, form: Form) -> dict[str, int]:
        """How often the loops turn: of blocks, of rows and words of their columns and of those that are copied because they reach
        beyond the image, of groups of channels; instructions of these; of groups with a channel that has no line."""
        images, pixels = _images_and_pixels(self.view)
        starts = group_starts(len(form.channels), shape.channels)
        has_no_line = [not form.channels[first : first + shape.channels, 0].all() for first in starts]
        blocks, rows, row_taps, patched = images * -(-pixels // shape.pixels), 1, 1, 0
        if not is_pointwise(window_of_layer(self.view)):
            fields = window2d(self.inputs[0], self.outputs[0], self.operator.window).fields
            rows, row_taps, patched = fields["kernel_height"], fields["kernel_width"], images * _patched_rows(fields)
        groups, slow = blocks * len(starts), blocks * sum(has_no_line)
        return {
            "blocks": blocks,
            "column_rows": blocks * shape.sets * rows,
            "column_words": blocks * shape.sets * taps,
            "patched_rows": patched,
            "patched_taps": patched * row_taps,
            "patched_words": patched * taps // rows,
            "groups": groups,
            "turns": groups * -(-taps // shape.unroll),
            "group_instructions": groups * shape.instructions(form, taps),
            "last_groups": blocks * (len(form.channels) % shape.channels > 0),
            "groups_without_line": slow,
            "outputs_without_line": slow * shape.channels * shape.pixels,
        }

    def _layer(self, shape: Shape, taps: int, segment: int, group_bytes: int) -> Struct:
        images, pixels = _images_and_pixels(self.view)
        outputs = self.outputs[0].dims[1]
        first, whole = taps - segment * ((taps - 1) // segment), outputs // shape.channels
        return Struct(
            "aidge_armv7m_layer",
            {
                "images": images,
                "pixels": pixels,
                "channels": self.inputs[0].dims[1],
                "outputs": outputs,
                "column_bytes": shape.step_bytes * taps,
                "entry": shape.entry(first),
                "first_bytes": shape.step_bytes * first,
                "segment_bytes": shape.step_bytes * segment,
                "whole_weights": whole * group_bytes,
                "whole_numbers": whole * shape.channels * CHANNEL_WORDS,
            },
        )
