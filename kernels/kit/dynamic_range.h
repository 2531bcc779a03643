/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "inline.h"

/* The step between uint8 levels of `count` numbers, from their own range including 0, which ends at `lowest` and `highest` if it
 * is longer; `zero`: the level of 0, a whole number. */
AIDGE_KIT_INLINE float aidge_kit_dynamic_range(const float *input, int32_t count, float lowest, float highest, float *zero)
{
    float low = 0.0f;
    float high = 0.0f;
    float step;
    int32_t i;
    for (i = 0; i < count; i++) {
        low = input[i] < low ? input[i] : low;
        high = input[i] > high ? input[i] : high;
    }
    low = low < lowest ? lowest : low;
    high = high > highest ? highest : high;
    step = (high - low) / 255.0f;
    step = step > 0.0f ? step : 1.0f;
    *zero = rintf(-low / step);
    *zero = *zero > 255.0f ? 255.0f : *zero;
    return step;
}
