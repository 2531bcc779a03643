/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "wide.h"

/*
 * Factors of the contract `double` (arithmetic/fixed_multiplier.py): {multiplier, shift} stands for multiplier * 2^(shift - 31);
 * AIDGE_KIT_ONCE and more: products of 64 bits are shifted to the right by what is above it, and rounded once.
 */
#define AIDGE_KIT_ONCE 64

/* The high word of 2 * value * multiplier, rounded to nearest, ties upwards. */
AIDGE_KIT_INLINE int32_t aidge_kit_high_product(int32_t value, int32_t multiplier)
{
    return (int32_t)aidge_kit_shift_right_s64(aidge_kit_multiply_s64(value, multiplier) + 0x40000000, 31);
}

/* value / 2^shift, rounded to nearest, ties away from zero; 0 <= shift <= 31. */
AIDGE_KIT_INLINE int32_t aidge_kit_shift_away(int32_t value, int32_t shift)
{
    const uint32_t mask = ((uint32_t)1 << shift) - 1u;
    const uint32_t half = (mask >> 1) + (value < 0 ? 1u : 0u);
    return (value >> shift) + (((uint32_t)value & mask) > half ? 1 : 0);
}

/* value * multiplier * 2^(shift - 31); a shift to the left comes first, and the generator has proved that it fits. */
AIDGE_KIT_INLINE int32_t aidge_kit_scale_fixed(int32_t value, int32_t multiplier, int32_t shift)
{
    return shift > 0 ? aidge_kit_high_product((int32_t)((uint32_t)value << shift), multiplier)
                     : aidge_kit_shift_away(aidge_kit_high_product(value, multiplier), -shift);
}

/* The same of a layer's factor, which may be one that rounds once; between lowest and highest. */
AIDGE_KIT_INLINE int32_t aidge_kit_level_fixed(int32_t sum, const int32_t *factor, int32_t lowest, int32_t highest)
{
    int64_t level;
    if (factor[1] < AIDGE_KIT_ONCE) {
        level = aidge_kit_scale_fixed(sum, factor[0], factor[1]);
    } else {
        const int32_t right = factor[1] - AIDGE_KIT_ONCE;
        level = aidge_kit_shift_right_s64(aidge_kit_multiply_s64(sum, factor[0])
                                              + (int64_t)aidge_kit_shift_left(1, right - 1), right);
    }
    return level < lowest ? lowest : level > highest ? highest : (int32_t)level;
}
