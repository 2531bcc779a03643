/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "inline.h"
#include "requantize.h"
#include "wide.h"

/*
 * Means of int8 values as float32 gives them: float32(x - zero point) * scale, added up in a fixed order (mean_turn.h,
 * mean_columns.h, mean_lanes.h), over the count, over the output's scale, rounded half to even; each operation rounded to
 * float32. Where the order cannot show, from the integer sum.
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

/* sum plus `count` values that lie `step` bytes apart, one after another. Not every core that has it needs it. */
static aidge_kit_sum aidge_kit_add_values(aidge_kit_sum sum, const int8_t *value, int32_t step, int32_t count,
                                          const int32_t *numbers) __attribute__((unused));
static aidge_kit_sum aidge_kit_add_values(aidge_kit_sum sum, const int8_t *value, int32_t step, int32_t count,
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

/* To 24 bits, half to even; below 2^32 - 2^7. */
AIDGE_KIT_INLINE uint32_t aidge_kit_rounded_u32(uint32_t value)
{
    const int32_t excess = aidge_kit_bits(value) - 24;
    return excess > 0 ? aidge_kit_shift_half_even(value, excess) << excess : value;
}

/* The same below 2^54: what goes fits 32 bits. */
AIDGE_KIT_NOINLINE aidge_kit_sum aidge_kit_rounded(int64_t value)
{
    const uint64_t magnitude = (uint64_t)(value < 0 ? -value : value);
    const uint32_t high = (uint32_t)(magnitude >> 32);
    const uint32_t low = (uint32_t)magnitude;
    const int32_t excess = high != 0u ? aidge_kit_bits(high) + 8 : aidge_kit_bits(low) - 24;
    uint32_t kept;
    uint64_t rounded;
    if (excess <= 0) {
        return value;
    }
    kept = low >> excess;
    if (high != 0u) {
        kept |= high << (32 - excess);
    }
    kept += (uint32_t)(((low << (32 - excess)) | (kept & 1u)) > 0x80000000u);
    rounded = ((uint64_t)(kept >> (32 - excess)) << 32) | (kept << excess);
    return value < 0 ? -(int64_t)rounded : (int64_t)rounded;
}

static inline aidge_kit_sum aidge_kit_add(aidge_kit_sum a, aidge_kit_sum b)
{
    return aidge_kit_rounded(a + b);
}

AIDGE_KIT_NOINLINE aidge_kit_sum aidge_kit_add_values(aidge_kit_sum sum, const int8_t *value, int32_t step, int32_t count,
                                          const int32_t *numbers)
{
    int32_t exponent;
    const uint32_t scale = aidge_kit_mantissa(numbers[AIDGE_KIT_MEAN_INPUT_SCALE], &exponent);
    const int32_t zero = AIDGE_KIT_MEAN_INPUT_ZERO(numbers);
    for (; count > 0; count--) {
        const int32_t centred = *value - zero; /* at most 255 away from 0 */
        const int64_t term = aidge_kit_rounded_u32((uint32_t)(centred < 0 ? -centred : centred) * scale);
        sum = aidge_kit_add(sum, centred < 0 ? -term : term);
        value += step;
    }
    return sum;
}

/* dividend * 2^25 / divisor, towards 0; the lowest bit: whether something is left over. divisor <= dividend < 2 * divisor. */
static inline uint32_t aidge_kit_quotient_bits(uint32_t dividend, uint32_t divisor)
{
    uint32_t quotient = 1;
    int32_t bits;
    dividend -= divisor;
#if AIDGE_KIT_NARROW
    for (bits = 25; bits > 0; bits--) {
        quotient <<= 1;
        dividend <<= 1;
        if (dividend >= divisor) {
            dividend -= divisor;
            quotient |= 1u;
        }
    }
#else
    for (bits = 25; bits > 0; bits -= 5) {
        const uint32_t part = (dividend << 5) / divisor;
        dividend = (dividend << 5) - part * divisor;
        quotient = (quotient << 5) | part;
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
    return aidge_kit_shift_half_even(aidge_kit_quotient_bits(dividend, divisor), 3); /* 27 bits with that for what is left over */
}

AIDGE_KIT_NOINLINE int32_t aidge_kit_level_of_sum(aidge_kit_sum sum, int32_t count, const int32_t *numbers)
{
    const uint64_t magnitude = (uint64_t)(sum < 0 ? -sum : sum);
    int32_t exponent, of_scale, of_mean, of_level;
    int32_t shift = aidge_kit_bits_u64(magnitude) - 24;
    const uint32_t scale = aidge_kit_mantissa(numbers[AIDGE_KIT_MEAN_SCALE], &of_scale);
    uint32_t level;
    if (sum == 0) {
        return 0;
    }
    shift = shift > 0 ? shift : 0;
    (void)aidge_kit_mantissa(numbers[AIDGE_KIT_MEAN_INPUT_SCALE], &exponent);
    level = (uint32_t)aidge_kit_shift_right(magnitude, shift);
    of_mean = 0;
    if ((count & (count - 1)) == 0) {
        of_mean = 1 - aidge_kit_bits((uint32_t)count);
    } else {
        level = aidge_kit_quotient_of_floats(level, (uint32_t)count, &of_mean);
    }
    shift += exponent + of_mean - of_scale;
    exponent = level >> 24 != 0u ? 1 : 0; /* rounded up to 2^24 */
    level = aidge_kit_quotient_of_floats(level >> exponent, scale, &of_level);
    shift += exponent + of_level;
    if (shift >= -14) {
        level = 1024; /* beyond every level */
    } else {
        level = shift < -31 ? 0u : aidge_kit_shift_half_even(level, -shift);
    }
    return sum < 0 ? -(int32_t)level : (int32_t)level;
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
