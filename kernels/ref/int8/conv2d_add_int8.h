/* SPDX-License-Identifier: 0BSD */
#include "blocks_int8.h"
#include "kit/rounding.h"

#define AIDGE_REF_CONV2D_ADD_CHANNELS 32 /* of a pixel that are convolved before they are added; a multiple of 4 */

/* The sums of convolved channels of a pixel and their residuals; `sum` as below. */
AIDGE_KIT_INLINE void aidge_ref_add_convolved(const int8_t *convolved, const int8_t *residual, int8_t *output, int32_t count,
                                              const int32_t *sum)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        const int32_t total = sum[2] + convolved[i] * sum[0] + residual[i] * sum[1];
        int32_t level = sum[6] + aidge_kit_round_shift_s32(total, sum[3]);
        level = level < sum[4] ? sum[4] : level;
        output[i] = (int8_t)(level > sum[5] ? sum[5] : level);
    }
}

/*
 * output = clamp(rint_half_even((offset + a * convolution + b * residual) / 2^shift) + zero point), int8, channels last.
 *
 * The convolution is that of conv2d_int8.h, requantized to int8, with the arguments weights to levels; the residual has the
 * output's dims, and the output may take its place: each of its values is read before the one at the same place is written.
 * sum: {factor a, factor b, offset, shift, lowest, highest, zero point}, of the output the last three.
 * The generator has proved that int32 holds the sums and that all 65,536 pairs of values give the real formula's result.
 */
AIDGE_KIT_INLINE void aidge_ref_conv2d_add_int8_image(const int8_t *input, const int8_t *residual, int8_t *output,
                                                      const int8_t *weights, const int32_t *bias, const float *multipliers,
                                                      const int32_t *levels, int32_t multiplier_step, const int32_t *sum,
                                                      const aidge_kit_window2d *shape, int32_t form)
{
    int8_t convolved[3 * AIDGE_REF_CONV2D_ADD_CHANNELS];
    aidge_ref_piece_int8 piece;
    int32_t left, rest, pixel;
    aidge_ref_piece_begin(&piece, input, shape, form == AIDGE_REF_NEAR ? levels[5] : 0);
    for (left = shape->batches * shape->out_height * shape->out_width * shape->groups; left > 0; left -= piece.pixels) {
        const int32_t outputs = piece.outputs;
        aidge_ref_conv2d_int8_next(&piece, weights, bias, multipliers, multiplier_step, levels, shape, 0, form);
        for (rest = outputs; rest > 0; rest -= piece.outputs) {
            piece.outputs = rest < AIDGE_REF_CONV2D_ADD_CHANNELS ? rest : AIDGE_REF_CONV2D_ADD_CHANNELS;
            if (form == AIDGE_REF_NEAR) {
                aidge_ref_pixels_int8(&piece, convolved, AIDGE_REF_CONV2D_ADD_CHANNELS, levels, multiplier_step, form);
            } else if (form == AIDGE_REF_JOINED) {
                aidge_ref_conv2d_int8_pixel_joined(&piece, convolved, levels);
            } else {
                aidge_ref_conv2d_int8_pixel(&piece, convolved, levels, multiplier_step);
            }
            for (pixel = 0; pixel < piece.pixels; pixel++) {
                aidge_ref_add_convolved(convolved + pixel * AIDGE_REF_CONV2D_ADD_CHANNELS, residual + pixel * outputs,
                                        output + pixel * outputs, piece.outputs, sum);
            }
            residual += piece.outputs;
            output += piece.outputs;
            piece.weights += piece.outputs * piece.taps;
            piece.bias += aidge_ref_bias_words(piece.outputs, form);
            piece.numbers = form == AIDGE_REF_JOINED ? piece.numbers : piece.numbers + piece.outputs * multiplier_step;
        }
        residual += (piece.pixels - 1) * outputs;
        output += (piece.pixels - 1) * outputs;
        piece.outputs = outputs;
    }
}

static void aidge_ref_conv2d_add_int8(const int8_t *input, const int8_t *residual, int8_t *output, const int8_t *weights,
                                      const int32_t *bias, const float *multipliers, const int32_t *levels,
                                      int32_t multiplier_step, const int32_t *sum, const aidge_kit_window2d *shape)
{
    aidge_ref_conv2d_add_int8_image(input, residual, output, weights, bias, multipliers, levels, multiplier_step, sum, shape,
                                    AIDGE_REF_FLOATS);
}

/* The same with floats for kit/near.h. */
AIDGE_KIT_NOINLINE void aidge_ref_conv2d_add_int8_near(const int8_t *input, const int8_t *residual, int8_t *output,
                                                       const int8_t *weights, const int32_t *bias, const float *multipliers,
                                                       const int32_t *levels, int32_t multiplier_step, const int32_t *sum,
                                                       const aidge_kit_window2d *shape)
{
    aidge_ref_conv2d_add_int8_image(input, residual, output, weights, bias, multipliers, levels, multiplier_step, sum, shape,
                                    AIDGE_REF_NEAR);
}

/* The same with biases and multipliers joined. */
AIDGE_KIT_NOINLINE void aidge_ref_conv2d_add_int8_joined(const int8_t *input, const int8_t *residual, int8_t *output,
                                                         const int8_t *weights, const int32_t *joined, const int32_t *levels,
                                                         const int32_t *sum, const aidge_kit_window2d *shape)
{
    aidge_ref_conv2d_add_int8_image(input, residual, output, weights, joined, NULL, levels, 0, sum, shape,
                                    AIDGE_REF_JOINED);
}
