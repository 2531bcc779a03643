/* SPDX-License-Identifier: 0BSD */
#include "common_exponent.h"
#include "exact.h"

/* The constants of a block of a row: the unit of its integers, minus their sum; the groups of columns that it meets. */
typedef struct {
    float unit;
    int32_t minus_sum, groups;
} aidge_kit_row_block;

/* The pattern of 1.5 * 2^23: a float in -2^22..2^22 that is added to it becomes an integer, half to even, in the low bits. */
#define AIDGE_KIT_ROUNDING_PATTERN 0x4b400000u

/*
 * The scale of int8 levels of a block of a row, its largest magnitude / 127, and the reciprocal. All levels are 0 where the
 * reciprocal is 0: the scale is 0 if no value is as large as 2^-87, NaN if one is not finite.
 */
AIDGE_KIT_INLINE float aidge_kit_block_scale(const float *values, int32_t count, float *reciprocal)
{
    const uint32_t largest = aidge_kit_largest_pattern(values, count);
    float scale;
    if (largest < AIDGE_KIT_SMALLEST_PATTERN || largest >= AIDGE_KIT_INFINITE_PATTERN) {
        *reciprocal = 0.0f;
        return largest < AIDGE_KIT_SMALLEST_PATTERN ? 0.0f : NAN;
    }
    scale = aidge_kit_exact_quotient(aidge_kit_float_of(largest), 127.0f);
    *reciprocal = aidge_kit_exact_quotient(1.0f, scale);
    return scale;
}

/* The level of a value of such a block. */
AIDGE_KIT_INLINE int32_t aidge_kit_block_level(float value, float reciprocal)
{
    const float level = aidge_kit_exact(value * reciprocal) + aidge_kit_float_of(AIDGE_KIT_ROUNDING_PATTERN);
    uint32_t pattern;
    (void)memcpy(&pattern, &level, sizeof pattern);
    return (int32_t)(pattern - AIDGE_KIT_ROUNDING_PATTERN);
}
