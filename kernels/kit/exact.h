/* SPDX-License-Identifier: 0BSD */
#include "inline.h"

/* The registers in which floats lie: an empty statement for the assembler, which may change one there, costs no instruction. */
#if !defined(__GNUC__) || defined(AIDGE_WITHOUT_ASSEMBLY)
#elif defined(__arm__) && defined(__ARM_FP)
#define AIDGE_KIT_FLOATS "t"
#elif defined(__arm__) || (defined(__riscv) && !defined(__riscv_flen))
#define AIDGE_KIT_FLOATS "r"
#elif defined(__riscv)
#define AIDGE_KIT_FLOATS "f"
#elif defined(__aarch64__)
#define AIDGE_KIT_FLOATS "w"
#elif defined(__SSE__)
#define AIDGE_KIT_FLOATS "x"
#endif

/*
 * The float as it was computed, about which the compiler knows nothing: whatever flags allow it (-fassociative-math), it must
 * not join what is computed with it and what gave it, as in x + c - c.
 */
AIDGE_KIT_INLINE float aidge_kit_exact(float computed)
{
#if defined(AIDGE_KIT_FLOATS)
    __asm__("" : "+" AIDGE_KIT_FLOATS(computed));
    return computed;
#else
    volatile float kept = computed;
    return kept;
#endif
}

/* value / divisor, rounded once: whatever flags allow it (-freciprocal-math), it is no product with 1 / divisor. */
AIDGE_KIT_INLINE float aidge_kit_exact_quotient(float value, float divisor)
{
#if defined(AIDGE_KIT_FLOATS)
    __asm__("" : "+" AIDGE_KIT_FLOATS(value), "+" AIDGE_KIT_FLOATS(divisor)); /* a divisor of this value alone */
    return value / divisor;
#else
    volatile float kept = divisor;
    return value / kept;
#endif
}
