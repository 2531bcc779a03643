/* SPDX-License-Identifier: 0BSD */
#include "double/linear.h"

/* The sum of x * weight over the taps inside the image; weights of one output [channels][taps]. */
static int64_t aidge_ref_sum_halfwords(const int16_t *input, const int8_t *weights, const aidge_ref_taps_double *seen,
                                       const aidge_ref_linear_shape *shape)
{
    const int32_t rows = shape->kernel[1];
    const int32_t columns = shape->kernel[2];
    const int32_t taps = shape->kernel[0] * rows * columns;
    int64_t sum = 0;
    int32_t plane, row, column, channel;
    for (plane = 0; plane < seen[0].count; plane++) {
        for (row = 0; row < seen[1].count; row++) {
            for (column = 0; column < seen[2].count; column++) {
                const int16_t *x = input + (seen[0].at + plane * shape->dilations[0]) * shape->in_steps[2]
                                   + (seen[1].at + row * shape->dilations[1]) * shape->in_steps[3]
                                   + (seen[2].at + column * shape->dilations[2]) * shape->in_steps[4];
                const int8_t *w = weights + ((seen[0].first + plane) * rows + seen[1].first + row) * columns
                                  + seen[2].first + column;
                for (channel = 0; channel < shape->in_channels; channel++) {
                    sum += x[channel * shape->in_steps[1]] * w[channel * taps];
                }
            }
        }
    }
    return sum;
}

/*
 * Convolution or fully connected layer, int16 with int8 weights, any storage order: sums of 64 bits times one factor.
 *
 * weights: [out_channels][in_channels][taps]; bias: [out_channels]; factors: [out_channels] {multiplier, shift to the right}, or
 * one pair if factor_step is 0; levels: {lowest, highest}. All zero points are 0.
 * Ranges: the generator has proved that no product leaves int64 and no level int32.
 */
static void aidge_ref_linear_double_int16(const int16_t *input, int16_t *output, const int8_t *weights, const int64_t *bias,
                                          const int32_t *factors, const int32_t *levels, int32_t factor_step,
                                          const aidge_ref_linear_shape *shape)
{
    const int32_t row_size = shape->in_channels * shape->kernel[0] * shape->kernel[1] * shape->kernel[2];
    int32_t batch, plane, row, column, group, m;
    for (batch = 0; batch < shape->batches; batch++) {
        for (plane = 0; plane < shape->out[0]; plane++) {
            for (row = 0; row < shape->out[1]; row++) {
                for (column = 0; column < shape->out[2]; column++) {
                    aidge_ref_taps_double seen[3];
                    int32_t to = plane * shape->out_steps[2] + row * shape->out_steps[3] + column * shape->out_steps[4];
                    const int16_t *from = input;
                    const int8_t *w = weights;
                    const int32_t *factor = factors;
                    int32_t channel = 0;
                    seen[0] = aidge_ref_see_double(shape, 0, plane);
                    seen[1] = aidge_ref_see_double(shape, 1, row);
                    seen[2] = aidge_ref_see_double(shape, 2, column);
                    for (group = 0; group < shape->groups; group++) {
                        for (m = 0; m < shape->out_channels; m++) {
                            int64_t level = bias[channel] + aidge_ref_sum_halfwords(from, w, seen, shape);
                            level = aidge_kit_shift_right_s64(aidge_kit_multiply_s64(level, factor[0])
                                                                  + (int64_t)aidge_kit_shift_left(1, factor[1] - 1),
                                                              factor[1]);
                            level = level < levels[0] ? levels[0] : level;
                            output[to] = (int16_t)(level > levels[1] ? levels[1] : level);
                            to += shape->out_steps[1];
                            w += row_size;
                            factor += factor_step;
                            channel++;
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
