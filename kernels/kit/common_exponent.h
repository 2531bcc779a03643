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

#define AIDGE_KIT_SMALLEST_PATTERN ((uint32_t)40 << 23) /* of 2^-87: smaller floats count as 0 */
#define AIDGE_KIT_INFINITE_PATTERN 0x7f800000u

/* The pattern of the largest magnitude; the pattern of infinity or more if a value is not finite. */
AIDGE_KIT_INLINE uint32_t aidge_kit_largest_pattern(const float *values, int32_t count)
{
    uint32_t largest = 0;
    int32_t index;
    for (index = 0; index < count; index++) {
        const float value = values[index]; /* aligned: a core without words at any address calls no function */
        uint32_t pattern;
        (void)memcpy(&pattern, &value, sizeof pattern);
        pattern &= 0x7fffffffu;
        largest = pattern > largest ? pattern : largest;
    }
    return largest;
}

/*
 * Floats as integers below 2^bits with the exponent of the largest value: value = integer * unit, less the part below the unit.
 * Returns the unit; NaN, and zeros, if a value is not finite. 2 <= bits <= 30.
 */
AIDGE_KIT_NOINLINE float aidge_kit_common_exponent(const float *values, int32_t *integers, int32_t count, int32_t bits)
{
    uint32_t largest = aidge_kit_largest_pattern(values, count);
    float factor, unit;
    int32_t index;
    if (largest >= AIDGE_KIT_INFINITE_PATTERN) {
        (void)memset(integers, 0, (uint32_t)count * sizeof *integers);
        return NAN;
    }
    largest = largest > AIDGE_KIT_SMALLEST_PATTERN ? largest : AIDGE_KIT_SMALLEST_PATTERN;
    largest >>= 23; /* values are below 2^(largest - 126) */
    factor = aidge_kit_float_of(((uint32_t)(253 + bits) - largest) << 23);
    unit = aidge_kit_float_of((largest + 1u - (uint32_t)bits) << 23);
    for (index = 0; index < count; index++) {
        integers[index] = (int32_t)(values[index] * factor);
    }
    return unit;
}
