/* SPDX-License-Identifier: 0BSD */
#include "kit/wide.h"
#include "core/target.h"

#if !AIDGE_CORTEXM_FPU
/*
 * output = sat8((((factor a * a) >> 8) + ((factor b * b) >> 8) + offset) >> 20).
 *
 * sum: {factor a, factor b, offset}, with limits also the lowest and the highest value, each + 128 in every byte. The output may
 * take the place of an input. The generator has proved the result equal to the real formula for all pairs. The C version of the
 * functions of this name.
 */
AIDGE_CORTEXM_C void aidge_cortexm_add_int8_c(const int8_t *first, const int8_t *second, int8_t *output, const int32_t *sum,
                                              int32_t count, int32_t is_limited)
{
    const int32_t lowest = is_limited != 0 ? (sum[3] & 0xFF) - 128 : -128;
    const int32_t highest = is_limited != 0 ? (sum[4] & 0xFF) - 128 : 127;
    for (; count > 0; count--) {
        int32_t level = (int32_t)aidge_kit_shift_right_s64(aidge_kit_multiply_s64(sum[0], *first++), 8) + sum[2];
        level = (level + (int32_t)aidge_kit_shift_right_s64(aidge_kit_multiply_s64(sum[1], *second++), 8)) >> 20;
        level = level < lowest ? lowest : level;
        *output++ = (int8_t)(level > highest ? highest : level);
    }
}
#endif
