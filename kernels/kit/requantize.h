/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "wide.h"

/*
 * The one place that rounds accumulators: rint_half_even(float32(float32(accumulator) * multiplier)), saturated to int32.
 *
 * accumulator: any int32; multiplier: any finite float >= 0, subnormal ones included.
 * With a single-precision Arm FPU it is three instructions that no compiler option can change, or C that keeps each result in
 * memory where the build takes no assembly; elsewhere the same two roundings to 24 bits are done in integers. All give the same
 * result for every accumulator and multiplier.
 */
#if defined(__GNUC__) && !defined(AIDGE_WITHOUT_ASSEMBLY) && defined(__arm__) && defined(__ARM_FP) && (__ARM_FP & 4)
__attribute__((unused)) /* where assembly scales by itself */
static inline int32_t aidge_kit_scale(int32_t accumulator, float multiplier)
{
    int32_t result;
    float scaled;
    __asm__("vmov %1, %2\n\t"
            "vcvt.f32.s32 %1, %1\n\t"
            "vmul.f32 %1, %1, %3\n\t"
            "vcvtr.s32.f32 %1, %1\n\t"
            "vmov %0, %1"
            : "=r"(result), "=&t"(scaled)
            : "r"(accumulator), "t"(multiplier));
    return result;
}
#else
/* value / 2^shift, rounded half to even; 1 <= shift <= 31. */
static inline uint32_t aidge_kit_shift_half_even(uint32_t value, int32_t shift)
{
    const uint32_t quotient = value >> shift;
    const uint32_t rest = value - (quotient << shift);
    return quotient + (uint32_t)(2u * rest + (quotient & 1u) > ((uint32_t)1 << shift));
}

#if defined(__ARM_FP) && (__ARM_FP & 4)
AIDGE_KIT_INLINE int32_t aidge_kit_scale(int32_t accumulator, float multiplier)
{
    const volatile float product = (float)accumulator * multiplier; /* rounded here, and not fused with what follows */
    const float scaled = product;
    if ((scaled > -4194304.0f) && (scaled < 4194304.0f)) {
        const volatile float shifted = scaled + 12582912.0f; /* 3 * 2^22: its last bit is worth 1, half to even */
        const float kept = shifted;
        int32_t bits;
        (void)memcpy(&bits, &kept, sizeof bits);
        return bits - 0x4B400000;
    }
    if (scaled >= 2147483648.0f) {
        return INT32_MAX;
    }
    if (scaled < -2147483648.0f) {
        return INT32_MIN;
    }
    accumulator = (int32_t)scaled;
    if (scaled - (float)accumulator == 0.5f) { /* no fraction but this one has room beside 23 bits */
        accumulator += accumulator & 1;
    }
    if (scaled - (float)accumulator == -0.5f) {
        accumulator -= accumulator & 1;
    }
    return accumulator;
}
#else
/* high * 2^24 + low, low < 2^24, as a float has it: rounded half to even to 24 bits, which are returned, times 2^*exponent. */
static inline uint32_t aidge_kit_round_to_float(uint32_t high, uint32_t low, int32_t *exponent)
{
    int32_t excess;
    if (high == 0u) {
        return low;
    }
    excess = aidge_kit_bits(high);
    *exponent += excess;
    high = (high << (24 - excess)) | (low >> excess);
    low &= ((uint32_t)1 << excess) - 1u;
    return high + (uint32_t)((low << 1) + (high & 1u) > ((uint32_t)1 << excess));
}

/* a * b as high * 2^24 + low; a <= 2^24, b < 2^24. */
static inline uint32_t aidge_kit_significand_product(uint32_t a, uint32_t b, uint32_t *low)
{
#if AIDGE_KIT_NARROW
    const uint32_t first = (a & 0xFFFu) * (b & 0xFFFu);
    const uint32_t middle = (a >> 12) * (b & 0xFFFu) + (a & 0xFFFu) * (b >> 12) + (first >> 12);
    *low = ((middle & 0xFFFu) << 12) | (first & 0xFFFu);
    return (a >> 12) * (b >> 12) + (middle >> 12);
#else
    const uint64_t product = (uint64_t)a * b;
    *low = (uint32_t)product & 0xFFFFFFu;
    return (uint32_t)(product >> 24);
#endif
}

static int32_t aidge_kit_scale(int32_t accumulator, float multiplier)
{
    const uint32_t limit = accumulator < 0 ? 0x80000000u : 0x7FFFFFFFu;
    uint32_t magnitude = accumulator < 0 ? 0u - (uint32_t)accumulator : (uint32_t)accumulator;
    uint32_t bits, low;
    int32_t exponent;
    (void)memcpy(&bits, &multiplier, sizeof bits);
    exponent = (int32_t)((bits >> 23) & 0xFFu);
    bits = (bits & 0x7FFFFFu) | (exponent != 0 ? 0x800000u : 0u);
    exponent = (exponent != 0 ? exponent : 1) - 150; /* multiplier = bits * 2^exponent */
    magnitude = aidge_kit_round_to_float(magnitude >> 24, magnitude & 0xFFFFFFu, &exponent);
    magnitude = aidge_kit_significand_product(magnitude, bits, &low);
    magnitude = aidge_kit_round_to_float(magnitude, low, &exponent); /* a subnormal is far below 1/2: its rounding is moot */
    if (exponent < 0) {
        magnitude = exponent < -25 ? 0u : aidge_kit_shift_half_even(magnitude, -exponent);
    } else if ((magnitude != 0u) && ((exponent > 31) || (magnitude > (limit >> exponent)))) {
        magnitude = limit; /* what does not fit saturates */
    } else {
        magnitude <<= exponent & 31;
    }
    return accumulator < 0 ? (int32_t)(0u - magnitude) : (int32_t)magnitude;
}
#endif
#endif

/* The three numbers that end a requantization, as kernels keep them in registers. */
typedef struct {
    int32_t lowest, highest, zero_point;
} aidge_kit_levels;

/* numbers = {lowest - zero point, highest - zero point, zero point} of the output. */
static inline aidge_kit_levels aidge_kit_load_levels(const int32_t *numbers)
{
    aidge_kit_levels levels;
    levels.lowest = numbers[0];
    levels.highest = numbers[1];
    levels.zero_point = numbers[2];
    return levels;
}

/* The stored value of a level without its zero point. */
AIDGE_KIT_INLINE int8_t aidge_kit_stored(int32_t level, aidge_kit_levels levels)
{
    level = level < levels.lowest ? levels.lowest : level;
    level = level > levels.highest ? levels.highest : level;
    return (int8_t)(level + levels.zero_point);
}

/* The stored value of an accumulator. */
AIDGE_KIT_INLINE int8_t aidge_kit_requantize(int32_t accumulator, float multiplier, aidge_kit_levels levels)
{
    return aidge_kit_stored(aidge_kit_scale(accumulator, multiplier), levels);
}
