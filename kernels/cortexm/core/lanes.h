/* SPDX-License-Identifier: 0BSD */
#include "target.h"

/* SSAT. */
AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_int8(int32_t level)
{
#if AIDGE_CORTEXM_DSP && defined(__GNUC__) && !defined(AIDGE_WITHOUT_ASSEMBLY)
    int32_t result;
    __asm__("ssat %0, #8, %1" : "=r"(result) : "r"(level));
    return result;
#else
    return level < -128 ? -128 : level > 127 ? 127 : level;
#endif
}

/* Four int8 in a word. */

/* The larger of each two bytes: SSUB8, SEL. */
AIDGE_CORTEXM_INLINE uint32_t aidge_cortexm_larger_bytes(uint32_t a, uint32_t b)
{
#if AIDGE_CORTEXM_DSP
    (void)__ssub8((int8x4_t)a, (int8x4_t)b);
    return (uint32_t)__sel((uint8x4_t)a, (uint8x4_t)b);
#else
    uint32_t larger = 0;
    int32_t shift;
    for (shift = 0; shift < 32; shift += 8) {
        const int32_t x = (int32_t)(((a >> shift) & 0xFFu) ^ 0x80u);
        const int32_t y = (int32_t)(((b >> shift) & 0xFFu) ^ 0x80u);
        larger |= (((uint32_t)(x > y ? x : y)) ^ 0x80u) << shift;
    }
    return larger;
#endif
}

/* The smaller of each two bytes. */
AIDGE_CORTEXM_INLINE uint32_t aidge_cortexm_smaller_bytes(uint32_t a, uint32_t b)
{
    return ~aidge_cortexm_larger_bytes(~a, ~b);
}

/* Four times the same byte. */
AIDGE_CORTEXM_INLINE uint32_t aidge_cortexm_four_bytes(int32_t value)
{
    return ((uint32_t)value & 0xFFu) * 0x01010101u;
}

/* Both halves of sums plus bytes 0 and 2 of the word: SXTAB16. */
AIDGE_CORTEXM_INLINE uint32_t aidge_cortexm_add_even_bytes(uint32_t sums, uint32_t word)
{
#if AIDGE_CORTEXM_DSP
    return (uint32_t)__sxtab16((int16x2_t)sums, (int8x4_t)word);
#else
    const uint32_t bytes = aidge_cortexm_even_bytes(word);
    return aidge_cortexm_pair(aidge_cortexm_low(sums) + aidge_cortexm_low(bytes),
                              aidge_cortexm_high(sums) + aidge_cortexm_high(bytes));
#endif
}

/* Both halves of sums plus bytes 1 and 3 of the word. */
AIDGE_CORTEXM_INLINE uint32_t aidge_cortexm_add_odd_bytes(uint32_t sums, uint32_t word)
{
#if AIDGE_CORTEXM_DSP && defined(__GNUC__) && !defined(AIDGE_WITHOUT_ASSEMBLY)
    uint32_t result;
    __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(result) : "r"(sums), "r"(word));
    return result;
#else
    return aidge_cortexm_add_even_bytes(sums, (word >> 8) | (word << 24));
#endif
}
