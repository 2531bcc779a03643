/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "dynamic_quantize.h"
#include "kit/wide.h"

/*
 * The same for cores without an FPU: the range is found by the order of the patterns of float32, and the quotient of a value and
 * the step by one product with an inverse. Only quotients beside the middle of two levels are divided in float32.
 *
 * A quotient has 16 bits after the point. It is at most 1.1 units of them below the real one, from which that of float32 is at
 * most 1 away where it is below 256; what is beyond 256 has level 0 or 255 in either case.
 */
enum { AIDGE_REF_QUOTIENT_BAND = 4, AIDGE_REF_LEAST_STEP = 32, AIDGE_REF_MOST_STEP = 246, AIDGE_REF_BEYOND = 512 };

/* A number as its pattern; the copy in between tells the compiler how it is aligned. */
AIDGE_KIT_INLINE uint32_t aidge_ref_bits_of(const float *number)
{
    const float value = *number;
    uint32_t pattern;
    (void)memcpy(&pattern, &value, sizeof pattern);
    return pattern;
}

/* 2^63 / divisor, rounded down, at most 2^32 - 1; divisor >= 2^31. */
AIDGE_KIT_NOINLINE uint32_t aidge_ref_inverse_of(uint32_t divisor)
{
    uint32_t rest = 0x80000000u;
    uint32_t inverse = 0;
    int32_t bit;
    if (divisor == rest) {
        return 0xFFFFFFFFu;
    }
    AIDGE_KIT_ROLLED
    for (bit = 32; bit > 0; bit--) {
        const uint32_t carry = rest >> 31;
        rest <<= 1;
        inverse <<= 1;
        if ((carry != 0u) || (rest >= divisor)) {
            rest -= divisor;
            inverse++;
        }
    }
    return inverse;
}

/* The upper half of a product, where a core has no long product less at most 2. */
AIDGE_KIT_INLINE uint32_t aidge_ref_upper_half(uint32_t a, uint32_t b)
{
#if AIDGE_KIT_NARROW
    return (a >> 16) * (b >> 16) + (((a >> 16) * (b & 0xFFFFu)) >> 16) + (((a & 0xFFFFu) * (b >> 16)) >> 16);
#else
    return (uint32_t)(aidge_kit_product(a, b) >> 32);
#endif
}

/* rint(|value / step|) in float32. */
AIDGE_KIT_NOINLINE int32_t aidge_ref_divided_level(float value, float step)
{
    const float level = rintf(value / step);
    return (int32_t)(level < 0.0f ? -level : level);
}

/* The lowest and the highest number, 0 among them; returns 0 where one of them is infinite or no number. */
AIDGE_KIT_NOINLINE int32_t aidge_ref_range_of(const float *input, int32_t count, float *ends)
{
    uint32_t low = 0x80000000u; /* the larger a pattern with a sign, the lower its number */
    int32_t high = 0;
    for (; count > 0; count--) {
        const uint32_t pattern = aidge_ref_bits_of(input++);
        low = pattern > low ? pattern : low;
        high = (int32_t)pattern > high ? (int32_t)pattern : high;
    }
    (void)memcpy(ends, &low, sizeof low);
    (void)memcpy(ends + 1, &high, sizeof high);
    return (low < 0xFF800000u) && (high < 0x7F800000) ? 1 : 0;
}

/* As aidge_ref_dynamic_quantize. */
static void aidge_ref_dynamic_quantize_fixed(const float *input, uint8_t *output, float *scale, uint8_t *zero_point,
    const float *bounds, int32_t count)
{
    float ends[2];
    const int32_t is_finite = aidge_ref_range_of(input, count, ends);
    float zero, step;
    uint32_t pattern, inverse;
    int32_t exponent, base, i;
    step = aidge_kit_dynamic_range(ends, 2, bounds[0], bounds[1], &zero);
    pattern = aidge_ref_bits_of(&step);
    exponent = (int32_t)(pattern >> 23);
    if ((is_finite == 0) || (exponent < AIDGE_REF_LEAST_STEP) || (exponent > AIDGE_REF_MOST_STEP)) {
        aidge_ref_dynamic_quantize(input, output, scale, zero_point, bounds, count);
        return;
    }
    inverse = aidge_ref_inverse_of((pattern << 8) | 0x80000000u);
    base = (int32_t)zero;
    for (i = 0; i < count; i++) {
        int32_t shift, level;
        pattern = aidge_ref_bits_of(input + i);
        shift = exponent + 15 - (int32_t)((pattern << 1) >> 24);
        level = AIDGE_REF_BEYOND;
        if (shift > 31) {
            level = 0;
        } else if (shift >= 7) {
            uint32_t quotient = aidge_ref_upper_half((pattern << 8) | 0x80000000u, inverse) >> shift;
            quotient += 0x8000u;
            level = (int32_t)(quotient >> 16);
            if (((quotient + AIDGE_REF_QUOTIENT_BAND) & 0xFFFFu) < 2u * AIDGE_REF_QUOTIENT_BAND) {
                level = aidge_ref_divided_level(input[i], step);
            }
        } else {
            /* beyond all levels */
        }
        level = (pattern >> 31) != 0u ? base - level : base + level;
        output[i] = (uint8_t)(level < 0 ? 0 : level > 255 ? 255 : level);
    }
    *scale = step;
    *zero_point = (uint8_t)zero;
}
