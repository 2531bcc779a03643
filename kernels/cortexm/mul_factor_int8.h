/* SPDX-License-Identifier: 0BSD */
#include "target.h"
#include "kit/fixed.h"
#include "kit/requantize.h"

#if !AIDGE_CORTEXM_FPU
/*
 * output = clamp(rint_half_even((a - za) * (b - zb) * multiplier) + zero point), int8.
 *
 * numbers: {-za and -zb and the zero point as pairs, four times the lowest and the highest value, bits of the multiplier}.
 * The C version of the function of this name; the generator has proved the result for all pairs of values.
 */
AIDGE_CORTEXM_C void aidge_cortexm_mul_float_int8_c(const int8_t *first, const int8_t *second, int8_t *output, const int32_t *numbers,
                                              int32_t count)
{
    const int32_t zero_a = aidge_cortexm_low((uint32_t)numbers[0]);
    const int32_t zero_b = aidge_cortexm_low((uint32_t)numbers[1]);
    const int32_t low = (int8_t)(numbers[3] & 0x7F) - (numbers[3] & 0x80);
    const int32_t high = (int8_t)(numbers[4] & 0x7F) - (numbers[4] & 0x80);
    float multiplier;
    (void)memcpy(&multiplier, numbers + 5, sizeof multiplier);
    for (; count > 0; count--) {
        int32_t level = aidge_kit_scale((*first++ + zero_a) * (*second++ + zero_b), multiplier);
        level += aidge_cortexm_low((uint32_t)numbers[2]);
        level = level < low ? low : level;
        *output++ = (int8_t)(level > high ? high : level);
    }
}

/* The same by a fixed-point factor {multiplier, shift to the right}, the last numbers. */
AIDGE_CORTEXM_C void aidge_cortexm_mul_fixed_int8_c(const int8_t *first, const int8_t *second, int8_t *output,
                                                    const int32_t *numbers, int32_t count)
{
    const int32_t zero_a = aidge_cortexm_low((uint32_t)numbers[0]);
    const int32_t zero_b = aidge_cortexm_low((uint32_t)numbers[1]);
    const int32_t low = (int8_t)(numbers[3] & 0x7F) - (numbers[3] & 0x80);
    const int32_t high = (int8_t)(numbers[4] & 0x7F) - (numbers[4] & 0x80);
    for (; count > 0; count--) {
        int32_t level = aidge_kit_scale_fixed((*first++ + zero_a) * (*second++ + zero_b), numbers[5], -numbers[6]);
        level += aidge_cortexm_low((uint32_t)numbers[2]);
        level = level < low ? low : level;
        *output++ = (int8_t)(level > high ? high : level);
    }
}
#endif
