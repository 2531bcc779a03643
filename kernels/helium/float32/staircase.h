/* SPDX-License-Identifier: 0BSD */
#include "helium.h"

/*
 * Functions from float32 to int8.
 *
 * steps: rising numbers at which the level changes, NaN behind them; levels: one more than steps.
 * numbers: {bits of the float scale, lowest cell, number of cells less 1}: a number is in the cell of the whole part of x * scale;
 *   firsts: of each cell how many steps its lowest number has reached (arithmetic/staircase.py).
 */
#if !AIDGE_HELIUM_ASSEMBLY
static void aidge_helium_staircase(const float *x, int8_t *y, const float *steps, const int8_t *levels, const int32_t *numbers,
                                   const uint16_t *firsts, int32_t count)
{
    const int32_t low = numbers[1], last = numbers[2];
    float scale;
    (void)memcpy(&scale, numbers, sizeof scale);
    for (; count > 0; count--) {
        const float number = *x++;
        const float scaled = number * scale;
        int32_t cell = 0, place;
        if (scaled >= (float)(low + last)) {
            cell = last;
        } else if (scaled >= (float)low) {
            cell = (int32_t)scaled - low;
        } else {
            /* the first cell */
        }
        place = firsts[cell];
        while (number >= steps[place]) {
            place++;
        }
        *y++ = levels[place];
    }
}
#endif
