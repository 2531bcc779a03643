/* SPDX-License-Identifier: 0BSD */
#include "fixed.h"

/*
 * Means of stored values by one factor, under the contract `double`.
 * numbers: {zero point of the input times the count, multiplier, shift, zero point, lowest, highest of the output}.
 */
AIDGE_KIT_INLINE int32_t aidge_kit_fixed_mean(int32_t sum, const int32_t *numbers)
{
    const int32_t level = aidge_kit_scale_fixed(sum - numbers[0], numbers[1], numbers[2]) + numbers[3];
    return level < numbers[4] ? numbers[4] : level > numbers[5] ? numbers[5] : level;
}
