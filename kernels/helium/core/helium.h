/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "kit/fixed.h"
#include "kit/requantize.h"
#include "kit/wide.h"

/*
 * Assembly is used where a GNU compiler compiles for MVE with floats; elsewhere, and with AIDGE_HELIUM_PLAIN_C, plain C
 * computes the same from the same streams of weights.
 */
#if defined(__GNUC__) && defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2) && !defined(AIDGE_HELIUM_PLAIN_C) \
    && !defined(AIDGE_WITHOUT_ASSEMBLY)
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
    (void)memcpy(&word, stream, sizeof word);
    return word;
}

AIDGE_KIT_INLINE float aidge_helium_float(const int8_t *stream)
{
    float number;
    (void)memcpy(&number, stream, sizeof number);
    return number;
}

/*
 * The level of a sum with the bits of a float: times the multiplier plus a constant, rounded once and half to even, that is an
 * integer whose low 16 bits are the level (rounding.py). Signs cancel out; constant: its low 16 bits.
 */
AIDGE_KIT_INLINE int8_t aidge_helium_fused(uint32_t sum, int32_t multiplier, int32_t constant, int32_t lowest, int32_t highest)
{
    const int32_t bits = 150 - ((multiplier >> 23) & 0xFF);
    const uint64_t product =
        aidge_kit_product((sum & 0x7FFFFFu) + 0x800000u, ((uint32_t)multiplier & 0x7FFFFFu) + 0x800000u);
    const uint64_t half = aidge_kit_shift_left(1, bits - 1);
    const uint64_t rest = product & (half + half - 1u);
    uint32_t whole = (uint32_t)aidge_kit_shift_right(product, bits) + (uint32_t)constant;
    int32_t level;
    whole += (uint32_t)((rest > half) || ((rest == half) && ((whole & 1u) != 0u)));
    level = (int32_t)(whole & 0xFFFFu);
    level = level >= 0x8000 ? level - 0x10000 : level;
    level = level < lowest ? lowest : level;
    return (int8_t)(level > highest ? highest : level);
}

/* The stored value of a sum by a fixed-point factor; fixed: 1 rounds twice, 2 once. */
AIDGE_KIT_INLINE int8_t aidge_helium_fixed(int32_t sum, int32_t multiplier, int32_t shift, int32_t fixed, aidge_kit_levels levels)
{
    int32_t factor[2];
    factor[0] = multiplier;
    factor[1] = fixed == 2 ? AIDGE_KIT_ONCE + 31 - shift : shift;
    return (int8_t)(aidge_kit_level_fixed(sum, factor, levels.lowest, levels.highest) + levels.zero_point);
}
