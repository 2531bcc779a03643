/* SPDX-License-Identifier: 0BSD */
#include "dot_int8.h"
#include "parameters_int8.h"
#include "kit/inline.h"
#include "kit/requantize.h"
#include "kit/window2d.h"

/* The taps of one output pixel that lie inside the image; steps in bytes. */
typedef struct {
    int32_t channels, rows, columns;
    int32_t row_step, column_step; /* in the input */
    int32_t weight_row_step;
    int32_t pixels, second; /* 1, or 2 pixels that see every tap; the step from one to the other in the input */
    int complete; /* whether no tap is outside, and the bias holds the zero point's part */
} aidge_ref_depthwise_patch_int8;

/* sums[j] += sum over the taps of (x[j] - zero_point) * w[j] for 4 channels j; zero_point is a literal 0 where it can be. */
AIDGE_KIT_INLINE void aidge_ref_depthwise4_int8(const int8_t *x_row, const int8_t *w_row, int32_t zero_point, int32_t *sums,
                                                const aidge_ref_depthwise_patch_int8 *patch, int32_t wide)
{
    const int32_t column_step = patch->column_step;
    const int32_t channels = patch->channels;
    const int32_t width = patch->columns * column_step;
    int32_t sum0 = sums[0];
    int32_t sum1 = sums[1];
    int32_t sum2 = sums[2];
    int32_t sum3 = sums[3];
    int32_t row;
    for (row = patch->rows; row > 0; row--) {
        const int8_t *x = x_row;
        const int8_t *w = w_row;
        const int8_t *end = x_row + width;
        while (x != end) {
            sum0 += (x[0] - zero_point) * aidge_ref_weight(w, 0, wide);
            sum1 += (x[1] - zero_point) * aidge_ref_weight(w, 1, wide);
            sum2 += (x[2] - zero_point) * aidge_ref_weight(w, 2, wide);
            sum3 += (x[3] - zero_point) * aidge_ref_weight(w, 3, wide);
            x += column_step;
            w += channels << wide;
        }
        x_row += patch->row_step;
        w_row += patch->weight_row_step << wide;
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}

/* The same of one channel. */
AIDGE_KIT_INLINE int32_t aidge_ref_depthwise1_int8(const int8_t *x_row, const int8_t *w_row, int32_t zero_point,
                                                   const aidge_ref_depthwise_patch_int8 *patch, int32_t wide)
{
    int32_t sum = 0;
    int32_t row, column;
    for (row = patch->rows; row > 0; row--) {
        const int8_t *x = x_row;
        const int8_t *w = w_row;
        for (column = patch->columns; column > 0; column--) {
            sum += (*x - zero_point) * aidge_ref_weight(w, 0, wide);
            x += patch->column_step;
            w += patch->channels << wide;
        }
        x_row += patch->row_step;
        w_row += patch->weight_row_step << wide;
    }
    return sum;
}

/* The same of two pixels that see every tap: sums[j] of the first, sums[4 + j] of the second. */
AIDGE_KIT_NOINLINE void aidge_ref_depthwise_two_int8(const int8_t *x_row, const int8_t *w, int32_t *sums,
                                                     const aidge_ref_depthwise_patch_int8 *patch)
{
    const int32_t column_step = patch->column_step;
    const int32_t channels = patch->channels;
    int32_t first[4];
    int32_t other[4];
    int32_t row, column;
    aidge_ref_copy4(first, sums);
    aidge_ref_copy4(other, sums);
    for (row = patch->rows; row > 0; row--) {
        const int8_t *x = x_row;
        const int8_t *y = x_row + patch->second;
        for (column = patch->columns; column > 0; column--) {
            aidge_ref_taps4_int8(first, x, w);
            aidge_ref_taps4_int8(other, y, w);
            x += column_step;
            y += column_step;
            w += channels;
        }
        x_row += patch->row_step;
    }
    aidge_ref_copy4(sums, first);
    aidge_ref_copy4(sums + 4, other);
}

/* All channels of one pixel, or of two where the form has such; source and weights point to the first tap inside the image. */
AIDGE_KIT_INLINE void aidge_ref_depthwise_int8_channels(const int8_t *source, int8_t *output, const int8_t *weights,
                                                        const int32_t *bias, const float *multiplier, const int32_t *levels,
                                                        int32_t multiplier_step, const aidge_ref_depthwise_patch_int8 *patch,
                                                        int32_t wide, int32_t form)
{
    const aidge_kit_levels bounds = aidge_kit_load_levels(levels + 1);
    const int32_t zero_point = patch->complete ? 0 : levels[0];
    const int32_t pixels = AIDGE_REF_HAS_BLOCKS && ((form == AIDGE_REF_FIXED) || (form == AIDGE_REF_NEAR)) ? patch->pixels : 1;
    int32_t channel, pixel, rest;
    for (channel = patch->channels; channel >= 4; channel -= 4) {
        int32_t sums[8];
        sums[0] = aidge_ref_bias(bias, 0, form);
        sums[1] = aidge_ref_bias(bias, 1, form);
        sums[2] = aidge_ref_bias(bias, 2, form);
        sums[3] = aidge_ref_bias(bias, 3, form);
        if (pixels == 2) {
            aidge_ref_depthwise_two_int8(source, weights, sums, patch);
        } else if (patch->complete != 0) {
            aidge_ref_depthwise4_int8(source, weights, 0, sums, patch, wide);
        } else {
            aidge_ref_depthwise4_int8(source, weights, zero_point, sums, patch, wide);
        }
        for (pixel = 0; pixel < pixels; pixel++) {
            aidge_ref_store4(sums + 4 * pixel, output + pixel * patch->channels, bias, multiplier, multiplier_step, bounds, form);
        }
        source += 4;
        output += 4;
        weights += 4 << wide;
        bias += aidge_ref_bias_words(4, form);
        multiplier += 4 * multiplier_step;
    }
    for (rest = 0; rest < channel; rest++) {
        for (pixel = 0; pixel < pixels; pixel++) {
            const int32_t sum = aidge_ref_bias(bias, rest, form)
                                + aidge_ref_depthwise1_int8(source + pixel * patch->second, weights, zero_point, patch, wide);
            output[pixel * patch->channels] = aidge_ref_stored(sum, bias, multiplier, rest, multiplier_step, bounds, form);
        }
        source++;
        output++;
        weights += 1 << wide;
    }
}

/*
 * Depthwise convolution: output channel c sees input channel c only; int8, channels last.
 *
 * weights: [kernel_height][kernel_width][channels];
 * bias: [channels] as it is; as many less (input zero point) * (sum of the weights) for pixels that see every tap, or none;
 * multipliers: [channels], or one for all if multiplier_step is 0; none if they are joined with the biases
 *   (parameters_int8.h);
 * levels: {input zero point, lowest - zero point, highest - zero point, zero point (all three of the output), where the second
 *   biases begin, or 0}.
 * Ranges: the generator has proved that no accumulator leaves int32.
 */
AIDGE_KIT_INLINE void aidge_ref_depthwise_int8_image(const int8_t *input, int8_t *output, const int8_t *weights,
                                                     const int32_t *bias, const float *multipliers, const int32_t *levels,
                                                     int32_t multiplier_step, const aidge_kit_window2d *shape, int32_t wide,
                                                     int32_t form)
{
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    const int32_t reach = (shape->kernel_width - 1) * shape->dilation_width;
    const int32_t has_pairs = ((AIDGE_REF_HAS_BLOCKS != 0) && ((form == AIDGE_REF_FIXED) || (form == AIDGE_REF_NEAR))) ? 1 : 0;
    aidge_ref_depthwise_patch_int8 patch;
    int32_t batch, y, x;

    patch.channels = channels;
    patch.row_step = shape->dilation_height * in_row;
    patch.column_step = shape->dilation_width * channels;
    patch.second = shape->stride_width * channels;
    patch.weight_row_step = shape->kernel_width * channels;
    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            patch.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x += patch.pixels) {
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int8_t *source = input + (top + first_y * shape->dilation_height) * in_row
                                       + (left + first_x * shape->dilation_width) * channels;
                patch.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
                patch.columns = patch.columns > 0 ? patch.columns : 0;
                patch.complete =
                    (patch.rows == shape->kernel_height) && (patch.columns == shape->kernel_width) && (levels[4] != 0);
                patch.pixels = (has_pairs != 0) && (patch.complete != 0) && (x + 1 < shape->out_width)
                               && (left + shape->stride_width + reach < shape->in_width) ? 2 : 1;
                {
                    const int8_t *const taps = weights + (((first_y * shape->kernel_width + first_x) * channels) << wide);
                    const int32_t *const biases = bias + (patch.complete ? channels : 0);
                    aidge_ref_depthwise_int8_channels(source, output, taps, biases, multipliers, levels, multiplier_step, &patch,
                                                      wide, form);
                }
                output += patch.pixels * channels;
            }
        }
        input += shape->in_height * in_row;
    }
}

