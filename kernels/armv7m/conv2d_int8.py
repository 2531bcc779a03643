# SPDX-License-Identifier: MIT
"""int8 convolution over one or two axes: blocks of pixels whose taps are gathered two pixels to a word."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.kernel_kit.linear_int8 import Linear, LinearNode
from aidge_build.contract.kernel_kit.raster import block_demands
from aidge_build.contract.kernel_kit.window2d import is_pointwise, window2d, window_of_layer
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate

from .conditions import BYTES_AND_OFFSETS, FITTING_SUMS, has_offsets, linear_spec
from .dense import SHAPES, Shape
from .packing import CHANNEL_WORDS, Form, form_of, group_starts, grouped, grouped_numbers, head, taps_last_channels, with_offsets
from .pixels import layer_texts

MOST_SCRATCH_BYTES = 4096
BLOCK_BYTES = 80  # of aidge_armv7m_block


def shape_of(view: NodeView, shapes: tuple[Shape, ...] = SHAPES) -> Shape | None:
    """The first shape whose scratch is small enough; None where none is."""
    outputs, pixels = view.outputs[0].dims[1], _images_and_pixels(view)[1]
    if view.layer:
        pixels = view.layer.fewest * math.prod(view.outputs[0].dims[3:])
    return next(
        (
            shape
            for shape in shapes
            if scratch_bytes(view, shape) <= MOST_SCRATCH_BYTES and shape.channels <= outputs and shape.pixels <= pixels
        ),
        None,
    )


def scratch_bytes(view: NodeView, shape: Shape) -> int:
    """The block, its column, what stands before that, and of a window a row of the pixels that share words."""
    fields = window2d(view.inputs[0], view.outputs[0], view.operator.window).fields
    run = fields["kernel_width"] * fields["in_channels"]
    column = shape.step_bytes * fields["kernel_height"] * run
    before = 4 * shape.pixels * has_offsets(view)
    return BLOCK_BYTES + before + column + (0 if is_pointwise(window_of_layer(view)) else shape.together * run)


def _images_and_pixels(view: NodeView) -> tuple[int, int]:
    """Pixels of a pointwise layer are those of one image."""
    batches, _, *spatial = view.outputs[0].dims
    pixels = math.prod(spatial)
    return (1, batches * pixels) if is_pointwise(window_of_layer(view)) else (batches, pixels)


def _patched_rows(fields: Mapping[str, int]) -> int:
    """Of the windows of all outputs of an image, the rows that do not lie in it as a whole."""
    rows, columns = (_places(fields, axis) for axis in ("height", "width"))
    inside_rows = int((rows >= 0).sum() - (rows >= fields["in_height"]).sum())
    is_inside = ((columns >= 0) & (columns < fields["in_width"])).all(axis=1) & (fields["dilation_width"] == 1)
    return rows.size * len(columns) - inside_rows * int(is_inside.sum())


def _places(fields: Mapping[str, int], axis: str) -> numpy.ndarray:
    """Where in the input the taps of each output are [outputs, taps] along an axis."""
    outputs, taps = numpy.arange(fields[f"out_{axis}"]), numpy.arange(fields[f"kernel_{axis}"])
    first = outputs * fields[f"stride_{axis}"] - fields["pad_top" if axis == "height" else "pad_left"]
    return first[:, None] + taps * fields[f"dilation_{axis}"]


def _has_shape(view: NodeView) -> str:
    return "" if shape_of(view) else "too few pixels, or too many taps for the scratch"


BLOCKS = Predicate("pixels and taps that make blocks", _has_shape)


@kernel(("Conv1D", "Conv2D"), linear_spec(ONE_GROUP, BLOCKS, FITTING_SUMS, weights=BYTES_AND_OFFSETS))
class Conv2dInt8(LinearNode):
    shapes: ClassVar[tuple[Shape, ...]] = SHAPES

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        shape = shape_of(view, cls.shapes)
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
        shape, is_window = shape_of(self.view, self.shapes), not is_pointwise(window_of_layer(self.view))
        rows = taps_last_channels(self.inputs[1].data)
        linear = self.linear(rows)
        form = form_of(linear)
        segment = self.segment_taps(shape, linear)
        name, texts = layer_texts(shape, form, is_window, segment < rows.shape[1])
        arguments = [
            Input(0),
            Output(0),
            Constant("weights", grouped(with_offsets(linear.rows), shape.channels)),
            Constant("numbers", numpy.concatenate([head(linear, form), self.numbers(shape, form, rows.shape[1], segment)])),
            Scratch(),
            self._layer(shape, rows.shape[1], with_offsets(linear.rows).shape[1], segment),
        ]
        if is_window:
            arguments.append(window2d(self.inputs[0], self.outputs[0], self.operator.window))
        return Call(
            name,
            ("gather.h" if is_window else "pixels.h",),
            tuple(arguments),
            note=form.note,
            texts=texts,
            facts=form.facts(f"{shape.pixels} pixels x {shape.channels} channel{'s' * (shape.channels > 1)}"),
            work=self._turns(shape, rows.shape[1], form),
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
            "column_rows": blocks * shape.pairs * rows,
            "column_words": blocks * shape.pairs * taps,
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

    def segment_taps(self, shape: Shape, linear: Linear) -> int:
        """How many taps a sum has room for; the first segment of a column may be shorter."""
        return linear.rows.shape[1]

    def numbers(self, shape: Shape, form: Form, taps: int, segment: int) -> numpy.ndarray:
        """Those of the groups."""
        return grouped_numbers(form.channels, shape.channels)

    def _layer(self, shape: Shape, taps: int, row_bytes: int, segment: int) -> Struct:
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
                "whole_weights": whole * shape.channels * row_bytes,
                "whole_numbers": whole * shape.channels * CHANNEL_WORDS,
            },
        )
