/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "clamp_float32.h"
#include "dot_float32.h"
#include "window2d.h"

/* The taps of one output pixel that lie inside the image: rows of runs of neighbouring elements; steps in elements. */
typedef struct {
    int32_t rows, runs, length;
    int32_t row_step, run_step; /* in the input */
    int32_t weight_row_step;    /* of one output channel */
} aidge_ref_patch_float32;

/* One group of output channels at one pixel; first_tap is the first tap inside the image. */
AIDGE_REF_NOINLINE void aidge_ref_conv2d_float32_pixel(const float *source, float *output, const float *weights,
                                                       const float *bias, const float *bounds, int32_t taps, int32_t outputs,
                                                       int32_t first_tap, const aidge_ref_patch_float32 *patch)
{
    const int32_t rows = patch->rows;
    const int32_t length = patch->length;
    int32_t row, run, channel, i;
    for (channel = outputs; channel >= 4; channel -= 4) {
        const float *x_row = source;
        const float *w_row = weights + 4 * first_tap;
        float sums[4];
        memcpy(sums, bias, sizeof sums);
        for (row = rows; row > 0; row--) {
            const float *x = x_row;
            const float *w = w_row;
            for (run = patch->runs; run > 0; run--) {
                aidge_ref_dot4_float32(x, w, length, sums);
                x += patch->run_step;
                w += 4 * length;
            }
            x_row += patch->row_step;
            w_row += 4 * patch->weight_row_step;
        }
        for (i = 0; i < 4; i++) {
            *output++ = aidge_ref_clamp_float32(sums[i], bounds);
        }
        bias += 4;
        weights += 4 * taps;
    }
    for (; channel > 0; channel--) {
        float sum = *bias++;
        for (row = 0; row < rows; row++) {
            for (run = 0; run < patch->runs; run++) {
                sum += aidge_ref_dot_float32(source + row * patch->row_step + run * patch->run_step,
                                             weights + first_tap + row * patch->weight_row_step + run * length, length);
            }
        }
        *output++ = aidge_ref_clamp_float32(sum, bounds);
        weights += taps;
    }
}

/*
 * Convolution with any kernel, stride, dilation, pads and groups; float32, channels last.
 *
 * weights: for each group, for each block of 4 output channels [kernel_height][kernel_width][channels][4]; the last
 *   (out_channels / groups) % 4 channels of a group follow one by one as [kernel_height][kernel_width][channels].
 * bias: [out_channels]; bounds: {lowest, highest}.
 * output_gap: values that are left as they are behind the channels of each pixel.
 */
static void aidge_ref_conv2d_float32(const float *input, float *output, const float *weights, const float *bias,
                                     const float *bounds, int32_t output_gap, const aidge_ref_window2d *shape)
{
    const int32_t channels = shape->in_channels / shape->groups;
    const int32_t outputs = shape->out_channels / shape->groups;
    const int32_t taps = shape->kernel_height * shape->kernel_width * channels;
    const int32_t in_row = shape->in_width * shape->in_channels;
    const int contiguous = (shape->groups == 1) && (shape->dilation_width == 1);
    aidge_ref_patch_float32 patch;
    int32_t batch, y, x, group;

    patch.row_step = shape->dilation_height * in_row;
    patch.run_step = shape->dilation_width * shape->in_channels;
    patch.weight_row_step = shape->kernel_width * channels;
    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_ref_first_tap(top, shape->dilation_height);
            const int32_t end_y = aidge_ref_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height);
            for (x = 0; x < shape->out_width; x++) {
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_ref_first_tap(left, shape->dilation_width);
                const int32_t end_x = aidge_ref_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width);
                const float *source = input + (top + first_y * shape->dilation_height) * in_row
                                      + (left + first_x * shape->dilation_width) * shape->in_channels;
                const int32_t first_tap = (first_y * shape->kernel_width + first_x) * channels;
                patch.rows = end_x > first_x ? end_y - first_y : 0;
                patch.runs = contiguous ? 1 : end_x - first_x;
                patch.length = contiguous ? (end_x - first_x) * channels : channels;
                for (group = 0; group < shape->groups; group++) {
                    aidge_ref_conv2d_float32_pixel(source + group * channels, output, weights + group * outputs * taps,
                                                   bias + group * outputs, bounds, taps, outputs, first_tap, &patch);
                    output += outputs;
                }
                output += output_gap;
            }
        }
        input += shape->in_height * in_row;
    }
}
