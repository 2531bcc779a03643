/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"

/*
 * Functions from float32 to int8.
 *
 * steps: rising numbers at which the level changes, NaN behind them; levels: one more than steps.
 * numbers: {bits of the float scale, lowest cell, number of cells less 1}: a number is in the cell of the whole part of x * scale;
 *   firsts: of each cell how many steps its lowest number has reached (arithmetic/staircase.py).
 */
#if !AIDGE_HELIUM_ASSEMBLY
/* The cell of a number. */
AIDGE_KIT_INLINE int32_t aidge_helium_staircase_cell(float number, const int32_t *numbers)
{
    const int32_t low = numbers[1], last = numbers[2];
    float scale, scaled;
    (void)memcpy(&scale, numbers, sizeof scale);
    scaled = number * scale;
    return scaled >= (float)(low + last) ? last : scaled >= (float)low ? (int32_t)scaled - low : 0;
}

AIDGE_KIT_INLINE void aidge_helium_staircase(const float *x, int8_t *y, const float *steps, const int8_t *levels,
                                             const int32_t *numbers, const uint16_t *firsts, int32_t count)
{
    for (; count > 0; count--) {
        const float number = *x++;
        int32_t place = firsts[aidge_helium_staircase_cell(number, numbers)];
        while (number >= steps[place]) {
            place++;
        }
        *y++ = levels[place];
    }
}
#endif
