/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "inline.h"
#include "requantize.h"
#include "wide.h"

/*
 * Means of int8 values as float32 gives them: float32(x - zero point) * scale, added up in a fixed order (mean_turn.h,
 * mean_columns.h, mean_lanes.h), over the count, over the output's scale, rounded half to even; each operation rounded to
 * float32. If the order cannot change the result, the mean comes from the integer sum.
 *
 * numbers of a mean: {multiplier, first fraction of the band, four bytes {zero point of the input, zero point, lowest and
 * highest of the output}, scale of the input, of the output as the bits of floats}.
 */
enum { AIDGE_KIT_MEAN_BYTES = 2, AIDGE_KIT_MEAN_INPUT_SCALE, AIDGE_KIT_MEAN_SCALE, AIDGE_KIT_MEAN_NUMBERS };

#define AIDGE_KIT_MEAN_FACTOR 8 /* of sums, before they are multiplied */

AIDGE_KIT_INLINE int32_t aidge_kit_mean_byte(const int32_t *numbers, int32_t place)
{
    return (int8_t)((uint32_t)numbers[AIDGE_KIT_MEAN_BYTES] >> (8 * place));
}

#define AIDGE_KIT_MEAN_INPUT_ZERO(numbers) aidge_kit_mean_byte(numbers, 0)
#define AIDGE_KIT_MEAN_ZERO(numbers) aidge_kit_mean_byte(numbers, 1)
#define AIDGE_KIT_MEAN_LOWEST(numbers) aidge_kit_mean_byte(numbers, 2)
#define AIDGE_KIT_MEAN_HIGHEST(numbers) aidge_kit_mean_byte(numbers, 3)

/* The values of a mean; distances in bytes. */
typedef struct {
    int32_t rows, columns, row_step, column_step;
} aidge_kit_values;

#if defined(__GNUC__) && !defined(AIDGE_WITHOUT_ASSEMBLY) && defined(__arm__) && defined(__ARM_FP) && (__ARM_FP & 4)
typedef float aidge_kit_sum;

static inline float aidge_kit_float(const int32_t *bits)
{
    float value;
    (void)memcpy(&value, bits, sizeof value);
    return value;
}

static inline aidge_kit_sum aidge_kit_add(aidge_kit_sum a, aidge_kit_sum b)
{
    aidge_kit_sum result;
    __asm__("vadd.f32 %0, %1, %2" : "=t"(result) : "t"(a), "t"(b));
    return result;
}

/* sum plus `count` values that lie `step` bytes apart, one after another; in the text of its caller. */
AIDGE_KIT_INLINE aidge_kit_sum aidge_kit_add_each(aidge_kit_sum sum, const int8_t *value, int32_t step, int32_t count,
                                                  const int32_t *numbers)
{
    if (count > 0) {
        int32_t centred;
        float term;
        __asm__ volatile("1:\n\t"
                         "ldrsb %[centred], [%[value]]\n\t"
                         "add %[value], %[value], %[step]\n\t"
                         "sub %[centred], %[centred], %[zero]\n\t"
                         "vmov %[term], %[centred]\n\t"
                         "vcvt.f32.s32 %[term], %[term]\n\t"
                         "vmul.f32 %[term], %[term], %[scale]\n\t"
                         "vadd.f32 %[sum], %[sum], %[term]\n\t"
                         "subs %[count], %[count], #1\n\t"
                         "bne 1b"
                         : [sum] "+&t"(sum), [value] "+&r"(value), [count] "+&r"(count), [centred] "=&r"(centred),
                           [term] "=&t"(term)
                         : [step] "r"(step), [zero] "r"(AIDGE_KIT_MEAN_INPUT_ZERO(numbers)),
                           [scale] "t"(aidge_kit_float(numbers + AIDGE_KIT_MEAN_INPUT_SCALE))
                         : "cc", "memory");
    }
    return sum;
}

/* The same as a function, which a compiler may put into its caller. Not every core that has it needs it. */
static aidge_kit_sum aidge_kit_add_values(aidge_kit_sum sum, const int8_t *value, int32_t step, int32_t count,
                                          const int32_t *numbers) __attribute__((unused));
static aidge_kit_sum aidge_kit_add_values(aidge_kit_sum sum, const int8_t *value, int32_t step, int32_t count,
                                          const int32_t *numbers)
{
    return aidge_kit_add_each(sum, value, step, count, numbers);
}

