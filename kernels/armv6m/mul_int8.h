/* SPDX-License-Identifier: 0BSD */
#include "target.h"

#if !AIDGE_ARMV6M_ASSEMBLY
/*
 * The stored value of (a - za) * (b - zb) by two narrow products; numbers: {-za, -zb, -start, width, constant, low and high part of
 * the multiplier, lowest - highest level, highest level}, with `bits` in the low part. The output may take the place of an input.
 * The generator has proved the result equal to the real formula for all pairs. The C version of the functions of this name.
 */
static void aidge_armv6m_mul_int8(const int8_t *first, const int8_t *second, int8_t *output, const int32_t *numbers, int32_t count,
                                  int32_t bits)
{
    for (; count > 0; count--) {
        const int32_t sum = (*first++ + numbers[0]) * (*second++ + numbers[1]) + numbers[2];
        const uint32_t value = (uint32_t)sum;
        uint32_t level = (value * (uint32_t)numbers[6] + ((value * (uint32_t)numbers[5]) >> bits) + (uint32_t)numbers[4]) >> 24;
        level = (level ^ 0x80u) - 0x80u;
        if (value > (uint32_t)numbers[3]) {
            level = (uint32_t)(sum < 0 ? numbers[7] + numbers[8] : numbers[8]);
        }
        *output++ = (int8_t)(int32_t)level;
    }
}
#endif
