/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "inline.h"
#include "requantize.h"

/* The constants of arithmetic/near_halves.py. */
#define AIDGE_KIT_NEAR_START ((int64_t)0x80400000u)
#define AIDGE_KIT_NEAR_BAND 0x800000u

/* The same as aidge_kit_scale, for sums near the middle of two levels, which a long product does not decide. */
AIDGE_KIT_NOINLINE int32_t aidge_kit_scale_exactly(int32_t sum, float multiplier)
{
    return aidge_kit_scale(sum, multiplier);
}

/*
 * aidge_kit_scale by one long product, for cores without an FPU: what it gives is the same, or beyond 383 in both.
 * factor: floor(multiplier * 2^32); the generator has proved its error small enough for every sum (near_halves.py).
 */
AIDGE_KIT_INLINE int32_t aidge_kit_scale_near(int32_t sum, int32_t factor, float multiplier)
{
    const int64_t product = aidge_kit_product_s32(sum, factor) + AIDGE_KIT_NEAR_START;
    return (uint32_t)product < AIDGE_KIT_NEAR_BAND ? aidge_kit_scale_exactly(sum, multiplier)
                                                   : (int32_t)aidge_kit_shift_right_s64(product, 32);
}

/* The same by a multiplier; a set sign says that the generator has not proved the factor. */
AIDGE_KIT_INLINE int32_t aidge_kit_scale_marked(int32_t sum, float multiplier)
{
    uint32_t bits;
    (void)memcpy(&bits, &multiplier, sizeof bits);
    if ((bits >> 31) != 0u) {
        return aidge_kit_scale_exactly(sum, -multiplier);
    }
    /* floor(multiplier * 2^32), 2^-32 <= multiplier < 1/2 */
    return aidge_kit_scale_near(sum, (int32_t)(((bits << 8) | 0x80000000u) >> (126u - (bits >> 23))), multiplier);
}
