/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "blocks_int8.h"

/*
 * Convolution with any kernel, stride, dilation, pads and groups; int8, channels last.
 *
 * weights: for each group, for each block of 4 output channels [kernel_height][kernel_width][channels][4]; the last
 *   (out_channels / groups) % 4 channels of a group follow one by one as [kernel_height][kernel_width][channels].
 * bias: [out_channels] as it is; as many less (input zero point) * (sum of the weights) for pixels that see every tap, or none;
 * multipliers: [out_channels], or one for all if multiplier_step is 0; none if they are joined with the biases
 *   (parameters_int8.h), whose groups of channels are whole;
 * levels: {input zero point, lowest - zero point, highest - zero point, zero point (all three of the output), where the second
 *   biases begin, or 0; of near and fixed factors taps of a sum of three pixels (blocks_int8.h), or 0}.
 * output_gap: values that are left as they are behind the channels of each pixel.
 * Ranges: the generator has proved that no accumulator leaves int32.
 */
AIDGE_KIT_INLINE void aidge_ref_conv2d_int8_image(const int8_t *input, int8_t *output, const int8_t *weights,
                                                  const int32_t *bias, const float *multipliers, const int32_t *levels,
                                                  int32_t multiplier_step, int32_t output_gap, const aidge_kit_window2d *shape,
                                                  int32_t wide, int32_t form)
{
    aidge_ref_piece_int8 piece;
    int32_t left;
    aidge_ref_piece_begin(&piece, input, shape, (form == AIDGE_REF_FIXED) || (form == AIDGE_REF_NEAR) ? levels[5] : 0);
    for (left = shape->batches * shape->out_height * shape->out_width * shape->groups; left > 0; left -= piece.pixels) {
        aidge_ref_conv2d_int8_next(&piece, weights, bias, multipliers, multiplier_step, levels, shape, wide, form);
        if ((form == AIDGE_REF_FIXED) || (form == AIDGE_REF_NEAR)) {
            aidge_ref_pixels_int8(&piece, output, piece.outputs + output_gap, levels, multiplier_step, form);
        } else if (form == AIDGE_REF_JOINED) {
            aidge_ref_conv2d_int8_pixel_joined(&piece, output, levels);
        } else if (wide != 0) {
            aidge_ref_conv2d_int8_pixel_wide(&piece, output, levels, multiplier_step);
        } else {
            aidge_ref_conv2d_int8_pixel(&piece, output, levels, multiplier_step);
        }
        output += piece.pixels * (piece.outputs + (piece.group == 0 ? output_gap : 0));
    }
}

/* The window of a pixel as neighbouring bytes, with the zero point outside of the image. */
AIDGE_KIT_NOINLINE void aidge_ref_gather_int8(const aidge_ref_piece_int8 *window, int8_t *to, int32_t zero_point)
{
    const int8_t *x = window->source;
    int32_t row, run, i;
    if (window->complete == 0) {
        (void)memset(to, zero_point, (uint32_t)window->taps);
    }
    to += window->first_tap;
    for (row = window->rows; row > 0; row--) {
        for (run = window->runs; run > 0; run--) {
            for (i = 0; i < window->length; i++) {
                to[i] = x[i];
            }
            x += window->run_step;
            to += window->length;
        }
        x += window->row_skip;
        to += window->weight_skip;
    }
}

/*
 * The same of one group with windows that are copied to `copied` before three pixels, or one, are computed: bias is less (input
 * zero point) * (sum of the weights).
 */
AIDGE_KIT_INLINE void aidge_ref_conv2d_int8_copied(const int8_t *input, int8_t *output, const int8_t *weights,
                                                   const int32_t *bias, const float *multipliers, const int32_t *levels,
                                                   int32_t multiplier_step, int32_t output_gap, int8_t *copied,
                                                   const aidge_kit_window2d *shape, int32_t form)
{
    const int32_t step = shape->out_channels + output_gap;
    aidge_ref_piece_int8 piece;
    int32_t left, pixel;
    aidge_ref_piece_begin(&piece, input, shape, 0);
    piece.weights = weights;
    piece.bias = bias;
    piece.numbers = multipliers;
    piece.zero_point = 0;
    piece.second = piece.taps;
    for (left = shape->batches * shape->out_height * shape->out_width; left > 0; left -= piece.pixels) {
        const int32_t pixels = left >= 3 ? 3 : 1;
        for (pixel = 0; pixel < pixels; pixel++) {
            aidge_ref_piece_next(&piece, shape);
            aidge_ref_gather_int8(&piece, copied + pixel * piece.taps, levels[0]);
        }
        aidge_ref_piece_of_rows(&piece, copied, pixels, levels[5]);
        aidge_ref_pixels_int8(&piece, output, step, levels, multiplier_step, form);
        piece.together = 0;
        output += pixels * step;
    }
}

