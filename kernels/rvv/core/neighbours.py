# SPDX-License-Identifier: MIT
"""The C function around windows of neighbours that see as much of the image."""

from __future__ import annotations

SOURCES = ("core/taps.h",)
FIELDS = ("from", "rows", "columns", "column_step", "row_step", "count", "first")  # of aidge_rvv_taps


def neighbours_text(function: str, parameters: str, counted: str, together: str, arguments: str) -> str:
    """Returns the function of a layer, with these further `parameters`. It calls `function` for so many pixels `together`, with
    the taps of the first one, the place of the outputs, the numbers, and these `arguments`. A mean counts rows and columns up
    to `counted`; "0, 0": up to the ends of the image."""
    return f"""/* Neighbours that see as much of the image, one group after the other. */
static void {function}_layer(const void *values, void *results, const int32_t *numbers, {parameters},
                             const aidge_kit_window2d *shape)
{{
    const int8_t *input = (const int8_t *)values;
    int8_t *output = (int8_t *)results;
    int32_t batch, y, x;
    for (batch = shape->batches; batch > 0; batch--) {{
        for (y = 0; y < shape->out_height; y++) {{
            const int32_t top = y * shape->stride_height - shape->pad_top;
            x = 0;
            while (x < shape->out_width) {{
                const int32_t left = x * shape->stride_width - shape->pad_left;
                int32_t pixels = aidge_kit_alike(x, left, shape);
                const int32_t together = {together};
                aidge_rvv_taps taps = aidge_rvv_taps_of(input, top, left, {counted}, shape);
                x += pixels;
                while (pixels > 0) {{
                    {function}(&taps, output, numbers, {arguments});
                    taps.from += shape->stride_width * shape->in_channels;
                    output += together * shape->out_channels;
                    pixels -= together;
                }}
            }}
        }}
        input += shape->in_height * shape->in_width * shape->in_channels;
    }}
}}"""
