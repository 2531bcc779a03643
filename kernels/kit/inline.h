/* SPDX-License-Identifier: 0BSD */

/*
 * Inner loops must be inlined whatever the compiler's estimate, so that their operands live in registers; what is called
 * once per pixel must not be, so that it has the registers for itself.
 * unused: a core may have instructions that make a helper needless.
 */
#if defined(__GNUC__)
#define AIDGE_KIT_INLINE static inline __attribute__((always_inline, unused))
#define AIDGE_KIT_NOINLINE static __attribute__((noinline, unused))
#else
#define AIDGE_KIT_INLINE static inline
#define AIDGE_KIT_NOINLINE static
#endif

/* A condition that seldom holds: its code is placed behind the loop. */
#if defined(__GNUC__)
#define AIDGE_KIT_SELDOM(condition) (__builtin_expect((condition) ? 1 : 0, 0) != 0)
#else
#define AIDGE_KIT_SELDOM(condition) (condition)
#endif

/* Goes before a loop with a small constant number of turns: unrolled, at -O3, each turn would keep values on the stack. */
#if defined(__GNUC__) && !defined(__clang__)
#define AIDGE_KIT_ROLLED _Pragma("GCC unroll 1")
#else
#define AIDGE_KIT_ROLLED
#endif

/*
 * For gcc with MVE, which would make vectors of separate values and keep them on the stack. ONE_BY_ONE, in a loop: no later
 * value is computed ahead. STORED_FIRST, between stores: stores before it are not joined with stores after it.
 */
#if defined(__GNUC__) && defined(__ARM_FEATURE_MVE)
#define AIDGE_KIT_ONE_BY_ONE(value) __asm__("" : "+r"(value))
#define AIDGE_KIT_STORED_FIRST __asm__ volatile("" ::: "memory")
#else
#define AIDGE_KIT_ONE_BY_ONE(value) ((void)0)
#define AIDGE_KIT_STORED_FIRST ((void)0)
#endif
