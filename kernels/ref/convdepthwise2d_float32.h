/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "clamp_float32.h"
#include "window2d.h"

/* The taps of one output pixel that lie inside the image; steps in elements. */
typedef struct {
    int32_t channels, rows, columns;
    int32_t row_step, column_step; /* in the input */
    int32_t weight_row_step;
} aidge_ref_depthwise_patch_float32;

/* All channels of one pixel; source and weights point to the first tap inside the image. */
AIDGE_REF_NOINLINE void aidge_ref_convdepthwise2d_float32_pixel(const float *source, float *output, const float *weights,
                                                                const float *bias, const float *bounds,
                                                                const aidge_ref_depthwise_patch_float32 *patch)
{
    const int32_t channels = patch->channels;
    int32_t row, column, channel;
    for (channel = 0; channel + 2 <= channels; channel += 2) {
        float sum0 = bias[channel];
        float sum1 = bias[channel + 1];
        for (row = 0; row < patch->rows; row++) {
            const float *x = source + row * patch->row_step + channel;
            const float *w = weights + row * patch->weight_row_step + channel;
            for (column = patch->columns; column > 0; column--) {
                sum0 += x[0] * w[0];
                sum1 += x[1] * w[1];
                x += patch->column_step;
                w += channels;
            }
        }
        output[channel] = aidge_ref_clamp_float32(sum0, bounds);
        output[channel + 1] = aidge_ref_clamp_float32(sum1, bounds);
    }
    if (channel < channels) {
        float sum = bias[channel];
        for (row = 0; row < patch->rows; row++) {
            for (column = 0; column < patch->columns; column++) {
                sum += source[row * patch->row_step + column * patch->column_step + channel]
                       * weights[row * patch->weight_row_step + column * channels + channel];
            }
        }
        output[channel] = aidge_ref_clamp_float32(sum, bounds);
    }
}

/*
 * Depthwise convolution: output channel c sees input channel c only; float32, channels last.
 *
 * weights: [kernel_height][kernel_width][channels]; bias: [channels]; bounds: {lowest, highest}.
 */
static void aidge_ref_convdepthwise2d_float32(const float *input, float *output, const float *weights, const float *bias,
                                              const float *bounds, const aidge_ref_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    aidge_ref_depthwise_patch_float32 patch;
    int32_t batch, y, x;

    patch.channels = channels;
    patch.row_step = shape->dilation_height * in_row;
    patch.column_step = shape->dilation_width * channels;
    patch.weight_row_step = shape->kernel_width * channels;
    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_ref_first_tap(top, shape->dilation_height);
            patch.rows = aidge_ref_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x++) {
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_ref_first_tap(left, shape->dilation_width);
                const float *source = input + (top + first_y * shape->dilation_height) * in_row
                                      + (left + first_x * shape->dilation_width) * channels;
                patch.columns = aidge_ref_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
                aidge_ref_convdepthwise2d_float32_pixel(source, output,
                                                        weights + (first_y * shape->kernel_width + first_x) * channels, bias,
                                                        bounds, &patch);
                output += channels;
            }
        }
        input += shape->in_height * in_row;
    }
}
