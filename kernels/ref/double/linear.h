/* SPDX-License-Identifier: 0BSD */
#include "int8/dot_int8.h"
#include "kit/fixed.h"
#include "shared/linear_shape.h"

/* The first tap of an axis inside the image, where tap 0 lies at `start`, and the number of those that lie inside. */
typedef struct {
    int32_t at, first, count;
} aidge_ref_taps_double;

static inline aidge_ref_taps_double aidge_ref_see_double(const aidge_ref_linear_shape *shape, int32_t axis, int32_t place)
{
    const int32_t dilation = shape->dilations[axis];
    aidge_ref_taps_double seen;
    seen.at = place * shape->strides[axis] - shape->pads[axis];
    seen.first = 0;
    while (seen.at < 0) {
        seen.at += dilation;
        seen.first++;
    }
    seen.count = 0;
    while ((seen.first + seen.count < shape->kernel[axis]) && (seen.at + seen.count * dilation < shape->in[axis])) {
        seen.count++;
    }
    return seen;
}

/* The sum of (x - zero point) * weight over the taps inside the image; weights of one output [channels][taps], int16 if wide. */
AIDGE_KIT_INLINE int32_t aidge_ref_sum_double(const int8_t *input, const int8_t *weights, int32_t zero_point,
                                              const aidge_ref_taps_double *seen, const aidge_ref_linear_shape *shape,
                                              int32_t wide)
{
    const int32_t rows = shape->kernel[1];
    const int32_t columns = shape->kernel[2];
    const int32_t taps = shape->kernel[0] * rows * columns;
    int32_t sum = 0;
    int32_t plane, row, column, channel;
    for (plane = 0; plane < seen[0].count; plane++) {
        for (row = 0; row < seen[1].count; row++) {
            for (column = 0; column < seen[2].count; column++) {
                const int8_t *x = input + (seen[0].at + plane * shape->dilations[0]) * shape->in_steps[2]
                                  + (seen[1].at + row * shape->dilations[1]) * shape->in_steps[3]
                                  + (seen[2].at + column * shape->dilations[2]) * shape->in_steps[4];
                int32_t w = ((seen[0].first + plane) * rows + seen[1].first + row) * columns + seen[2].first + column;
                for (channel = shape->in_channels; channel > 0; channel--) {
                    sum += (*x - zero_point) * aidge_ref_weight(weights, w, wide);
                    x += shape->in_steps[1];
                    w += taps;
                }
            }
        }
    }
    return sum;
}

/* Out of line: what it computes with is not needed any more. */
AIDGE_KIT_NOINLINE int32_t aidge_ref_sum_double_narrow(const int8_t *input, const int8_t *weights, int32_t zero_point,
                                                       const aidge_ref_taps_double *seen, const aidge_ref_linear_shape *shape)
{
    return aidge_ref_sum_double(input, weights, zero_point, seen, shape, 0);
}

/* The same with int16 weights. */
AIDGE_KIT_NOINLINE int32_t aidge_ref_sum_double_wide(const int8_t *input, const int8_t *weights, int32_t zero_point,
                                                     const aidge_ref_taps_double *seen, const aidge_ref_linear_shape *shape)
{
    return aidge_ref_sum_double(input, weights, zero_point, seen, shape, 1);
}

/*
 * Convolution or fully connected layer, int8, any storage order: sums, requantized by factors of kit/fixed.h.
 *
 * weights: [out_channels][in_channels][taps]; bias: [out_channels]; factors: [out_channels][2], or one pair if factor_step is 0;
 * levels: {zero point of the input, lowest - zero point, highest - zero point, zero point} (the last three of the output).
 * Ranges: the generator has proved that no sum leaves int32, also shifted to the left.
 */
AIDGE_KIT_INLINE void aidge_ref_linear_double_any(const int8_t *input, int8_t *output, const int8_t *weights,
                                                  const int32_t *bias, const int32_t *factors, const int32_t *levels,
                                                  int32_t factor_step, const aidge_ref_linear_shape *shape, int32_t wide)
{
    const int32_t row_size = (shape->in_channels * shape->kernel[0] * shape->kernel[1] * shape->kernel[2]) << wide;
    int32_t batch, plane, row, column, group, m;
    for (batch = 0; batch < shape->batches; batch++) {
        for (plane = 0; plane < shape->out[0]; plane++) {
            for (row = 0; row < shape->out[1]; row++) {
                for (column = 0; column < shape->out[2]; column++) {
                    aidge_ref_taps_double seen[3];
                    int8_t *to = output + plane * shape->out_steps[2] + row * shape->out_steps[3] + column * shape->out_steps[4];
                    const int8_t *from = input;
                    const int8_t *w = weights;
                    const int32_t *factor = factors;
                    const int32_t *b = bias;
                    seen[0] = aidge_ref_see_double(shape, 0, plane);
                    seen[1] = aidge_ref_see_double(shape, 1, row);
                    seen[2] = aidge_ref_see_double(shape, 2, column);
                    for (group = 0; group < shape->groups; group++) {
                        for (m = 0; m < shape->out_channels; m++) {
                            const int32_t sum = *b++ + (wide != 0 ? aidge_ref_sum_double_wide(from, w, levels[0], seen, shape)
                                                                  : aidge_ref_sum_double_narrow(from, w, levels[0], seen, shape));
                            *to = (int8_t)(aidge_kit_level_fixed(sum, factor, levels[1], levels[2]) + levels[3]);
                            to += shape->out_steps[1];
                            w += row_size;
                            factor += factor_step;
                        }
                        from += shape->in_channels * shape->in_steps[1];
                    }
                }
            }
        }
        input += shape->in_steps[0];
        output += shape->out_steps[0];
    }
}

static void aidge_ref_linear_double(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *bias,
                                    const int32_t *factors, const int32_t *levels, int32_t factor_step,
                                    const aidge_ref_linear_shape *shape)
{
    aidge_ref_linear_double_any(input, output, weights, bias, factors, levels, factor_step, shape, 0);
}

/* The same with int16 weights. */
AIDGE_KIT_NOINLINE void aidge_ref_linear_double_wide(const int8_t *input, int8_t *output, const int16_t *weights,
                                                     const int32_t *bias, const int32_t *factors, const int32_t *levels,
                                                     int32_t factor_step, const aidge_ref_linear_shape *shape)
{
    aidge_ref_linear_double_any(input, output, (const int8_t *)weights, bias, factors, levels, factor_step, shape, 1);
}
