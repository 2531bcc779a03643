/* SPDX-License-Identifier: 0BSD */
#include "dot_int8.h"
#include "requantize.h"
#include "window2d.h"

/*
 * Convolution with any kernel, stride, dilation, pads and groups; int8, channels last.
 *
 * weights: for each group, for each block of 4 output channels [kernel_height][kernel_width][channels][4]; the last
 *   (out_channels / groups) % 4 channels of a group follow one by one as [kernel_height][kernel_width][channels].
 * bias: [out_channels]; multipliers: [out_channels], or one for all if multiplier_step is 0;
 * levels: {input zero point, lowest - zero point, highest - zero point, zero point} (the last three of the output).
 * Ranges: the generator has proved that no accumulator leaves int32.
 */
static void aidge_ref_conv2d_int8(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *bias,
                                  const float *multipliers, const int32_t *levels, int32_t multiplier_step,
                                  const aidge_ref_window2d *shape)
{
    const int32_t channels = shape->in_channels / shape->groups;
    const int32_t outputs = shape->out_channels / shape->groups;
    const int32_t taps = shape->kernel_height * shape->kernel_width * channels;
    const int32_t row = shape->in_width * shape->in_channels;
    const int32_t zero_point = levels[0];
    const int contiguous = (shape->groups == 1) && (shape->dilation_width == 1);
    int32_t batch, y, x, group, channel, ky, run;

    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_ref_first_tap(top, shape->dilation_height);
            const int32_t end_y = aidge_ref_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height);
            for (x = 0; x < shape->out_width; x++) {
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_ref_first_tap(left, shape->dilation_width);
                const int32_t end_x = aidge_ref_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width);
                const int32_t columns = end_x > first_x ? end_x - first_x : 0;
                const int32_t runs = contiguous ? 1 : columns;
                const int32_t length = contiguous ? columns * channels : channels;
                const int32_t step = shape->dilation_width * shape->in_channels;
                const int8_t *corner = input + (top + first_y * shape->dilation_height) * row
                                       + (left + first_x * shape->dilation_width) * shape->in_channels;
                const int8_t *block = weights;
                const int32_t *first_bias = bias;
                const float *multiplier = multipliers;
                for (group = 0; group < shape->groups; group++) {
                    for (channel = 0; channel + 4 <= outputs; channel += 4) {
                        int32_t sums[4];
                        const int8_t *source_row = corner;
                        const int8_t *w_row = block + (first_y * shape->kernel_width + first_x) * channels * 4;
                        sums[0] = first_bias[0];
                        sums[1] = first_bias[1];
                        sums[2] = first_bias[2];
                        sums[3] = first_bias[3];
                        for (ky = first_y; ky < end_y; ky++) {
                            const int8_t *source = source_row;
                            const int8_t *w = w_row;
                            for (run = 0; run < runs; run++) {
                                aidge_ref_dot4_int8(source, w, length, zero_point, sums);
                                source += step;
                                w += length * 4;
                            }
                            source_row += shape->dilation_height * row;
                            w_row += shape->kernel_width * channels * 4;
                        }
                        output[0] = aidge_ref_requantize(sums[0], multiplier[0], levels + 1);
                        output[1] = aidge_ref_requantize(sums[1], multiplier[multiplier_step], levels + 1);
                        output[2] = aidge_ref_requantize(sums[2], multiplier[2 * multiplier_step], levels + 1);
                        output[3] = aidge_ref_requantize(sums[3], multiplier[3 * multiplier_step], levels + 1);
                        output += 4;
                        multiplier += 4 * multiplier_step;
                        first_bias += 4;
                        block += taps * 4;
                    }
                    for (; channel < outputs; channel++) {
                        int32_t sum = *first_bias++;
                        const int8_t *source_row = corner;
                        const int8_t *w_row = block + (first_y * shape->kernel_width + first_x) * channels;
                        for (ky = first_y; ky < end_y; ky++) {
                            for (run = 0; run < runs; run++) {
                                sum += aidge_ref_dot_int8(source_row + run * step, w_row + run * length, length, zero_point);
                            }
                            source_row += shape->dilation_height * row;
                            w_row += shape->kernel_width * channels;
                        }
                        *output++ = aidge_ref_requantize(sum, *multiplier, levels + 1);
                        multiplier += multiplier_step;
                        block += taps;
                    }
                    corner += channels;
                }
            }
        }
        input += shape->in_height * row;
    }
}
