/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "kit/inline.h"
#include "kit/naked.h"

/* The assembly is made of instructions that every core with RV32IM has; for cores with RV32E it is printed with 16 registers. */
#if !defined(AIDGE_RV32_ASSEMBLY)
#if defined(__GNUC__) && (defined(__riscv_mul) || defined(__riscv_zmmul)) && !defined(AIDGE_WITHOUT_ASSEMBLY)
#define AIDGE_RV32_ASSEMBLY 1
#else
#define AIDGE_RV32_ASSEMBLY 0
#endif
#endif
