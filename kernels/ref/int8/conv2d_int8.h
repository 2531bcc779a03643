/* SPDX-License-Identifier: 0BSD */
#include "conv2d_int8_pixel.h"

/*
 * Convolution with any kernel, stride, dilation, pads and groups; int8, channels last.
 *
 * weights: for each group, for each block of 4 output channels [kernel_height][kernel_width][channels][4]; the last
 *   (out_channels / groups) % 4 channels of a group follow one by one as [kernel_height][kernel_width][channels].
 * bias: [out_channels] as it is; as many less (input zero point) * (sum of the weights) for pixels that see every tap, or none;
 * multipliers: [out_channels], or one for all if multiplier_step is 0; none if they are joined with the biases
 *   (parameters_int8.h), whose groups of channels are whole;
 * levels: {input zero point, lowest - zero point, highest - zero point, zero point (all three of the output), where the second
 *   biases begin, or 0}.
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
    aidge_ref_piece_begin(&piece, input, shape);
    for (left = shape->batches * shape->out_height * shape->out_width * shape->groups; left > 0; left--) {
        aidge_ref_conv2d_int8_next(&piece, weights, bias, multipliers, multiplier_step, levels, shape, wide, form);
        if (form == AIDGE_REF_JOINED) {
            aidge_ref_conv2d_int8_pixel_joined(&piece, output, levels);
        } else if (form == AIDGE_REF_FIXED) {
            aidge_ref_conv2d_int8_pixel_fixed(&piece, output, levels, multiplier_step);
        } else if (wide != 0) {
            aidge_ref_conv2d_int8_pixel_wide(&piece, output, levels, multiplier_step);
        } else {
            aidge_ref_conv2d_int8_pixel(&piece, output, levels, multiplier_step);
        }
        output += piece.outputs + (piece.group == 0 ? output_gap : 0);
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

/* The same with int8 weights and fixed factors: [out_channels][2], or one pair. */
AIDGE_KIT_NOINLINE void aidge_ref_conv2d_int8_fixed(const int8_t *input, int8_t *output, const int8_t *weights,
                                                    const int32_t *bias, const int32_t *factors, const int32_t *levels,
                                                    int32_t factor_step, int32_t output_gap, const aidge_kit_window2d *shape)
{
    aidge_ref_conv2d_int8_image(input, output, weights, bias, (const float *)(const void *)factors, levels, factor_step,
                                output_gap, shape, 0, AIDGE_REF_FIXED);
}

/* The same with int8 weights, and biases as they are, joined with the multipliers. */
AIDGE_KIT_NOINLINE void aidge_ref_conv2d_int8_joined(const int8_t *input, int8_t *output, const int8_t *weights,
                                                     const int32_t *joined, const int32_t *levels, int32_t output_gap,
                                                     const aidge_kit_window2d *shape)
{
    aidge_ref_conv2d_int8_image(input, output, weights, joined, NULL, levels, 0, output_gap, shape, 0,
                                AIDGE_REF_JOINED);
}