static void aidge_ref_depthwise_int8(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *bias,
                                     const float *multipliers, const int32_t *levels, int32_t multiplier_step,
                                     const aidge_kit_window2d *shape)
{
    aidge_ref_depthwise_int8_image(input, output, weights, bias, multipliers, levels, multiplier_step, shape, 0,
                                   AIDGE_REF_FLOATS);
}

/* The same with int16 weights. */
AIDGE_KIT_NOINLINE void aidge_ref_depthwise_int8_wide(const int8_t *input, int8_t *output, const int16_t *weights,
                                                      const int32_t *bias, const float *multipliers, const int32_t *levels,
                                                      int32_t multiplier_step, const aidge_kit_window2d *shape)
{
    aidge_ref_depthwise_int8_image(input, output, (const int8_t *)weights, bias, multipliers, levels, multiplier_step,
                                   shape, 1, AIDGE_REF_FLOATS);
}

/* The same with int8 weights and fixed factors: [channels][2], or one pair. */
AIDGE_KIT_NOINLINE void aidge_ref_depthwise_int8_fixed(const int8_t *input, int8_t *output, const int8_t *weights,
                                                       const int32_t *bias, const int32_t *factors, const int32_t *levels,
                                                       int32_t factor_step, const aidge_kit_window2d *shape)
{
    aidge_ref_depthwise_int8_image(input, output, weights, bias, (const float *)(const void *)factors, levels, factor_step,
                                   shape, 0, AIDGE_REF_FIXED);
}

/* The same with int8 weights, and floats for kit/near.h. */
AIDGE_KIT_NOINLINE void aidge_ref_depthwise_int8_near(const int8_t *input, int8_t *output, const int8_t *weights,
                                                      const int32_t *bias, const float *multipliers, const int32_t *levels,
                                                      int32_t multiplier_step, const aidge_kit_window2d *shape)
{
    aidge_ref_depthwise_int8_image(input, output, weights, bias, multipliers, levels, multiplier_step, shape, 0,
                                   AIDGE_REF_NEAR);
}

/* The same with int8 weights, and biases as they are, joined with the multipliers. */
AIDGE_KIT_NOINLINE void aidge_ref_depthwise_int8_joined(const int8_t *input, int8_t *output, const int8_t *weights,
                                                        const int32_t *joined, const int32_t *levels,
                                                        const aidge_kit_window2d *shape)
{
    aidge_ref_depthwise_int8_image(input, output, weights, joined, NULL, levels, 0, shape, 0, AIDGE_REF_JOINED);
}
