# SPDX-License-Identifier: MIT
"""The C function around a block of pixels, and the memory of its windows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct, computed

from .assembly import LANES
from .block import Block
from .floats import Floats
from .levels import Levels

SOURCES = ("core/target.h", "core/strip.h")


def columns_of(shape: Mapping[str, int]) -> int:
    """Returns the columns from the first to the last one that a window sees."""
    return (shape["kernel_width"] - 1) * shape["dilation_width"] + 1


def strip_bytes(shape: Mapping[str, int], pixels: int, element: int = 1) -> int:
    """Returns the room for what the windows of so many neighbours see."""
    width = (pixels - 1) * shape["stride_width"] + columns_of(shape)
    return shape["kernel_height"] * width * shape["in_channels"] * element


def is_one_vector(channels: int, block: Block) -> bool:
    """Whether all channels of a block are computed before one of them is stored, however long vectors are."""
    return channels <= LANES * block.registers


def blocks_of(shape: Mapping[str, int], pixels: int) -> list[tuple[int, int]]:
    """(First pixel, one past the last) of the pixels that are computed together."""
    width = shape["out_width"]
    rows = range(0, shape["batches"] * shape["out_height"] * width, width)
    return [(row + first, row + min(first + pixels, width)) for row in rows for first in range(0, width, pixels)]


def layer_call(block: Block, text: str, function: str, levels: Levels | Floats, sizes: Struct, image: Struct) -> Call:
    """Returns the call of a layer over an image; `function` is the name of the block's text."""
    in_bytes = {name: block.element * image.fields[name] for name in ("in_channels", "out_channels")}
    image = Struct(image.type, {**image.fields, **in_bytes})
    return Call(
        f"{function}_layer",
        SOURCES,
        (Input(0), Output(0), *constants(levels, block), Scratch(), sizes, image),
        note=f"{block.pixels} pixels x a vector of channels, rounding: {block.rounding}",
        texts=(text, image_text(function, block.pixels)),
        facts=facts(block),
    )


def constants(levels: Levels | Floats, block: Block) -> tuple[Constant, Constant]:
    """Returns the arrays of a layer: its constants, and its weights, where all outputs of a tap are neighbours."""
    types = {"words": numpy.int16, "floats": numpy.float32}
    weights = numpy.ascontiguousarray(levels.rows.T, types.get(block.weights, numpy.int8))
    return Constant("numbers", levels.words()), Constant("weights", weights)


def facts(block: Block, what: str = "") -> dict[str, str]:
    """For `Call.facts`; `what` is computed together."""
    what = what or f"{block.pixels} pixel{'s' * (block.pixels > 1)} x a vector of channels"
    if block.is_float:
        return computed(what)
    otherwise = "float" if block.rounding == "float" else "fixed point"
    return computed(what, int(block.rounding == "even"), otherwise=otherwise)


def image_text(function: str, pixels: int) -> str:
    """Returns the C function that computes an image, so many pixels of a row at a time."""
    return f"""/* {pixels} pixels of a row at a time. */
static void {function}_layer(const void *values, void *results, const int32_t *numbers, const void *weights,
                             void *scratch, const aidge_rvv_sizes *sizes, const aidge_kit_window2d *shape)
{{
    const int8_t *input = (const int8_t *)values;
    int8_t *output = (int8_t *)results;
    const int32_t width = {pixels - 1} * shape->stride_width + sizes->columns;
    const int32_t copied_step = aidge_rvv_row_step(width, sizes, shape);
    const int32_t step = aidge_rvv_row_step(shape->dilation_height * shape->in_width, sizes, shape);
    int32_t batch, y;
    for (batch = shape->batches; batch > 0; batch--) {{
        for (y = 0; y < shape->out_height; y++) {{
            const int32_t top = y * shape->stride_height - shape->pad_top;
            int32_t x = 0;
            while (x < shape->out_width) {{
                const int32_t left = x * shape->stride_width - shape->pad_left;
                int32_t count = aidge_rvv_staying(top, left, x, {pixels}, sizes, shape);
                if (count > 0) {{
                    const int8_t *const window = input + (top * shape->in_width + left) * shape->in_channels;
                    {function}(window, output, numbers, weights, step, count, sizes);
                }} else {{
                    count = shape->out_width - x < {pixels} ? shape->out_width - x : {pixels};
                    aidge_rvv_gather((int8_t *)scratch, input, top, left, width, numbers[3], shape);
                    {function}((const int8_t *)scratch, output, numbers, weights, copied_step, count, sizes);
                }}
                output += count * shape->out_channels;
                x += count;
            }}
        }}
        input += shape->in_height * shape->in_width * shape->in_channels;
    }}
}}"""
