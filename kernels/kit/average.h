/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "wide.h"

/*
 * Means of stored values under the contract `double`: sums over a count, rounded half away from zero.
 * numbers: {reciprocal of the count (arithmetic/fixed_sums.py), half of it, lowest and highest stored value}.
 */
enum { AIDGE_KIT_AVERAGE_HALF = 1, AIDGE_KIT_AVERAGE_LOWEST, AIDGE_KIT_AVERAGE_HIGHEST };

/* The stored mean of values with this sum. */
AIDGE_KIT_INLINE int8_t aidge_kit_average(int32_t sum, const int32_t *numbers)
{
    const uint32_t magnitude = (uint32_t)(sum < 0 ? -sum : sum) + (uint32_t)numbers[AIDGE_KIT_AVERAGE_HALF];
    const int32_t quotient = (int32_t)((uint64_t)aidge_kit_multiply_s64((int32_t)magnitude, numbers[0]) >> 32);
    int32_t level = sum < 0 ? -quotient : quotient;
    level = level < numbers[AIDGE_KIT_AVERAGE_LOWEST] ? numbers[AIDGE_KIT_AVERAGE_LOWEST] : level;
    return (int8_t)(level > numbers[AIDGE_KIT_AVERAGE_HIGHEST] ? numbers[AIDGE_KIT_AVERAGE_HIGHEST] : level);
}
