/* SPDX-License-Identifier: 0BSD */
#include "helium.h"

/*
 * Functions from float32 to int8.
 *
 * keys: rising patterns of floats as integers with a sign, those of negative ones with the bits below the sign inverted; one
 *   that no number reaches behind them. levels: one more than keys.
 * numbers: {bits of the float scale, lowest cell, number of cells less 1}: a number is in the cell floor(x * scale); firsts: of
 *   each cell how many keys its lowest number has reached (arithmetic/staircase.py).
 */
#if !AIDGE_HELIUM_ASSEMBLY
static void aidge_helium_staircase(const float *x, int8_t *y, const int32_t *keys, const int8_t *levels, const int32_t *numbers,
                                   const uint16_t *firsts, int32_t count)
{
    const int32_t low = numbers[1], last = numbers[2];
    float scale;
    (void)memcpy(&scale, numbers, sizeof scale);
    for (; count > 0; count--) {
        const float number = *x++;
        const float scaled = number * scale;
        int32_t cell = 0, key, place;
        (void)memcpy(&key, &number, sizeof key);
        key ^= key < 0 ? 0x7FFFFFFF : 0;
        if (scaled >= (float)(low + last)) {
            cell = last;
        } else if (scaled >= (float)low) {
            cell = (int32_t)scaled;
            cell -= ((float)cell > scaled ? 1 : 0) + low;
        } else {
            /* the first cell */
        }
        place = firsts[cell];
        while (key >= keys[place]) {
            place++;
        }
        *y++ = levels[place];
    }
}
#endif
