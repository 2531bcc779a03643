/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "kit/inline.h"

/* Assembly needs GNU C and Thumb-2. */
#if !defined(AIDGE_ARMV7M_ASSEMBLY)
#if defined(__GNUC__) && defined(__thumb2__) && !defined(AIDGE_WITHOUT_ASSEMBLY)
#define AIDGE_ARMV7M_ASSEMBLY 1
#else
#define AIDGE_ARMV7M_ASSEMBLY 0
#endif
#endif

/* noipa: the compiler must not conclude from an empty-looking body which registers and memory the function uses. */
#if AIDGE_ARMV7M_ASSEMBLY
#if defined(__clang__)
#define AIDGE_ARMV7M_NAKED static __attribute__((naked, noinline))
#else
#define AIDGE_ARMV7M_NAKED static __attribute__((naked, noinline, noclone, noipa))
#endif
#define AIDGE_ARMV7M_PASSED __attribute__((unused))
#endif
