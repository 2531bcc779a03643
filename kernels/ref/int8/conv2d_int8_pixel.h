/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "dot_int8.h"
#include "kit/inline.h"
#include "kit/requantize.h"
#include "kit/window2d.h"

/* The taps of one output pixel that lie inside the image: rows of runs of neighbouring bytes; steps in bytes. */
typedef struct {
    int32_t rows, runs, length;
    int32_t row_step, run_step; /* in the input */
    int32_t weight_row_step;    /* of one output channel */
    int32_t taps;               /* of one output channel */
    int32_t source, first_tap;  /* the first byte in the image, the first tap inside it */
    int complete;               /* whether no tap is outside: the bias then holds the zero point's part */
} aidge_ref_patch_int8;

/* What is the same at all pixels. */
static inline aidge_ref_patch_int8 aidge_ref_conv2d_int8_steps(const aidge_kit_window2d *shape)
{
    const int32_t channels = aidge_kit_divide(shape->in_channels, shape->groups);
    aidge_ref_patch_int8 patch;
    memset(&patch, 0, sizeof patch);
    patch.row_step = shape->dilation_height * shape->in_width * shape->in_channels;
    patch.run_step = shape->dilation_width * shape->in_channels;
    patch.weight_row_step = shape->kernel_width * channels;
    patch.taps = shape->kernel_height * patch.weight_row_step;
    return patch;
}

/* What differs from pixel to pixel. */
AIDGE_KIT_INLINE void aidge_ref_conv2d_int8_see(aidge_ref_patch_int8 *patch, const aidge_kit_window2d *shape,
                                                int32_t y, int32_t x)
{
    const int32_t channels = aidge_kit_divide(shape->in_channels, shape->groups);
    const int contiguous = (shape->groups == 1) && (shape->dilation_width == 1);
    const int32_t top = y * shape->stride_height - shape->pad_top;
    const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
    const int32_t end_y = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height);
    const int32_t left = x * shape->stride_width - shape->pad_left;
    const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
    const int32_t end_x = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width);
    patch->source = ((top + first_y * shape->dilation_height) * shape->in_width
                     + left + first_x * shape->dilation_width) * shape->in_channels;
    patch->first_tap = (first_y * shape->kernel_width + first_x) * channels;
    patch->rows = end_x > first_x ? end_y - first_y : 0;
    patch->runs = contiguous ? 1 : end_x - first_x;
    patch->complete = (end_y - first_y == shape->kernel_height) && (end_x - first_x == shape->kernel_width);
    patch->length = contiguous ? (end_x - first_x) * channels : channels;
}

/* sums[j] += the sum over the patch for 4 output channels j; the last three arguments are literals where they can be. */
AIDGE_KIT_INLINE void aidge_ref_patch4_int8(const int8_t *x_row, const int8_t *w_row, int32_t *sums,
                                            const aidge_ref_patch_int8 *patch, int32_t zero_point, int32_t runs,
                                            int32_t wide)
{
    const int32_t length = patch->length;
    const int32_t row_step = patch->row_step;
    const int32_t weight_row_step = (4 * patch->weight_row_step) << wide;
    int32_t row, run;
    for (row = patch->rows; row > 0; row--) {
        const int8_t *x = x_row;
        const int8_t *w = w_row;
        for (run = runs; run > 0; run--) {
            aidge_ref_dot4_int8(x, w, length, zero_point, wide, sums);
            x += patch->run_step;
            w += (4 * length) << wide;
        }
        x_row += row_step;
        w_row += weight_row_step;
    }
}

/* Some output channels of one group at one pixel: a multiple of 4 of them, or the last ones. */
AIDGE_KIT_INLINE void aidge_ref_conv2d_int8_channels(const int8_t *source, int8_t *output, const int8_t *weights,
                                                     const int32_t *bias, const float *multiplier, const int32_t *levels,
                                                     int32_t multiplier_step, int32_t outputs,
                                                     const aidge_ref_patch_int8 *patch, int32_t wide)
{
    const int32_t taps = patch->taps;
    const int32_t first_tap = patch->first_tap;
    const aidge_kit_levels bounds = aidge_kit_load_levels(levels + 1);
    const int32_t zero_point = patch->complete ? 0 : levels[0];
    int32_t row, run, channel;
    for (channel = outputs; channel >= 4; channel -= 4) {
        int32_t sums[4];
        sums[0] = bias[0];
        sums[1] = bias[1];
        sums[2] = bias[2];
        sums[3] = bias[3];
        if (!patch->complete) {
            aidge_ref_patch4_int8(source, weights + ((4 * first_tap) << wide), sums, patch, zero_point, patch->runs, wide);
        } else if (patch->runs == 1) {
            aidge_ref_patch4_int8(source, weights, sums, patch, 0, 1, wide);
        } else {
            aidge_ref_patch4_int8(source, weights, sums, patch, 0, patch->runs, wide);
        }
        output[0] = aidge_kit_requantize(sums[0], multiplier[0], bounds);
        output[1] = aidge_kit_requantize(sums[1], multiplier[multiplier_step], bounds);
        output[2] = aidge_kit_requantize(sums[2], multiplier[2 * multiplier_step], bounds);
        output[3] = aidge_kit_requantize(sums[3], multiplier[3 * multiplier_step], bounds);
        output += 4;
        bias += 4;
        multiplier += 4 * multiplier_step;
        weights += (4 * taps) << wide;
    }
    for (; channel > 0; channel--) {
        int32_t sum = *bias++;
        for (row = 0; row < patch->rows; row++) {
            for (run = 0; run < patch->runs; run++) {
                sum += aidge_ref_dot_int8(source + row * patch->row_step + run * patch->run_step,
                                          weights + ((first_tap + row * patch->weight_row_step + run * patch->length) << wide),
                                          patch->length, zero_point, wide);
            }
        }
        *output++ = aidge_kit_requantize(sum, *multiplier, bounds);
        multiplier += multiplier_step;
        weights += taps << wide;
    }
}

AIDGE_KIT_NOINLINE void aidge_ref_conv2d_int8_pixel(const int8_t *source, int8_t *output, const int8_t *weights,
                                                    const int32_t *bias, const float *multiplier, const int32_t *levels,
                                                    int32_t multiplier_step, int32_t outputs,
                                                    const aidge_ref_patch_int8 *patch)
{
    aidge_ref_conv2d_int8_channels(source, output, weights, bias, multiplier, levels, multiplier_step, outputs, patch, 0);
}

/* The same with int16 weights. */
AIDGE_KIT_NOINLINE void aidge_ref_conv2d_int8_pixel_wide(const int8_t *source, int8_t *output, const int8_t *weights,
                                                         const int32_t *bias, const float *multiplier, const int32_t *levels,
                                                         int32_t multiplier_step, int32_t outputs,
                                                         const aidge_ref_patch_int8 *patch)
{
    aidge_ref_conv2d_int8_channels(source, output, weights, bias, multiplier, levels, multiplier_step, outputs, patch, 1);
}
