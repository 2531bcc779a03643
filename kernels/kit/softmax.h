/* SPDX-License-Identifier: 0BSD */
#include "inline.h"
#include "quotient.h"

/*
 * The quotients of one row of a softmax: of T << up by a divisor (arithmetic/softmax.py), T at most 2^30, for levels of int8.
 *
 * With n the bits of the divisor D, factor is 2^(n + 30) / D within 8 (one step of Newton's method from 16 bits), so the high
 * word of T * factor is q * 2^shift within 3, shift = n - up - 2. The level is that, rounded, unless it lies within BAND of the
 * middle between two levels: then the exact quotient is asked.
 */
typedef struct {
    uint64_t divisor;
    uint32_t factor, half; /* half: of 2^shift */
    int32_t shift, up;
} aidge_kit_row_quotient;

#define AIDGE_KIT_SOFTMAX_BAND 4u

AIDGE_KIT_NOINLINE aidge_kit_row_quotient aidge_kit_row_quotient_of(uint64_t divisor, int32_t up)
{
    const int32_t bits = aidge_kit_bits_u64(divisor);
    const uint32_t leading =
        (uint32_t)(bits > 32 ? aidge_kit_shift_right(divisor, bits - 32) : aidge_kit_shift_left(divisor, 32 - bits));
    const uint32_t first = aidge_kit_divide_u32(0xFFFFFFFFu, leading >> 16);
    const uint64_t rest = 0x1000000000000u - aidge_kit_product(leading, first);
    const int32_t error = (int32_t)aidge_kit_shift_right_s64((int64_t)rest, 4);
    aidge_kit_row_quotient by;
    by.divisor = divisor;
    by.factor = (first << 14)
                + (uint32_t)aidge_kit_shift_right_s64(aidge_kit_multiply_s64(error, (int32_t)first), 30);
    by.shift = bits - up - 2;
    by.up = up;
    by.half = by.shift < 32 ? (uint32_t)1 << (by.shift - 1) : 0x80000000u;
    return by;
}

/* The level of a quotient near the middle between two levels. */
AIDGE_KIT_NOINLINE uint32_t aidge_kit_row_exactly(uint32_t exponential, const aidge_kit_row_quotient *by)
{
    const aidge_kit_divisor exact = aidge_kit_divisor_of(by->divisor);
    return aidge_kit_rounded_quotient(aidge_kit_shift_left(exponential, by->up), &exact);
}

/* rint_half_even of the quotient. by->shift is 31 at most. */
AIDGE_KIT_INLINE uint32_t aidge_kit_row_level(uint32_t exponential, const aidge_kit_row_quotient *by, uint32_t factor,
                                              uint32_t half, int32_t shift)
{
    const uint32_t rounded = (uint32_t)(aidge_kit_product(exponential, factor) >> 32) + half;
    const uint32_t above = (rounded + AIDGE_KIT_SOFTMAX_BAND) & (2u * half - 1u);
    return AIDGE_KIT_SELDOM(above < 2u * AIDGE_KIT_SOFTMAX_BAND) ? aidge_kit_row_exactly(exponential, by) : rounded >> shift;
}
