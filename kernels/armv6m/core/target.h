/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "kit/inline.h"
#include "kit/naked.h"

/* The assembly is made of instructions that every Cortex-M has. */
#if !defined(AIDGE_ARMV6M_ASSEMBLY)
#if defined(__GNUC__) && defined(__thumb__) && !defined(AIDGE_WITHOUT_ASSEMBLY)
#define AIDGE_ARMV6M_ASSEMBLY 1
#else
#define AIDGE_ARMV6M_ASSEMBLY 0
#endif
#endif
