/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <string.h>
#include "../helium.h"

#define AIDGE_HELIUM_TOO_CLOSE 6u
#define AIDGE_HELIUM_LEAST_SCALE 0x22000000u                      /* the bits of 2^-59 */
#define AIDGE_HELIUM_SCALES (0x5D000000u - AIDGE_HELIUM_LEAST_SCALE) /* below 2^59 */

/* Scale, the reciprocal of it in two parts, zero point. */
typedef struct {
    float scale, high, low;
    int32_t zero_point;
} aidge_helium_measured;

/* Scale and zero point of numbers whose range, including 0, is known; whether products may replace divisions: nothing on the way
   underflows then but what is far below half a level, and no quotient is too close to the middle of two floats. */
static int aidge_helium_measure(const float *range, aidge_helium_measured *found)
{
    const float step = (range[1] - range[0]) / 255.0f;
    uint32_t bits;
    (void)memcpy(&bits, &step, sizeof bits);
    if (bits - AIDGE_HELIUM_LEAST_SCALE < AIDGE_HELIUM_SCALES) {
        const float zero = rintf(-range[0] / step); /* at most 255, as the range is 255 scales but for roundings */
        const uint32_t close = (bits + AIDGE_HELIUM_TOO_CLOSE) & 0xFFFFu;
        found->scale = step;
        found->zero_point = (int32_t)zero;
        found->high = 1.0f / step;
        found->low = fmaf(-found->high, step, 1.0f) * found->high;
        return (close > 2u * AIDGE_HELIUM_TOO_CLOSE) || (close == AIDGE_HELIUM_TOO_CLOSE);
    }
    found->scale = step > 0.0f ? step : 1.0f;
    {
        const float zero = rintf(-range[0] / found->scale);
        found->zero_point = (int32_t)(zero > 255.0f ? 255.0f : zero);
    }
    return 0;
}

/* y = saturate(rint_half_even(x / scale) + zero point). */
static void aidge_helium_levels_c(const float *x, uint8_t *y, const aidge_helium_measured *numbers, int32_t count)
{
    for (; count > 0; count--) {
        const float level = rintf(*x++ / numbers->scale) + (float)numbers->zero_point;
        *y++ = (uint8_t)(level > 0.0f ? level < 255.0f ? level : 255.0f : 0.0f);
    }
}

#if !AIDGE_HELIUM_ASSEMBLY
/* The lowest and the highest of the numbers and 0. */
static void aidge_helium_range_c(const float *x, float *range, int32_t count)
{
    range[0] = 0.0f;
    range[1] = 0.0f;
    for (; count > 0; count--) {
        range[0] = *x < range[0] ? *x : range[0];
        range[1] = *x > range[1] ? *x : range[1];
        x++;
    }
}
#endif
