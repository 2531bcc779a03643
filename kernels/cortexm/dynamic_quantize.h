/* SPDX-License-Identifier: 0BSD */
#include "quantize.h"

/* Scale and zero point of `count` float32 numbers, from their own range including 0. Floats are compared as integers: those of one
   sign have the same order. */
static void aidge_cortexm_dynamic_range(const float *input, float *scale, uint8_t *zero_point, int32_t count)
{
    uint32_t lowest = 0x80000000u;
    int32_t highest = 0;
    float low, high, step, zero;
    int32_t i;
    for (i = 0; i < count; i++) {
        uint32_t bits;
        (void)memcpy(&bits, input + i, sizeof bits);
        lowest = bits > lowest ? bits : lowest;
        highest = (int32_t)bits > highest ? (int32_t)bits : highest;
    }
    (void)memcpy(&low, &lowest, sizeof low);
    (void)memcpy(&high, &highest, sizeof high);
    step = (high - low) / 255.0f;
    step = step > 0.0f ? step : 1.0f;
    zero = rintf(-low / step);
    *scale = step;
    *zero_point = (uint8_t)(zero > 255.0f ? 255.0f : zero);
}
