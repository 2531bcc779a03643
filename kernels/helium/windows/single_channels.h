/* SPDX-License-Identifier: 0BSD */
#include "core/copies.h"

/* What a generated function for one channel at a time computes. */
typedef struct {
    int32_t channels, in_width, rows, columns; /* of the input that are read */
    int32_t out_height, out_width, top, left;
    int32_t width, stride; /* of the columns with their pads */
    int32_t kernel_height, kernel_width;
    int32_t bits;    /* by which sums are shifted before the bias is added */
    int32_t numbers; /* bytes of those of a channel */
    int32_t fixed;   /* rounding.py */
    int32_t halves;  /* whether each channel has two windows, whose sum counts */
} aidge_helium_channels_shape;

#if !AIDGE_HELIUM_ASSEMBLY
/*
 * Depthwise convolution of one image, [height][width][channels]; the plane holds the zero point around each channel.
 *
 * stream: int32 {input zero point, zero point or the number of rounding.py, lowest, highest}; for each channel
 *   int32 bias, float multiplier; the taps of all channels. With 12 bytes a third number follows: where the multiplier is
 *   negative, the three belong to a fused multiplication (rounding.py); with `fixed` multipliers are int32, and the third one is
 *   int32 shift << 16 | zero point.
 * Ranges: the generator has proved that no sum leaves int32; partial sums may wrap around.
 */
static void aidge_helium_channels(const int8_t *x, int8_t *y, const int8_t *stream, int8_t *plane,
                                  const aidge_helium_channels_shape *shape)
{
    const int32_t channels = shape->channels;
    const int32_t window = shape->kernel_height * shape->kernel_width;
    int32_t out_y, out_x, channel, row, column;
    aidge_kit_levels levels;
    levels.zero_point = (int16_t)(aidge_helium_word(stream + 4) & 0xFFFF);
    levels.lowest = aidge_helium_word(stream + 8) - levels.zero_point;
    levels.highest = aidge_helium_word(stream + 12) - levels.zero_point;
    for (channel = 0; channel < channels; channel++) {
        const int8_t *numbers = stream + 16 + shape->numbers * channel;
        const int8_t *taps = stream + 16 + shape->numbers * channels + (shape->halves + 1) * window * channel;
        for (row = 0; row < shape->rows; row++) {
            for (column = 0; column < shape->columns; column++) {
                plane[(row + shape->top) * shape->width + column + shape->left] =
                    x[(row * shape->in_width + column) * channels + channel];
            }
        }
        for (out_y = 0; out_y < shape->out_height; out_y++) {
            for (out_x = 0; out_x < shape->out_width; out_x++) {
                uint32_t sum = 0;
                for (row = 0; row < shape->kernel_height; row++) {
                    for (column = 0; column < shape->kernel_width; column++) {
                        const int8_t *patch = plane + shape->stride * (out_y * shape->width + out_x);
                        const int8_t *tap = taps + shape->kernel_width * row + column;
                        const int32_t weight = shape->halves != 0 ? tap[0] + tap[window] : tap[0];
                        sum += (uint32_t)(patch[row * shape->width + column] * weight);
                    }
                }
                sum = (sum << shape->bits) + (uint32_t)aidge_helium_word(numbers);
                y[(out_y * shape->out_width + out_x) * channels + channel] =
                    shape->fixed != 0
                        ? aidge_helium_fixed((int32_t)sum, aidge_helium_word(numbers + 4), aidge_helium_word(numbers + 8) >> 16,
                                             shape->fixed, levels)
                    : aidge_helium_word(numbers + 4) < 0
                        ? aidge_helium_fused(sum, aidge_helium_word(numbers + 4), aidge_helium_word(numbers + 8) & 0xFFFF,
                                             levels.lowest + levels.zero_point, levels.highest + levels.zero_point)
                        : aidge_kit_requantize((int32_t)sum, aidge_helium_float(numbers + 4), levels);
            }
        }
    }
}
#endif
