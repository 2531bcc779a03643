/* SPDX-License-Identifier: 0BSD */
#include "quantize.h"

#if !AIDGE_CORTEXM_FPU
/* The C version of aidge_cortexm_range. */
AIDGE_CORTEXM_C void aidge_cortexm_range_portable(const float *input, uint32_t *lowest, int32_t *highest, int32_t count)
{
    for (; count > 0; count--) {
        uint32_t bits;
        (void)memcpy(&bits, input++, sizeof bits);
        *lowest = bits > *lowest ? bits : *lowest;
        *highest = (int32_t)bits > *highest ? (int32_t)bits : *highest;
    }
}
#endif

/* Scale and zero point of float32 numbers from their own range including 0, whose ends are patterns of floats. */
static void aidge_cortexm_scale_of_range(uint32_t lowest, int32_t highest, float *scale, uint8_t *zero_point)
{
    float low, high, step, zero;
    (void)memcpy(&low, &lowest, sizeof low);
    (void)memcpy(&high, &highest, sizeof high);
    step = (high - low) / 255.0f;
    step = step > 0.0f ? step : 1.0f;
    zero = rintf(-low / step);
    *scale = step;
    *zero_point = (uint8_t)(zero > 255.0f ? 255.0f : zero);
}
