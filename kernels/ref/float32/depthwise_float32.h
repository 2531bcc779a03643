/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "clamp_float32.h"
#include "kit/window2d.h"

/* The taps of one output pixel that lie inside the image; steps in elements. */
typedef struct {
    int32_t channels, rows, columns;
    int32_t row_step, column_step; /* in the input */
    int32_t weight_row_step;
    const float *source, *weights; /* of the first tap inside the image */
    int32_t top, left, right;      /* the next pixel's window in the image, and where the row of windows ends */
} aidge_ref_depthwise_patch_float32;

/* To the next pixel. A function of its own: what it needs is not on the stack while the sums are computed. */
AIDGE_KIT_NOINLINE void aidge_ref_depthwise_float32_next(aidge_ref_depthwise_patch_float32 *patch, const float *input,
                                                               const float *weights, const aidge_kit_window2d *shape)
{
    const int32_t top = patch->top;
    const int32_t left = patch->left;
    const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
    const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
    patch->rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
    patch->columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
    patch->source = input + ((top + first_y * shape->dilation_height) * shape->in_width + left
                             + first_x * shape->dilation_width) * patch->channels;
    patch->weights = weights + (first_y * shape->kernel_width + first_x) * patch->channels;
    patch->left += shape->stride_width;
    if (patch->left == patch->right) {
        patch->left = -shape->pad_left;
        patch->top += shape->stride_height;
    }
}

/* All channels of one pixel; source and weights point to the first tap inside the image. */
AIDGE_KIT_NOINLINE void aidge_ref_depthwise_float32_pixel(const float *source, float *output, const float *weights,
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
static void aidge_ref_depthwise_float32(const float *input, float *output, const float *weights, const float *bias,
                                              const float *bounds, const aidge_kit_window2d *shape)
{
    aidge_ref_depthwise_patch_float32 patch;
    int32_t batch, pixel;

    patch.channels = shape->in_channels;
    patch.row_step = shape->dilation_height * shape->in_width * shape->in_channels;
    patch.column_step = shape->dilation_width * shape->in_channels;
    patch.weight_row_step = shape->kernel_width * shape->in_channels;
    patch.right = shape->out_width * shape->stride_width - shape->pad_left;
    for (batch = shape->batches; batch > 0; batch--) {
        patch.top = -shape->pad_top;
        patch.left = -shape->pad_left;
        for (pixel = shape->out_height * shape->out_width; pixel > 0; pixel--) {
            aidge_ref_depthwise_float32_next(&patch, input, weights, shape);
            aidge_ref_depthwise_float32_pixel(patch.source, output, patch.weights, bias, bounds, &patch);
            output += patch.channels;
        }
        input += shape->in_height * shape->in_width * shape->in_channels;
    }
}
