/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "clamp_float32.h"
#include "dot_float32.h"
#include "kit/window2d.h"

/*
 * One group of output channels at one pixel, with the taps that lie inside the image: rows of runs of neighbouring elements;
 * steps in elements. The loops find their numbers here once, and not on the stack of each.
 */
typedef struct {
    const float *image;                   /* of the next piece */
    const float *source, *weights, *bias; /* source: the first tap inside the image */
    float *output;
    int32_t outputs, output_gap;          /* channels that are written; values that are left as they are behind them */
    int32_t taps, first_tap, rows, runs, length;
    int32_t row_step, run_step;           /* in the input */
    int32_t weight_row_step;              /* of one output channel */
    int32_t group, top, left;             /* of the next piece */
} aidge_ref_patch_float32;

/* The next piece: groups, then columns, rows and images. Out of line: what it computes with is not needed any more. */
AIDGE_KIT_NOINLINE void aidge_ref_conv2d_float32_next(aidge_ref_patch_float32 *patch, const float *weights, const float *bias,
                                                      int32_t output_gap, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels / shape->groups;
    const int contiguous = ((shape->groups == 1) && (shape->dilation_width == 1)) ? 1 : 0;
    const int32_t first_y = aidge_kit_first_tap(patch->top, shape->dilation_height);
    const int32_t end_y = aidge_kit_end_tap(patch->top, shape->dilation_height, shape->in_height, shape->kernel_height);
    const int32_t first_x = aidge_kit_first_tap(patch->left, shape->dilation_width);
    const int32_t end_x = aidge_kit_end_tap(patch->left, shape->dilation_width, shape->in_width, shape->kernel_width);
    patch->source = patch->image + ((patch->top + first_y * shape->dilation_height) * shape->in_width + patch->left
                             + first_x * shape->dilation_width) * shape->in_channels + patch->group * channels;
    patch->weights = weights + patch->group * patch->outputs * patch->taps;
    patch->bias = bias + patch->group * patch->outputs;
    patch->first_tap = (first_y * shape->kernel_width + first_x) * channels;
    patch->rows = end_x > first_x ? end_y - first_y : 0;
    patch->runs = contiguous ? 1 : end_x - first_x;
    patch->length = contiguous ? (end_x - first_x) * channels : channels;
    patch->output_gap = 0;
    patch->group++;
    if (patch->group == shape->groups) {
        patch->group = 0;
        patch->output_gap = output_gap;
        patch->left += shape->stride_width;
        if (patch->left == shape->out_width * shape->stride_width - shape->pad_left) {
            patch->left = -shape->pad_left;
            patch->top += shape->stride_height;
            if (patch->top == shape->out_height * shape->stride_height - shape->pad_top) {
                patch->top = -shape->pad_top;
                patch->image += shape->in_height * shape->in_width * shape->in_channels;
            }
        }
    }
}

/* The output channels of a piece. */
AIDGE_KIT_NOINLINE void aidge_ref_conv2d_float32_piece(aidge_ref_patch_float32 *patch, const float *bounds)
{
    const float *weights = patch->weights;
    const float *bias = patch->bias;
    float *output = patch->output;
    int32_t row, run, channel, i;
    for (channel = patch->outputs; channel >= 4; channel -= 4) {
        const float *x_row = patch->source;
        const float *w_row = weights + 4 * patch->first_tap;
        float sums[4];
        (void)memcpy(sums, bias, sizeof sums);
        for (row = patch->rows; row > 0; row--) {
            const float *x = x_row;
            const float *w = w_row;
            for (run = patch->runs; run > 0; run--) {
                aidge_ref_dot4_float32(x, w, patch->length, sums);
                x += patch->run_step;
                w += 4 * patch->length;
            }
            x_row += patch->row_step;
            w_row += 4 * patch->weight_row_step;
        }
        for (i = 0; i < 4; i++) {
            *output++ = aidge_ref_clamp_float32(sums[i], bounds);
        }
        bias += 4;
        weights += 4 * patch->taps;
    }
    for (; channel > 0; channel--) {
        float sum = *bias++;
        for (row = 0; row < patch->rows; row++) {
            for (run = 0; run < patch->runs; run++) {
                sum += aidge_ref_dot_float32(patch->source + row * patch->row_step + run * patch->run_step,
                                             weights + patch->first_tap + row * patch->weight_row_step + run * patch->length,
                                             patch->length);
            }
        }
        *output++ = aidge_ref_clamp_float32(sum, bounds);
        weights += patch->taps;
    }
    patch->output = output + patch->output_gap;
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
                                     const float *bounds, int32_t output_gap, const aidge_kit_window2d *shape)
{
    aidge_ref_patch_float32 patch;
    int32_t piece;

    patch.image = input;
    patch.output = output;
    patch.outputs = shape->out_channels / shape->groups;
    patch.taps = shape->kernel_height * shape->kernel_width * (shape->in_channels / shape->groups);
    patch.row_step = shape->dilation_height * shape->in_width * shape->in_channels;
    patch.run_step = shape->dilation_width * shape->in_channels;
    patch.weight_row_step = shape->kernel_width * (shape->in_channels / shape->groups);
    patch.group = 0;
    patch.top = -shape->pad_top;
    patch.left = -shape->pad_left;
    for (piece = shape->batches * shape->out_height * shape->out_width * shape->groups; piece > 0; piece--) {
        aidge_ref_conv2d_float32_next(&patch, weights, bias, output_gap, shape);
        aidge_ref_conv2d_float32_piece(&patch, bounds);
    }
}
