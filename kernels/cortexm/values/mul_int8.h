/* SPDX-License-Identifier: 0BSD */
#include "core/lanes.h"
#include "kit/wide.h"

/*
 * output = clamp((hi32(((a - za) * (b - zb) + extra) * multiplier) + constant) >> shift), int8.
 *
 * numbers: {-za and -zb as pairs, extra, multiplier, constant, and if it is limited four times the lowest and the highest value}.
 * The C version of the functions of this name; the generator has proved the result for all pairs of values.
 */
#if !AIDGE_CORTEXM_ASSEMBLY
AIDGE_CORTEXM_INLINE void aidge_cortexm_mul_int8_c(const int8_t *first, const int8_t *second, int8_t *output,
                                                   const int32_t *numbers, int32_t count, int32_t shift, int32_t is_limited)
{
    const int32_t zero_a = aidge_cortexm_low((uint32_t)numbers[0]);
    const int32_t zero_b = aidge_cortexm_low((uint32_t)numbers[1]);
    const int32_t low = is_limited != 0 ? numbers[5] >> 24 : -128;
    const int32_t high = is_limited != 0 ? numbers[6] >> 24 : 127;
    for (; count > 0; count--) {
        const int32_t product = (*first++ + zero_a) * (*second++ + zero_b) + numbers[2];
        int32_t level = ((int32_t)((uint64_t)aidge_kit_multiply_s64(product, numbers[3]) >> 32) + numbers[4]) >> shift;
        level = level < low ? low : level;
        *output++ = (int8_t)(level > high ? high : level);
    }
}
#endif
