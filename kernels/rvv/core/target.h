/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "kit/inline.h"
#include "kit/naked.h"

/* No text of this library has a version in C. Vectors have at least 128 bits; the texts ask for their length. */
#if !defined(__GNUC__) || !defined(__riscv_zve32x) || __riscv_v_min_vlen < 128 || defined(AIDGE_WITHOUT_ASSEMBLY)
#error "kernels of rvv are assembly for Zve32x and Zvl128b: compile with a GNU compiler for the core, or build for another one"
#endif
#define AIDGE_RVV_ASSEMBLY 1
