/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "kit/inline.h"

/* No text of this library has a version in C. */
#if !defined(__GNUC__) || !defined(__ARM_FEATURE_MVE) || !(__ARM_FEATURE_MVE & 2) || defined(AIDGE_WITHOUT_ASSEMBLY)
#error "kernels of helium are assembly for MVE with floats: compile this file with a GNU compiler for the core, or build for another one"
#endif

/* noipa: the compiler must not conclude from text that it cannot read which registers stay. */
#if defined(__clang__)
#define AIDGE_HELIUM_NAKED static __attribute__((naked, noinline))
#else
#define AIDGE_HELIUM_NAKED static __attribute__((naked, noipa))
#endif
#define AIDGE_HELIUM_UNUSED __attribute__((unused))
