/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "kit/requantize.h"

/*
 * Assembly is used where a GNU compiler compiles for MVE with floats; elsewhere, and with AIDGE_HELIUM_PLAIN_C, plain C
 * computes the same from the same streams of weights.
 */
#if defined(__GNUC__) && defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2) && !defined(AIDGE_HELIUM_PLAIN_C)
#define AIDGE_HELIUM_ASSEMBLY 1
#else
#define AIDGE_HELIUM_ASSEMBLY 0
#endif

/* noipa: the compiler must not conclude from text that it cannot read which registers stay. */
#if AIDGE_HELIUM_ASSEMBLY
#if defined(__clang__)
#define AIDGE_HELIUM_NAKED static __attribute__((naked, noinline))
#else
#define AIDGE_HELIUM_NAKED static __attribute__((naked, noipa))
#endif
#define AIDGE_HELIUM_UNUSED __attribute__((unused))
#endif

/* Little-endian numbers in a stream, which is aligned to four bytes only. */
AIDGE_KIT_INLINE int32_t aidge_helium_word(const int8_t *stream)
{
    int32_t word;
    memcpy(&word, stream, sizeof word);
    return word;
}

AIDGE_KIT_INLINE float aidge_helium_float(const int8_t *stream)
{
    float number;
    memcpy(&number, stream, sizeof number);
    return number;
}
