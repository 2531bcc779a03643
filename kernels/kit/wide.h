/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "inline.h"

/*
 * Products, shifts and quotients that no core asks its compiler's library for (__aeabi_lmul, __aeabi_llsl, __aeabi_uidiv,
 * __aeabi_uldivmod and their like): a program that is linked with -nostdlib has none.
 */
#if defined(__thumb__) && !defined(__thumb2__)
#define AIDGE_KIT_NARROW 1 /* ARMv6-M and ARMv8-M Baseline: no long product, no long shift, no CLZ */
#else
#define AIDGE_KIT_NARROW 0
#endif
#if defined(__arm__) && !defined(__ARM_FEATURE_IDIV)
#define AIDGE_KIT_NO_DIVISION 1
#else
#define AIDGE_KIT_NO_DIVISION 0
#endif

/* dividend / divisor, divisor > 0; faster for quotients of few bits. */
#if AIDGE_KIT_NO_DIVISION
static uint32_t aidge_kit_divide_u32(uint32_t dividend, uint32_t divisor)
{
    uint32_t quotient = 0;
    uint32_t bit = 1;
    while (divisor <= (dividend >> 1)) {
        divisor <<= 1;
        bit <<= 1;
    }
    for (; bit != 0u; bit >>= 1) {
        if (dividend >= divisor) {
            dividend -= divisor;
            quotient |= bit;
        }
        divisor >>= 1;
    }
    return quotient;
}
#else
AIDGE_KIT_INLINE uint32_t aidge_kit_divide_u32(uint32_t dividend, uint32_t divisor)
{
    return dividend / divisor;
}
#endif

/* dividend / divisor of counts: dividend >= 0, divisor > 0. */
AIDGE_KIT_INLINE int32_t aidge_kit_divide(int32_t dividend, int32_t divisor)
{
#if AIDGE_KIT_NO_DIVISION
    return divisor == 1 ? dividend : (int32_t)aidge_kit_divide_u32((uint32_t)dividend, (uint32_t)divisor);
#else
    return dividend / divisor;
#endif
}

/* dividend % divisor of counts. */
AIDGE_KIT_INLINE int32_t aidge_kit_modulo(int32_t dividend, int32_t divisor)
{
#if AIDGE_KIT_NO_DIVISION
    return dividend - aidge_kit_divide(dividend, divisor) * divisor;
#else
    return dividend % divisor;
#endif
}

/* value << shift, 0 <= shift <= 63. */
AIDGE_KIT_INLINE uint64_t aidge_kit_shift_left(uint64_t value, int32_t shift)
{
#if AIDGE_KIT_NARROW
    uint32_t high = (uint32_t)(value >> 32);
    uint32_t low = (uint32_t)value;
    if (shift >= 32) {
        high = low << (shift - 32);
        low = 0;
    } else if (shift > 0) {
        high = (high << shift) | (low >> (32 - shift));
        low <<= shift;
    } else {
        /* as it is */
    }
    return ((uint64_t)high << 32) | low;
#else
    return value << shift;
#endif
}

/* value >> shift, 0 <= shift <= 63. */
AIDGE_KIT_INLINE uint64_t aidge_kit_shift_right(uint64_t value, int32_t shift)
{
#if AIDGE_KIT_NARROW
    uint32_t high = (uint32_t)(value >> 32);
    uint32_t low = (uint32_t)value;
    if (shift >= 32) {
        low = high >> (shift - 32);
        high = 0;
    } else if (shift > 0) {
        low = (low >> shift) | (high << (32 - shift));
        high >>= shift;
    } else {
        /* as it is */
    }
    return ((uint64_t)high << 32) | low;
#else
    return value >> shift;
#endif
}

/* The same of a signed number: rounds down. */
AIDGE_KIT_INLINE int64_t aidge_kit_shift_right_s64(int64_t value, int32_t shift)
{
#if AIDGE_KIT_NARROW
    return value < 0 ? (int64_t)~aidge_kit_shift_right(~(uint64_t)value, shift)
                     : (int64_t)aidge_kit_shift_right((uint64_t)value, shift);
#else
    return value >> shift;
#endif
}

