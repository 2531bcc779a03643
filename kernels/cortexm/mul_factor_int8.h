/* SPDX-License-Identifier: 0BSD */
#include "target.h"
#include "kit/fixed.h"
#include "kit/requantize.h"

#if !AIDGE_CORTEXM_FPU
/*
 * output = clamp(rint((a - za) * (b - zb) * factor) + zero point), int8.
 *
 * numbers: {-za and -zb and the zero point as pairs, four times the lowest and the highest value, the factor}: a float, or if
 * `is_fixed` {multiplier, shift to the right}, which round twice. The C version of the functions.
 */
AIDGE_CORTEXM_C void aidge_cortexm_mul_factor_int8_c(const int8_t *first, const int8_t *second, int8_t *output,
                                                     const int32_t *numbers, int32_t count, int32_t is_fixed)
{
    const int32_t zero_a = aidge_cortexm_low((uint32_t)numbers[0]);
    const int32_t zero_b = aidge_cortexm_low((uint32_t)numbers[1]);
    const int32_t low = (int8_t)(numbers[3] & 0x7F) - (numbers[3] & 0x80);
    const int32_t high = (int8_t)(numbers[4] & 0x7F) - (numbers[4] & 0x80);
    float multiplier;
    (void)memcpy(&multiplier, numbers + 5, sizeof multiplier);
    for (; count > 0; count--) {
        const int32_t product = (*first++ + zero_a) * (*second++ + zero_b);
        int32_t level = aidge_cortexm_low((uint32_t)numbers[2]);
        level += is_fixed != 0 ? aidge_kit_scale_fixed(product, numbers[5], -numbers[6]) : aidge_kit_scale(product, multiplier);
        level = level < low ? low : level;
        *output++ = (int8_t)(level > high ? high : level);
    }
}
#endif