static inline int32_t aidge_kit_level_of_sum(aidge_kit_sum sum, int32_t count, const int32_t *numbers)
{
    int32_t level;
    float divisor;
    __asm__("vmov %2, %3\n\t"
            "vcvt.f32.s32 %2, %2\n\t"
            "vdiv.f32 %1, %1, %2\n\t"
            "vdiv.f32 %1, %1, %4\n\t"
            "vcvtr.s32.f32 %1, %1\n\t"
            "vmov %0, %1"
            : "=r"(level), "+t"(sum), "=&t"(divisor)
            : "r"(count), "t"(aidge_kit_float(numbers + AIDGE_KIT_MEAN_SCALE)));
    return level;
}
#else
typedef int64_t aidge_kit_sum; /* in units of the input scale's last bit; at most 24 bits are not 0 from the first to the last */

/* scale = result * 2^exponent, 2^23 <= result < 2^24. */
static inline uint32_t aidge_kit_mantissa(int32_t scale, int32_t *exponent)
{
    const uint32_t bits = (uint32_t)scale;
    *exponent = (int32_t)((bits >> 23) & 0xFFu) - 150;
    return (bits & 0x7FFFFFu) | 0x800000u;
}

/* Rounds to 24 bits, half to even; below 2^54. A negative number is measured by the bits of -1 - value, which are one fewer
 * only for a power of two, and a power of two needs no rounding. */
AIDGE_KIT_INLINE aidge_kit_sum aidge_kit_rounded(int64_t value)
{
    const uint32_t sign = value < 0 ? 0xFFFFFFFFu : 0u;
    const uint32_t high = (uint32_t)((uint64_t)value >> 32) ^ sign;
    const uint32_t low = (uint32_t)value;
    const int32_t excess = high != 0u ? aidge_kit_bits(high) + 8 : aidge_kit_bits((low ^ sign) >> 24);
    uint32_t dropped;
    if (excess == 0) {
        return value;
    }
    dropped = ((uint32_t)1 << excess) - 1u; /* fits 32 bits */
    return (int64_t)(((uint64_t)value + (dropped >> 1) + ((low >> excess) & 1u)) & ~(uint64_t)dropped);
}

AIDGE_KIT_INLINE aidge_kit_sum aidge_kit_add(aidge_kit_sum a, aidge_kit_sum b)
{
    return aidge_kit_rounded(a + b);
}

/* sum plus `count` values that lie `step` bytes apart, one after another; in the text of its caller. */
AIDGE_KIT_INLINE aidge_kit_sum aidge_kit_add_each(aidge_kit_sum sum, const int8_t *value, int32_t step, int32_t count,
                                                  const int32_t *numbers)
{
    int32_t exponent;
    const uint32_t scale = aidge_kit_mantissa(numbers[AIDGE_KIT_MEAN_INPUT_SCALE], &exponent);
    const int32_t zero = AIDGE_KIT_MEAN_INPUT_ZERO(numbers);
    for (; count > 0; count--) {
        const aidge_kit_sum term = aidge_kit_rounded(aidge_kit_multiply_s64(*value - zero, (int32_t)scale));
        sum = sum == 0 ? term : aidge_kit_rounded(sum + term);
        value += step;
    }
    return sum;
}

AIDGE_KIT_NOINLINE aidge_kit_sum aidge_kit_add_values(aidge_kit_sum sum, const int8_t *value, int32_t step, int32_t count,
                                          const int32_t *numbers)
{
    return aidge_kit_add_each(sum, value, step, count, numbers);
}

/* dividend * 2^24 / divisor, towards 0; the lowest bit: whether something is left. divisor <= dividend < 2 * divisor < 2^25. */
static inline uint32_t aidge_kit_quotient_bits(uint32_t dividend, uint32_t divisor)
{
    uint32_t quotient = 1;
    int32_t bits;
    dividend -= divisor;
#if AIDGE_KIT_NARROW
    for (bits = 24; bits > 0; bits--) {
        quotient <<= 1;
        dividend <<= 1;
        if (dividend >= divisor) {
            dividend -= divisor;
            quotient |= 1u;
        }
    }
#else
    for (bits = 24; bits > 0; bits -= 8) {
        const uint32_t part = (dividend << 8) / divisor;
        dividend = (dividend << 8) - part * divisor;
        quotient = (quotient << 8) | part;
    }
#endif
    return (quotient << 1) | (uint32_t)(dividend != 0u);
}

