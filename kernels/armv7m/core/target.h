/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "kit/inline.h"
#include "kit/naked.h"

/* Assembly needs GNU C and Thumb-2. */
#if !defined(AIDGE_ARMV7M_ASSEMBLY)
#if defined(__GNUC__) && defined(__thumb2__) && !defined(AIDGE_WITHOUT_ASSEMBLY)
#define AIDGE_ARMV7M_ASSEMBLY 1
#else
#define AIDGE_ARMV7M_ASSEMBLY 0
#endif
#endif
