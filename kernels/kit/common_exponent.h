/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "inline.h"

/* The float with this pattern. */
AIDGE_KIT_INLINE float aidge_kit_float_of(uint32_t pattern)
{
    float value;
    (void)memcpy(&value, &pattern, sizeof value);
    return value;
}

/*
 * Floats as integers below 2^bits with one exponent, that of the largest: value = integer * unit, less what is below the unit.
 * Returns the unit; NaN, and zeros, where a value is not finite. 2 <= bits <= 30.
 */
AIDGE_KIT_NOINLINE float aidge_kit_common_exponent(const float *values, int32_t *integers, int32_t count, int32_t bits)
{
    uint32_t largest = (uint32_t)40 << 23; /* smaller ones are 0 */
    float factor, unit;
    int32_t index;
    for (index = 0; index < count; index++) {
        uint32_t pattern;
        (void)memcpy(&pattern, values + index, sizeof pattern);
        pattern &= 0x7fffffffu;
        largest = pattern > largest ? pattern : largest;
    }
    if (largest >= 0x7f800000u) {
        (void)memset(integers, 0, (uint32_t)count * sizeof *integers);
        return NAN;
    }
    largest >>= 23; /* values are below 2^(largest - 126) */
    factor = aidge_kit_float_of(((uint32_t)(253 + bits) - largest) << 23);
    unit = aidge_kit_float_of((largest + 1u - (uint32_t)bits) << 23);
    for (index = 0; index < count; index++) {
        integers[index] = (int32_t)(values[index] * factor);
    }
    return unit;
}
