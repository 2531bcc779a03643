/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "quotient.h"

/* rint_half_even(value / 2^shift), 1 <= shift <= 30; value has room for 2^(shift - 1) more. */
AIDGE_KIT_INLINE int32_t aidge_kit_round_shift_s32(int32_t value, int32_t shift)
{
    return (value + (((int32_t)1 << (shift - 1)) - 1) + ((value >> shift) & 1)) >> shift;
}

/* rint_half_even(value / 2^shift), 1 <= shift <= 61; value has room for 2^(shift - 1) more. */
AIDGE_KIT_INLINE int64_t aidge_kit_round_shift_s64(int64_t value, int32_t shift)
{
#if AIDGE_KIT_NARROW
    const int64_t half = (int64_t)(aidge_kit_shift_left(1u, shift - 1) - 1u);
    return aidge_kit_shift_right_s64(value + half + (aidge_kit_shift_right_s64(value, shift) & 1), shift);
#else
    return (value + (((int64_t)1 << (shift - 1)) - 1) + ((value >> shift) & 1)) >> shift;
#endif
}

/* rint_half_even(value / divisor), divisor > 0, for levels of int8 (quotient.h). */
AIDGE_KIT_NOINLINE int32_t aidge_kit_round_quotient(int64_t value, int64_t divisor)
{
    const aidge_kit_divisor by = aidge_kit_divisor_of((uint64_t)divisor);
    const int32_t quotient = (int32_t)aidge_kit_rounded_quotient((uint64_t)(value < 0 ? -value : value), &by);
    return value < 0 ? -quotient : quotient;
}

/* value * rescale[0] over rescale[2], or over 2^rescale[1] if rescale[2] is 0; the generator has proved the ranges. */
AIDGE_KIT_INLINE int64_t aidge_kit_rescale(int64_t value, const int64_t *rescale)
{
    const int64_t product = aidge_kit_multiply_s64(value, rescale[0]);
    return rescale[2] != 0 ? aidge_kit_round_quotient(product, rescale[2])
                           : aidge_kit_round_shift_s64(product, (int32_t)rescale[1]);
}

/* value + zero point within lowest..highest; levels = {lowest, highest, zero point}. */
static inline int8_t aidge_kit_saturate(int64_t value, const int32_t *levels)
{
    int64_t level = value + levels[2];
    level = level < levels[0] ? levels[0] : level;
    return (int8_t)(level > levels[1] ? levels[1] : level);
}
