# SPDX-License-Identifier: MIT
"""The C of convolutions and fully connected layers in any storage order under the contract `double`."""

from __future__ import annotations

from aidge_build.graph.dtype import DType

_OF_BYTES = """const int32_t sum = *b++ + {name}_sum(from, w, levels[0], seen, shape);
                            *to = (int8_t)(aidge_kit_level_fixed(sum, factor, levels[1], levels[2]) + levels[3]);"""
_OF_HALFWORDS = """int64_t level = *b++ + {name}_sum(from, w, 0, seen, shape);
                            level = aidge_kit_shift_right_s64(aidge_kit_multiply_s64(level, factor[0])
                                                                  + (int64_t)aidge_kit_shift_left(1, factor[1] - 1),
                                                              factor[1]);
                            level = level < levels[0] ? levels[0] : level;
                            *to = (int16_t)(level > levels[1] ? levels[1] : level);"""


def linear_text(data: DType, weights: DType) -> tuple[str, str]:
    """Name and text of the function for these types."""
    is_bytes = data is DType.int8
    name = "aidge_ref_linear_double" + ("_int16" if not is_bytes else "_wide" if weights is DType.int16 else "")
    total = "int32_t" if is_bytes else "int64_t"
    zero_point, level = (" - zero_point", _OF_BYTES) if is_bytes else ("", _OF_HALFWORDS)
    fields = {"name": name, "x": data.c_type, "w": weights.c_type, "total": total, "zero_point": zero_point}
    return name, _TEXT.format(level=level.format(name=name), unused="" if is_bytes else "    (void)zero_point;\n", **fields)


_TEXT = """/* The sum over the taps inside the image. Out of line: what it computes with is not needed any more. */
AIDGE_KIT_NOINLINE {total} {name}_sum(const {x} *input, const {w} *weights, int32_t zero_point,
    const aidge_ref_taps_double *seen, const aidge_ref_linear_shape *shape)
{{
    const int32_t rows = shape->kernel[1];
    const int32_t columns = shape->kernel[2];
    const int32_t taps = shape->kernel[0] * rows * columns;
    {total} sum = 0;
    int32_t plane, row, column, channel;
{unused}    for (plane = 0; plane < seen[0].count; plane++) {{
        for (row = 0; row < seen[1].count; row++) {{
            for (column = 0; column < seen[2].count; column++) {{
                const {x} *x = input + (seen[0].at + plane * shape->dilations[0]) * shape->in_steps[2]
                    + (seen[1].at + row * shape->dilations[1]) * shape->in_steps[3]
                    + (seen[2].at + column * shape->dilations[2]) * shape->in_steps[4];
                int32_t w = ((seen[0].first + plane) * rows + seen[1].first + row) * columns + seen[2].first + column;
                for (channel = shape->in_channels; channel > 0; channel--) {{
                    sum += (*x{zero_point}) * weights[w];
                    x += shape->in_steps[1];
                    w += taps;
                }}
            }}
        }}
    }}
    return sum;
}}
/*
 * Convolution or fully connected layer, any storage order.
 *
 * weights: [out_channels][in_channels][taps]; bias: [out_channels]; factors: [out_channels][2], or one pair if factor_step is 0;
 * of int8 as in kit/fixed.h, levels: {{zero point of the input, lowest - zero point, highest - zero point, zero point}} (the last
 * three of the output); of int16 {{multiplier, shift to the right}}, levels: {{lowest, highest}}.
 * Ranges: the generator has proved that no sum leaves its type, also shifted to the left, and no level int32.
 */
static void {name}(const {x} *input, {x} *output, const {w} *weights, const {total} *bias, const int32_t *factors,
    const int32_t *levels, int32_t factor_step, const aidge_ref_linear_shape *shape)
{{
    const int32_t row_size = shape->in_channels * shape->kernel[0] * shape->kernel[1] * shape->kernel[2];
    int32_t batch, plane, row, column, group, m;
    for (batch = 0; batch < shape->batches; batch++) {{
        for (plane = 0; plane < shape->out[0]; plane++) {{
            for (row = 0; row < shape->out[1]; row++) {{
                for (column = 0; column < shape->out[2]; column++) {{
                    aidge_ref_taps_double seen[3];
                    {x} *to = output + plane * shape->out_steps[2] + row * shape->out_steps[3] + column * shape->out_steps[4];
                    const {x} *from = input;
                    const {w} *w = weights;
                    const int32_t *factor = factors;
                    const {total} *b = bias;
                    seen[0] = aidge_ref_see_double(shape, 0, plane);
                    seen[1] = aidge_ref_see_double(shape, 1, row);
                    seen[2] = aidge_ref_see_double(shape, 2, column);
                    for (group = 0; group < shape->groups; group++) {{
                        for (m = 0; m < shape->out_channels; m++) {{
                            {level}
                            to += shape->out_steps[1];
                            w += row_size;
                            factor += factor_step;
                        }}
                        from += shape->in_channels * shape->in_steps[1];
                    }}
                }}
            }}
        }}
        input += shape->in_steps[0];
        output += shape->out_steps[0];
    }}
}}"""