/* a * b, whole. */
AIDGE_KIT_INLINE uint64_t aidge_kit_product(uint32_t a, uint32_t b)
{
#if AIDGE_KIT_NARROW
    const uint32_t a_high = a >> 16;
    const uint32_t b_high = b >> 16;
    const uint32_t low = (a & 0xFFFFu) * (b & 0xFFFFu);
    const uint32_t middle = a_high * (b & 0xFFFFu) + (low >> 16);
    const uint32_t other = (a & 0xFFFFu) * b_high + (middle & 0xFFFFu);
    return ((uint64_t)(a_high * b_high + (middle >> 16) + (other >> 16)) << 32) | ((other << 16) | (low & 0xFFFFu));
#else
    return (uint64_t)a * b;
#endif
}

/* The same of numbers with signs. */
AIDGE_KIT_INLINE int64_t aidge_kit_product_s32(int32_t a, int32_t b)
{
#if AIDGE_KIT_NARROW
    const int32_t a_low = (int32_t)((uint32_t)a & 0xFFFFu);
    const int32_t b_low = (int32_t)((uint32_t)b & 0xFFFFu);
    const uint32_t low = (uint32_t)a_low * (uint32_t)b_low;
    const int32_t middle = (a >> 16) * b_low + (int32_t)(low >> 16);
    const int32_t other = a_low * (b >> 16) + (int32_t)((uint32_t)middle & 0xFFFFu);
    const int32_t high = (a >> 16) * (b >> 16) + (middle >> 16) + (other >> 16);
    return (int64_t)(((uint64_t)(uint32_t)high << 32) | (((uint32_t)other << 16) | (low & 0xFFFFu)));
#else
    return (int64_t)a * b;
#endif
}

/* a * b modulo 2^64. */
AIDGE_KIT_INLINE uint64_t aidge_kit_multiply(uint64_t a, uint64_t b)
{
#if AIDGE_KIT_NARROW
    const uint32_t crossed = (uint32_t)(a >> 32) * (uint32_t)b + (uint32_t)a * (uint32_t)(b >> 32);
    return aidge_kit_product((uint32_t)a, (uint32_t)b) + ((uint64_t)crossed << 32);
#else
    return a * b;
#endif
}

/* The same of signed numbers whose product fits. */
AIDGE_KIT_INLINE int64_t aidge_kit_multiply_s64(int64_t a, int64_t b)
{
#if AIDGE_KIT_NARROW
    return (int64_t)aidge_kit_multiply((uint64_t)a, (uint64_t)b);
#else
    return a * b;
#endif
}

/* The number of bits up to the highest that is set. */
AIDGE_KIT_INLINE int32_t aidge_kit_bits(uint32_t value)
{
#if defined(__GNUC__) && !AIDGE_KIT_NARROW
    return value != 0u ? 32 - __builtin_clz(value) : 0;
#else
    int32_t bits = 0;
    if ((value >> 16) != 0u) {
        value >>= 16;
        bits = 16;
    }
    if ((value >> 8) != 0u) {
        value >>= 8;
        bits += 8;
    }
    if ((value >> 4) != 0u) {
        value >>= 4;
        bits += 4;
    }
    if ((value >> 2) != 0u) {
        value >>= 2;
        bits += 2;
    }
    value -= value & (value >> 1); /* 3 has two, as 2 */
    return bits + (int32_t)value;
#endif
}

/* The same of 64 bits. */
AIDGE_KIT_INLINE int32_t aidge_kit_bits_u64(uint64_t value)
{
    const uint32_t high = (uint32_t)(value >> 32);
    return high != 0u ? 32 + aidge_kit_bits(high) : aidge_kit_bits((uint32_t)value);
}
