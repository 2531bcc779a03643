/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "kit/naked.h"

/* Assembly needs GNU C, Thumb-2 and the DSP instructions; everything else gets the C versions. */
#if !defined(AIDGE_CORTEXM_ASSEMBLY)
#if defined(AIDGE_KIT_NAKED) && defined(AIDGE_KIT_PASSED) && defined(__thumb2__) && defined(__ARM_FEATURE_DSP)
#define AIDGE_CORTEXM_ASSEMBLY 1
#else
#define AIDGE_CORTEXM_ASSEMBLY 0
#endif
#endif

/* Whether it may use a single-precision FPU, too; where it may not, assembly for one becomes its C version. */
#if AIDGE_CORTEXM_ASSEMBLY && defined(__ARM_FP)
#if (__ARM_FP & 4) != 0
#define AIDGE_CORTEXM_FPU 1
#endif
#endif
#if !defined(AIDGE_CORTEXM_FPU)
#define AIDGE_CORTEXM_FPU 0
#endif

#if defined(__GNUC__)
#define AIDGE_CORTEXM_UNUSED __attribute__((unused))
#define AIDGE_CORTEXM_INLINE static inline __attribute__((always_inline)) AIDGE_CORTEXM_UNUSED
#define AIDGE_CORTEXM_NOINLINE static __attribute__((noinline, unused))
#else
#define AIDGE_CORTEXM_UNUSED
#define AIDGE_CORTEXM_INLINE static inline
#define AIDGE_CORTEXM_NOINLINE static
#endif

/* Parts of functions that without an FPU call what needs much of the stack. */
#if AIDGE_CORTEXM_FPU
#define AIDGE_CORTEXM_APART AIDGE_CORTEXM_INLINE
#else
#define AIDGE_CORTEXM_APART AIDGE_CORTEXM_NOINLINE
#endif

#if defined(__ARM_FEATURE_DSP)
#include <arm_acle.h>
#define AIDGE_CORTEXM_DSP 1
#else
#define AIDGE_CORTEXM_DSP 0
#endif

/* A word at any address. */
AIDGE_CORTEXM_INLINE uint32_t aidge_cortexm_load(const void *source)
{
    uint32_t word;
    (void)memcpy(&word, source, sizeof word);
    return word;
}

/* A word to any address. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_store(void *target, uint32_t word)
{
    (void)memcpy(target, &word, sizeof word);
}

/* Two int16 as one word. */
AIDGE_CORTEXM_INLINE uint32_t aidge_cortexm_pair(int32_t low, int32_t high)
{
    return ((uint32_t)low & 0xFFFFu) | ((uint32_t)high << 16);
}

AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_low(uint32_t pair)
{
    return (int32_t)((pair & 0xFFFFu) ^ 0x8000u) - 0x8000;
}

AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_high(uint32_t pair)
{
    return aidge_cortexm_low(pair >> 16);
}

/* Bytes 0 and 2 of a word as two int16: SXTB16. */
AIDGE_CORTEXM_INLINE uint32_t aidge_cortexm_even_bytes(uint32_t word)
{
#if AIDGE_CORTEXM_DSP
    return (uint32_t)__sxtb16((int8x4_t)word);
#else
    return aidge_cortexm_pair((int32_t)((word & 0xFFu) ^ 0x80u) - 0x80, (int32_t)(((word >> 16) & 0xFFu) ^ 0x80u) - 0x80);
#endif
}

/* Bytes 1 and 3 of a word as two int16. */
AIDGE_CORTEXM_INLINE uint32_t aidge_cortexm_odd_bytes(uint32_t word)
{
    return aidge_cortexm_even_bytes((word >> 8) | (word << 24));
}

/* sum + x.low * y.low + x.high * y.high, modulo 2^32: SMLAD. */
AIDGE_CORTEXM_INLINE uint32_t aidge_cortexm_dot(uint32_t x, uint32_t y, uint32_t sum)
{
#if AIDGE_CORTEXM_DSP
    return (uint32_t)__smlad((int16x2_t)x, (int16x2_t)y, (int32_t)sum);
#else
    return sum + (uint32_t)(aidge_cortexm_low(x) * aidge_cortexm_low(y))
           + (uint32_t)(aidge_cortexm_high(x) * aidge_cortexm_high(y));
#endif
}

/* The float as it is in memory: what is computed with it is not fused with what gave it. */
AIDGE_CORTEXM_INLINE float aidge_cortexm_kept(float value)
{
    volatile float kept = value;
    return kept;
}