/* dividend / divisor to 24 bits, half to even, as result * 2^exponent; both 0 < numbers < 2^24. */
static uint32_t aidge_kit_quotient_of_floats(uint32_t dividend, uint32_t divisor, int32_t *exponent)
{
    const int32_t shift = aidge_kit_bits(dividend) - aidge_kit_bits(divisor);
    *exponent = shift - 23;
    if (shift < 0) {
        dividend <<= -shift;
    } else {
        divisor <<= shift;
    }
    if (dividend < divisor) {
        dividend <<= 1;
        *exponent -= 1;
    }
    if (dividend == divisor) {
        return 0x800000u;
    }
    return aidge_kit_shift_half_even(aidge_kit_quotient_bits(dividend, divisor), 2); /* 26 bits with that for what is left over */
}

/*
 * dividend * 2^shift / divisor to 24 bits, rounded to an integer, both half to even, or 1024 beyond it; dividend <= 2^24 with its
 * highest bit among the upper two, 2^23 <= divisor < 2^24.
 *
 * The level is the guess or one more: the quotient is compared with the middle M = guess + 1/2, which has few bits, so that what
 * lies within half a unit of it becomes M itself.
 */
AIDGE_KIT_INLINE int32_t aidge_kit_level_of_quotient(uint32_t dividend, uint32_t divisor, int32_t shift)
{
    uint32_t guess, twice;
    int32_t beyond, unit;
    if (shift < -1) {
        return 0; /* at most a half */
    }
    if (shift > 9) {
        return 1024; /* beyond every level */
    }
    guess = aidge_kit_divide_u32((dividend >> 9) << (shift + 1), (divisor >> 8) + 1u);
    twice = 2u * guess + 1u;
    beyond = (int32_t)((dividend << (shift + 1)) - divisor * twice); /* what lies above 32 bits is the same */
    unit = (int32_t)(divisor >> (25 - aidge_kit_bits(twice)));
    return (int32_t)(guess + (((beyond > unit) || ((beyond >= -unit) && ((guess & 1u) != 0u))) ? 1u : 0u));
}

AIDGE_KIT_NOINLINE int32_t aidge_kit_level_of_sum(aidge_kit_sum sum, int32_t count, const int32_t *numbers)
{
    const uint64_t magnitude = (uint64_t)(sum < 0 ? -sum : sum);
    const uint32_t high = (uint32_t)(magnitude >> 32);
    int32_t exponent, of_scale;
    int32_t of_mean = 0;
    int32_t shift = high != 0u ? aidge_kit_bits(high) + 8 : aidge_kit_bits((uint32_t)magnitude >> 24);
    const uint32_t scale = aidge_kit_mantissa(numbers[AIDGE_KIT_MEAN_SCALE], &of_scale);
    uint32_t mean = (uint32_t)aidge_kit_shift_right(magnitude, shift);
    int32_t level;
    if (sum == 0) {
        return 0;
    }
    (void)aidge_kit_mantissa(numbers[AIDGE_KIT_MEAN_INPUT_SCALE], &exponent);
    if ((count & (count - 1)) == 0) {
        of_mean = 1 - aidge_kit_bits((uint32_t)count);
    } else {
        mean = aidge_kit_quotient_of_floats(mean, (uint32_t)count, &of_mean);
    }
    level = aidge_kit_level_of_quotient(mean, scale, shift + exponent + of_mean - of_scale);
    return sum < 0 ? -level : level;
}
#endif

/* Whether the fraction of a scaled sum decides its level. */
AIDGE_KIT_INLINE int32_t aidge_kit_is_decided(uint32_t fraction, const int32_t *numbers)
{
    const uint32_t first = (uint32_t)numbers[1];
    return fraction - first > 0u - 2u * first;
}

/* A level with the zero point, clamped. */
AIDGE_KIT_INLINE int8_t aidge_kit_stored_level(int32_t level, const int32_t *numbers)
{
    level += AIDGE_KIT_MEAN_ZERO(numbers);
    level = level < AIDGE_KIT_MEAN_LOWEST(numbers) ? AIDGE_KIT_MEAN_LOWEST(numbers) : level;
    return (int8_t)(level > AIDGE_KIT_MEAN_HIGHEST(numbers) ? AIDGE_KIT_MEAN_HIGHEST(numbers) : level);
}
