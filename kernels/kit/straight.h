/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

enum { AIDGE_KIT_STRAIGHT_SHIFT = 20 };

/* y[i] = x[i] * line[0] + line[1], shifted, within int8, for i < count: arithmetic/straight_levels.py. May work in place. */
static void aidge_kit_straight_int8(const int8_t *x, int8_t *y, const int32_t *line, int32_t count)
{
    const int32_t multiplier = line[0];
    const int32_t start = line[1];
    int32_t i;
    for (i = 0; i < count; i++) {
        int32_t level = (x[i] * multiplier + start) >> AIDGE_KIT_STRAIGHT_SHIFT;
        level = level < -128 ? -128 : level;
        y[i] = (int8_t)(level > 127 ? 127 : level);
    }
}
