/* SPDX-License-Identifier: 0BSD */
#include "wide.h"

/* A divisor of 64 bits for several dividends: divisor / 2^shift <= top <= 2^16, above by less than 2. */
typedef struct {
    uint64_t divisor;
    uint32_t top;
    int32_t shift;
} aidge_kit_divisor;

static inline aidge_kit_divisor aidge_kit_divisor_of(uint64_t divisor)
{
    const int32_t excess = aidge_kit_bits_u64(divisor) - 16;
    aidge_kit_divisor by;
    by.divisor = divisor;
    by.shift = excess > 0 ? excess : 0;
    by.top = (uint32_t)aidge_kit_shift_right(divisor, by.shift) + (excess > 0 ? 1u : 0u);
    return by;
}

/*
 * rint_half_even(dividend / divisor), dividend and divisor below 2^63. For levels of int8: what is above 512 may come out as
 * any other number above 512.
 *
 * The quotient of the leading bits is never above the whole one, and at most 1 below it where that is below 1,024.
 */
AIDGE_KIT_INLINE uint32_t aidge_kit_rounded_quotient(uint64_t dividend, const aidge_kit_divisor *by)
{
    const uint64_t leading = aidge_kit_shift_right(dividend, by->shift);
    uint64_t rest;
    uint32_t quotient;
    if (leading >= (by->top << 10)) {
        return 1024u;
    }
    quotient = aidge_kit_divide_u32((uint32_t)leading, by->top);
    rest = dividend - aidge_kit_multiply(by->divisor, quotient);
    if (rest >= by->divisor) {
        rest -= by->divisor;
        quotient++;
    }
    return quotient + (uint32_t)((rest > by->divisor - rest) || ((rest == by->divisor - rest) && ((quotient & 1u) != 0u)));
}
