/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "inline.h"

/*
 * The one place that rounds accumulators: rint_half_even(float32(float32(accumulator) * multiplier)), saturated to int32.
 *
 * accumulator: any int32; multiplier: any finite float >= 0, subnormal ones included.
 * With a single-precision Arm FPU it is three instructions that no compiler option can change; elsewhere the same two
 * roundings to 24 bits are done in integers. Both give the same result for every accumulator and multiplier.
 */
#if defined(__GNUC__) && defined(__arm__) && defined(__ARM_FP) && (__ARM_FP & 4)
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
/* value / 2^shift, rounded half to even; 0 <= shift <= 63. */
static inline uint64_t aidge_kit_shift_half_even(uint64_t value, int32_t shift)
{
    uint64_t quotient = value >> shift;
    uint64_t rest = value - (quotient << shift);
    uint64_t half = ((uint64_t)1 << shift) >> 1;
    return quotient + (uint64_t)((rest > half) || ((rest == half) && (shift > 0) && ((quotient & 1u) != 0u)));
}

/* How many bits of value lie above the lowest 24, the precision of a float. */
static inline int32_t aidge_kit_excess_bits(uint64_t value)
{
#if defined(__GNUC__)
    return value < ((uint64_t)1 << 24) ? 0 : 40 - __builtin_clzll(value);
#else
    int32_t bits = 0;
    while ((value >> bits) >= ((uint64_t)1 << 24)) {
        bits++;
    }
    return bits;
#endif
}

static int32_t aidge_kit_scale(int32_t accumulator, float multiplier)
{
    uint64_t magnitude = accumulator < 0 ? (uint64_t)0 - (uint64_t)(int64_t)accumulator : (uint64_t)accumulator;
    uint64_t limit = accumulator < 0 ? (uint64_t)1 << 31 : ((uint64_t)1 << 31) - 1u;
    uint32_t bits;
    int32_t exponent;
    int32_t excess;
    memcpy(&bits, &multiplier, sizeof bits);
    exponent = (int32_t)((bits >> 23) & 0xFFu);
    bits = (bits & 0x7FFFFFu) | (exponent != 0 ? 0x800000u : 0u);
    exponent = (exponent != 0 ? exponent : 1) - 150; /* multiplier = bits * 2^exponent */
    excess = aidge_kit_excess_bits(magnitude);
    magnitude = aidge_kit_shift_half_even(magnitude, excess) * bits;
    exponent += excess;
    excess = aidge_kit_excess_bits(magnitude);
    magnitude = aidge_kit_shift_half_even(magnitude, excess); /* a subnormal product is far below 1/2: its rounding is moot */
    exponent += excess;
    if (exponent >= 0) { /* an exponent above 31 saturates whatever is not 0 */
        magnitude = (exponent > 31) && (magnitude != 0u) ? limit : magnitude << (exponent & 31);
    } else {
        magnitude = exponent < -25 ? 0u : aidge_kit_shift_half_even(magnitude, -exponent);
    }
    magnitude = magnitude < limit ? magnitude : limit;
    return (int32_t)(accumulator < 0 ? -(int64_t)magnitude : (int64_t)magnitude);
}
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

/* The stored value of an accumulator. */
AIDGE_KIT_INLINE int8_t aidge_kit_requantize(int32_t accumulator, float multiplier, aidge_kit_levels levels)
{
    int32_t level = aidge_kit_scale(accumulator, multiplier);
    level = level < levels.lowest ? levels.lowest : level;
    level = level > levels.highest ? levels.highest : level;
    return (int8_t)(level + levels.zero_point);
}
