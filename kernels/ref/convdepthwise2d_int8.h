/* SPDX-License-Identifier: 0BSD */
#include "requantize.h"
#include "window2d.h"

/*
 * Depthwise convolution: output channel c sees input channel c only; int8, channels last.
 *
 * weights: [kernel_height][kernel_width][channels]; bias: [channels];
 * multipliers: [channels], or one for all if multiplier_step is 0;
 * levels: {input zero point, lowest - zero point, highest - zero point, zero point} (the last three of the output).
 * Ranges: the generator has proved that no accumulator leaves int32.
 */
static void aidge_ref_convdepthwise2d_int8(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *bias,
                                           const float *multipliers, const int32_t *levels, int32_t multiplier_step,
                                           const aidge_ref_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t row = shape->in_width * channels;
    const int32_t step = shape->dilation_width * channels;
    const int32_t zero_point = levels[0];
    int32_t batch, y, x, channel, ky, kx;

    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_ref_first_tap(top, shape->dilation_height);
            const int32_t end_y = aidge_ref_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height);
            for (x = 0; x < shape->out_width; x++) {
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_ref_first_tap(left, shape->dilation_width);
                const int32_t end_x = aidge_ref_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width);
                const int8_t *corner = input + (top + first_y * shape->dilation_height) * row
                                       + (left + first_x * shape->dilation_width) * channels;
                const int8_t *w_corner = weights + (first_y * shape->kernel_width + first_x) * channels;
                const float *multiplier = multipliers;
                for (channel = 0; channel + 4 <= channels; channel += 4) {
                    int32_t sum0 = bias[channel];
                    int32_t sum1 = bias[channel + 1];
                    int32_t sum2 = bias[channel + 2];
                    int32_t sum3 = bias[channel + 3];
                    const int8_t *source_row = corner + channel;
                    const int8_t *w_row = w_corner + channel;
                    for (ky = first_y; ky < end_y; ky++) {
                        const int8_t *source = source_row;
                        const int8_t *w = w_row;
                        for (kx = first_x; kx < end_x; kx++) {
                            sum0 += (source[0] - zero_point) * w[0];
                            sum1 += (source[1] - zero_point) * w[1];
                            sum2 += (source[2] - zero_point) * w[2];
                            sum3 += (source[3] - zero_point) * w[3];
                            source += step;
                            w += channels;
                        }
                        source_row += shape->dilation_height * row;
                        w_row += shape->kernel_width * channels;
                    }
                    output[0] = aidge_ref_requantize(sum0, multiplier[0], levels + 1);
                    output[1] = aidge_ref_requantize(sum1, multiplier[multiplier_step], levels + 1);
                    output[2] = aidge_ref_requantize(sum2, multiplier[2 * multiplier_step], levels + 1);
                    output[3] = aidge_ref_requantize(sum3, multiplier[3 * multiplier_step], levels + 1);
                    output += 4;
                    multiplier += 4 * multiplier_step;
                }
                for (; channel < channels; channel++) {
                    int32_t sum = bias[channel];
                    for (ky = first_y; ky < end_y; ky++) {
                        const int8_t *source = corner + (ky - first_y) * shape->dilation_height * row + channel;
                        const int8_t *w = weights + (ky * shape->kernel_width + first_x) * channels + channel;
                        for (kx = first_x; kx < end_x; kx++) {
                            sum += (*source - zero_point) * *w;
                            source += step;
                            w += channels;
                        }
                    }
                    *output++ = aidge_ref_requantize(sum, *multiplier, levels + 1);
                    multiplier += multiplier_step;
                }
            }
        }
        input += shape->in_height * row;
    }
}
