/* SPDX-License-Identifier: 0BSD */
#include "product_window.h"

#if !AIDGE_HELIUM_ASSEMBLY
/* A channel's bias from its word and the word of the high bits of two, and its multiplier. */
static int32_t aidge_helium_joined_bias(uint32_t own, int32_t high, int32_t channel)
{
    return (int32_t)((uint32_t)(int32_t)(int16_t)(((uint32_t)high >> (16 * channel)) & 0xFFFFu) * 16u + (own & 15u));
}

static float aidge_helium_joined_factor(uint32_t own)
{
    const uint32_t bits = (own >> 4) + 0x30000000u;
    float factor;
    (void)memcpy(&factor, &bits, sizeof factor);
    return factor;
}

/*
 * blocks * pixels windows of x times pairs of output channels; y is [pixels][channels]. With `rows`, row n of the first window lies
 * as far behind rows[n] as x behind rows[0].
 *
 * stream: 16 bytes of offsets, 4 of the input's zero point; for each pair of output channels, for each row, vector and tap
 *   (taps backwards in every other vector) 16 weights of the one and 16 of the other channel (or `last`), then int32 {bias, bias},
 *   float {multiplier, multiplier}, int32 step << 16 | zero point; with clamps int32 {lowest, highest}. The last pair has
 *   step 0; with an odd number of channels it repeats one channel of the pair before. With `adds` the number of rounding.py
 *   takes the place of step and zero point. Where the first multiplier is negative, they are the numbers of a fused
 *   multiplication: int32 {bits, bits}, float {multiplier, multiplier}, uint16 {constant, constant}; rounding.py.
 *   With `fixed` (rounding.py) multipliers are int32, and int32 {shift, shift} follow the rest. With `offsets` a window of
 *   ones stands before the first pair, and int32 {offset, offset} of the weights (finer.py) before the biases. With `counted`
 *   the zero point follows the head in place of that in each pair, and all pairs have a step of 2. With `joined` three words stand
 *   in place of biases and multipliers: of each channel the multiplier's pattern, less 0x30000000, above 4 bits of the bias, then
 *   the upper 16 bits of both biases.
 * Ranges: the generator has proved that no sum leaves int32; partial sums may wrap around.
 */
static void aidge_helium_product(const int8_t *x, int8_t *const *rows, int8_t *y, const int8_t *stream, int32_t blocks,
                                 const aidge_helium_product_shape *shape)
{
    const int32_t window_bytes = aidge_helium_window_bytes(shape);
    const int8_t *const begin = stream + 20 + shape->counted;
    const int32_t step_bytes = shape->counted != 0 ? 0 : 4; /* of step and zero point */
    int32_t pixel, channel;
    for (pixel = 0; pixel < blocks * shape->pixels; pixel++) {
        const int8_t *pair = begin + (shape->offsets != 0 ? window_bytes : 0);
        const uint32_t window = shape->offsets != 0 ? aidge_helium_window(x, rows, begin, 0, 1, shape) : 0u;
        int32_t pairs = shape->channels / 2;
        int32_t step;
        do {
            const int8_t *const offsets = pair + 2 * window_bytes;
            const int8_t *const numbers = offsets + (shape->offsets != 0 ? 8 : 0);
            const int8_t *const limits = numbers + (shape->joined != 0 ? 12 : 16 + step_bytes);
            const int8_t *const shifts = limits + (shape->clamps != 0 ? 8 : 0);
            const int32_t word = aidge_helium_word(shape->counted != 0 ? stream + 20 : numbers + 16);
            for (channel = 0; channel < (shape->channels > 1 ? 2 : 1); channel++) {
                uint32_t sum = aidge_helium_window(x, rows, pair, channel, 2, shape);
                aidge_kit_levels levels;
                const uint32_t own = (uint32_t)aidge_helium_word(numbers + 4 * channel);
                if (shape->offsets != 0) {
                    sum += window * (uint32_t)aidge_helium_word(offsets + 4 * channel);
                }
                sum = (sum << shape->bits)
                    + (shape->joined == 0 ? own : (uint32_t)aidge_helium_joined_bias(own, aidge_helium_word(numbers + 8), channel));
                if ((shape->joined == 0) && (shape->fixed == 0) && (aidge_helium_word(numbers + 8) < 0)) {
                    y[channel] = aidge_helium_fused(sum, aidge_helium_word(numbers + 8 + 4 * channel),
                                                    (word >> (16 * channel)) & 0xFFFF,
                                                    shape->clamps != 0 ? aidge_helium_word(limits) : -128,
                                                    shape->clamps != 0 ? aidge_helium_word(limits + 4) : 127);
                    continue;
                }
                levels.zero_point = (int16_t)(word & 0xFFFF);
                levels.lowest = (shape->clamps != 0 ? aidge_helium_word(limits) : -128) - levels.zero_point;
                levels.highest = (shape->clamps != 0 ? aidge_helium_word(limits + 4) : 127) - levels.zero_point;
                if (shape->joined != 0) {
                    y[channel] = aidge_kit_requantize((int32_t)sum, aidge_helium_joined_factor(own), levels);
                    continue;
                }
                y[channel] = shape->fixed == 0
                    ? aidge_kit_requantize((int32_t)sum, aidge_helium_float(numbers + 8 + 4 * channel), levels)
                    : aidge_helium_fixed((int32_t)sum, aidge_helium_word(numbers + 8 + 4 * channel),
                                         aidge_helium_word(shifts + 4 * channel), shape->fixed, levels);
            }
            pairs--;
            step = shape->counted != 0 ? (pairs > 0 ? 2 : 0) : shape->adds == 0 ? word >> 16 : ((word >> 16) & 0x40) != 0 ? 2 : 0;
            if ((shape->joined == 0) && (shape->fixed == 0) && (aidge_helium_word(numbers + 8) < 0)) {
                step = aidge_helium_word(numbers + 12) < 0 ? 2 : 0;
            }
            y += step;
            pair = shifts + (shape->fixed != 0 ? 8 : 0);
        } while (step != 0);
        y += shape->channels > 1 ? 2 : 1;
        x += shape->pixel_step;
    }
}
#endif
