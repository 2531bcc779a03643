/* SPDX-License-Identifier: 0BSD */
#include "depthwise_window.h"

#if !AIDGE_HELIUM_ASSEMBLY
/*
 * One row of the output, [pixels][channels]; rows: the rows of the input that its windows see, pads included.
 *
 * stream: int32 {input zero point, zero point or the number of rounding.py, lowest, highest}; for each 16 channels int32 biases,
 *   weights [rows][taps][16], float multipliers, of which each four follow int32 fractions of the biases with `bits`; biases and
 *   multipliers in the order of channels 0 4 8 12, 2 6 10 14, 1 5 9 13, 3 7 11 15. With `fixed` (rounding.py) four int32 shifts
 *   follow each four multipliers, which are int32. `wide`: weights are int16, of even channels before those of odd ones.
 * Ranges: the generator has proved that no sum leaves int32; partial sums may wrap around.
 */
static void aidge_helium_depthwise(const int8_t *const *rows, int8_t *y, const int8_t *stream, int32_t pixels,
                                   const aidge_helium_depthwise_shape *shape)
{
    const int32_t weight_bytes = shape->rows * shape->taps * (shape->wide != 0 ? 32 : 16);
    int32_t pixel, channel;
    aidge_kit_levels levels;
    levels.zero_point = (int16_t)(aidge_helium_word(stream + 4) & 0xFFFF);
    levels.lowest = aidge_helium_word(stream + 8) - levels.zero_point;
    levels.highest = aidge_helium_word(stream + 12) - levels.zero_point;
    for (pixel = 0; pixel < pixels; pixel++) {
        for (channel = 0; channel < shape->channels; channel++) {
            const int32_t lane = channel & 15;
            const int32_t place = 4 * (4 * ((lane & 1) * 2 + ((lane >> 1) & 1)) + lane / 4);
            const int32_t fours = 1 + (shape->bits != 0 ? 1 : 0) + (shape->fixed != 0 ? 1 : 0);
            const int8_t *block = stream + 16 + (channel / 16) * (weight_bytes + 64 + 64 * fours);
            const int8_t *numbers = block + 64 + weight_bytes + (place / 16) * (fours - 1) * 16 + place;
            uint32_t sum = (uint32_t)aidge_helium_word(block + place);
            sum += aidge_helium_depthwise_window(rows, pixel * shape->pixel_step + channel - lane, block + 64, lane, 0, shape);
            if (shape->bits != 0) {
                sum = (sum << shape->bits) + (uint32_t)aidge_helium_word(numbers);
                numbers += 16;
            }
            *y++ = shape->fixed == 0 ? aidge_kit_requantize((int32_t)sum, aidge_helium_float(numbers), levels)
                                     : aidge_helium_fixed((int32_t)sum, aidge_helium_word(numbers),
                                                          aidge_helium_word(numbers + 16), shape->fixed, levels);
        }
    }
}
#endif