static void aidge_ref_conv2d_int8(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *bias,
                                  const float *multipliers, const int32_t *levels, int32_t multiplier_step,
                                  int32_t output_gap, const aidge_kit_window2d *shape)
{
    aidge_ref_conv2d_int8_image(input, output, weights, bias, multipliers, levels, multiplier_step, output_gap,
                                shape, 0, AIDGE_REF_FLOATS);
}

/* The same with int16 weights. */
AIDGE_KIT_NOINLINE void aidge_ref_conv2d_int8_wide(const int8_t *input, int8_t *output, const int16_t *weights,
                                                   const int32_t *bias, const float *multipliers, const int32_t *levels,
                                                   int32_t multiplier_step, int32_t output_gap, const aidge_kit_window2d *shape)
{
    aidge_ref_conv2d_int8_image(input, output, (const int8_t *)weights, bias, multipliers, levels, multiplier_step, output_gap,
                                shape, 1, AIDGE_REF_FLOATS);
}

/* The same with int8 weights, and floats for kit/near.h. */
AIDGE_KIT_NOINLINE void aidge_ref_conv2d_int8_near(const int8_t *input, int8_t *output, const int8_t *weights,
                                                   const int32_t *bias, const float *multipliers, const int32_t *levels,
                                                   int32_t multiplier_step, int32_t output_gap, const aidge_kit_window2d *shape)
{
    aidge_ref_conv2d_int8_image(input, output, weights, bias, multipliers, levels, multiplier_step, output_gap,
                                shape, 0, AIDGE_REF_NEAR);
}

/* scratch: the taps of three windows. */
AIDGE_KIT_NOINLINE void aidge_ref_conv2d_int8_near_copied(const int8_t *input, int8_t *output, const int8_t *weights,
                                                          const int32_t *bias, const float *multipliers, const int32_t *levels,
                                                          int32_t multiplier_step, int32_t output_gap, void *scratch,
                                                          const aidge_kit_window2d *shape)
{
    aidge_ref_conv2d_int8_copied(input, output, weights, bias, multipliers, levels, multiplier_step, output_gap,
                                 (int8_t *)scratch, shape, AIDGE_REF_NEAR);
}

/* The same with fixed factors: [out_channels][2], or one pair. */
AIDGE_KIT_NOINLINE void aidge_ref_conv2d_int8_fixed(const int8_t *input, int8_t *output, const int8_t *weights,
                                                    const int32_t *bias, const int32_t *factors, const int32_t *levels,
                                                    int32_t factor_step, int32_t output_gap, const aidge_kit_window2d *shape)
{
    aidge_ref_conv2d_int8_image(input, output, weights, bias, (const float *)(const void *)factors, levels, factor_step,
                                output_gap, shape, 0, AIDGE_REF_FIXED);
}

/* scratch: the taps of three windows. */
AIDGE_KIT_NOINLINE void aidge_ref_conv2d_int8_fixed_copied(const int8_t *input, int8_t *output, const int8_t *weights,
                                                           const int32_t *bias, const int32_t *factors, const int32_t *levels,
                                                           int32_t factor_step, int32_t output_gap, void *scratch,
                                                           const aidge_kit_window2d *shape)
{
    aidge_ref_conv2d_int8_copied(input, output, weights, bias, (const float *)(const void *)factors, levels, factor_step,
                                 output_gap, (int8_t *)scratch, shape, AIDGE_REF_FIXED);
}

/* The same with int8 weights, and biases as they are, joined with the multipliers. */
AIDGE_KIT_NOINLINE void aidge_ref_conv2d_int8_joined(const int8_t *input, int8_t *output, const int8_t *weights,
                                                     const int32_t *joined, const int32_t *levels, int32_t output_gap,
                                                     const aidge_kit_window2d *shape)
{
    aidge_ref_conv2d_int8_image(input, output, weights, joined, NULL, levels, 0, output_gap, shape, 0,
                                AIDGE_REF_JOINED);
}
