/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>

/* The assembly is made of instructions that every Cortex-M has. */
#if !defined(AIDGE_ARMV6M_ASSEMBLY)
#if defined(__GNUC__) && defined(__thumb__) && !defined(AIDGE_WITHOUT_ASSEMBLY)
#define AIDGE_ARMV6M_ASSEMBLY 1
#else
#define AIDGE_ARMV6M_ASSEMBLY 0
#endif
#endif

/* noipa: the compiler must not conclude from an empty-looking body which registers and memory the function uses. */
#if AIDGE_ARMV6M_ASSEMBLY
#if defined(__clang__)
#define AIDGE_ARMV6M_NAKED static __attribute__((naked, noinline))
#else
#define AIDGE_ARMV6M_NAKED static __attribute__((naked, noinline, noclone, noipa))
#endif
#define AIDGE_ARMV6M_PASSED __attribute__((unused))
#endif

/* What is called by name, so that its frame is not its caller's. */
#if defined(__GNUC__)
#define AIDGE_ARMV6M_NOINLINE static __attribute__((noinline, unused))
#else
#define AIDGE_ARMV6M_NOINLINE static
#endif
