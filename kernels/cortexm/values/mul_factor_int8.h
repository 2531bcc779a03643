/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"
#include "kit/fixed.h"
#include "kit/requantize.h"

#if !AIDGE_CORTEXM_FPU
/*
 * output = clamp(rint((a - za) * (b - zb) * factor) + zero point), int8.
 *
 * numbers: {-za and -zb as pairs, zero point, the factor, and if it is limited four times the lowest and the highest value}. The
 * factor is a float, or if `is_fixed` {multiplier, shift to the right}, which round twice. The C version of the functions.
 */
AIDGE_CORTEXM_C void aidge_cortexm_mul_factor_int8_c(const int8_t *first, const int8_t *second, int8_t *output,
                                                     const int32_t *numbers, int32_t count, int32_t is_fixed,
                                                     int32_t is_limited)
{
    const int32_t zero_a = aidge_cortexm_low((uint32_t)numbers[0]);
    const int32_t zero_b = aidge_cortexm_low((uint32_t)numbers[1]);
    const int32_t low = is_limited != 0 ? numbers[4 + is_fixed] >> 24 : -128;
    const int32_t high = is_limited != 0 ? numbers[5 + is_fixed] >> 24 : 127;
    float multiplier;
    (void)memcpy(&multiplier, numbers + 3, sizeof multiplier);
    for (; count > 0; count--) {
        const int32_t product = (*first++ + zero_a) * (*second++ + zero_b);
        int32_t level = numbers[2];
        level += is_fixed != 0 ? aidge_kit_scale_fixed(product, numbers[3], -numbers[4]) : aidge_kit_scale(product, multiplier);
        level = level < low ? low : level;
        *output++ = (int8_t)(level > high ? high : level);
    }
}
#endif
