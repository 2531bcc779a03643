/* SPDX-License-Identifier: 0BSD */
#include "common_exponent.h"
#include "exact.h"

/* What a block of a row has in common: the unit of its integers, minus their sum; groups of columns that it meets. */
typedef struct {
    float unit;
    int32_t minus_sum, groups;
} aidge_kit_row_block;

/* A float in -2^22..2^22 becomes an integer, half to even, where that is added: the low 16 bits of the sum are the integer's. */
#define AIDGE_KIT_TO_INTEGER 12582912.0f

/*
 * int8 levels of a block of a row: the values over its largest magnitude / 127. Returns this scale; 0 and zeros where no value is
 * as large as 2^-87, NaN and zeros where one is not finite.
 */
AIDGE_KIT_NOINLINE float aidge_kit_block_levels(const float *values, int32_t *levels, int32_t count)
{
    const uint32_t largest = aidge_kit_largest_pattern(values, count);
    float scale, inverse;
    int32_t index;
    if (largest < AIDGE_KIT_SMALLEST_PATTERN || largest >= AIDGE_KIT_INFINITE_PATTERN) {
        (void)memset(levels, 0, (uint32_t)count * sizeof *levels);
        return largest < AIDGE_KIT_SMALLEST_PATTERN ? 0.0f : NAN;
    }
    scale = aidge_kit_exact_quotient(aidge_kit_float_of(largest), 127.0f);
    inverse = aidge_kit_exact_quotient(1.0f, scale);
    for (index = 0; index < count; index++) {
        const float level = aidge_kit_exact(values[index] * inverse) + AIDGE_KIT_TO_INTEGER;
        levels[index] = (int32_t)(aidge_kit_exact(level) - AIDGE_KIT_TO_INTEGER);
    }
    return scale;
}
