/* SPDX-License-Identifier: 0BSD */
#include "target.h"

#if !AIDGE_ARMV6M_ASSEMBLY
/*
 * output = sat8((a * factor a + b * factor b + offset) >> bits); sum: {factor a, factor b, offset}. The output may take the place of
 * an input. The generator has proved the result equal to the real formula for all pairs. The C version of the functions of this
 * name.
 */
static void aidge_armv6m_add_int8(const int8_t *first, const int8_t *second, int8_t *output, const int32_t *sum, int32_t count,
                                  int32_t bits)
{
    for (; count > 0; count--) {
        int32_t level = (*first++ * sum[0] + *second++ * sum[1] + sum[2]) >> bits;
        level = level < -128 ? -128 : level;
        *output++ = (int8_t)(level > 127 ? 127 : level);
    }
}
#endif
