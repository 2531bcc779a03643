/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/*
 * A sigmoid or tanh of int16 values with zero point 0, in units of 2^-15 (arithmetic/halfword_functions.py).
 *
 * table: [256]; numbers: {multiplier, shift to the right, bits of a place behind the entry: 9 of a sigmoid, 8 of a tanh}.
 */
static void aidge_ref_saturating_double_int16(const int16_t *input, int16_t *output, const uint16_t *table,
                                              const int32_t *numbers, int32_t count)
{
    const int32_t half = ((int32_t)1 << numbers[1]) >> 1;
    const int32_t bits = numbers[2];
    int32_t i;
    for (i = 0; i < count; i++) {
        const int32_t place = (input[i] * numbers[0] + half) >> numbers[1];
        const int32_t size = place < 0 ? -place : place;
        const int32_t at = size >> bits;
        int32_t level = bits == 9 ? 0x7FFF << 10 : 0xFFFF << 8;
        if (at < 255) {
            level = ((int32_t)table[at] << bits) + (size & (((int32_t)1 << bits) - 1)) * ((int32_t)table[at + 1] - table[at]);
        }
        if (bits == 9) {
            level = place < 0 ? 0x2000000 - level - 1 : level;
            output[i] = (int16_t)((level + 0x200) >> 10);
        } else {
            level -= 0x800000;
            level = place < 0 ? -level - 1 : level;
            output[i] = (int16_t)((level + 0x80) >> 8);
        }
    }
}
