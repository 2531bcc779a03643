/* SPDX-License-Identifier: 0BSD */
#include "exact.h"

/*
 * a * b + c: rounded once on cores of Arm and RISC-V with an instruction for it, else twice. A compiler that may choose between
 * both (-ffp-contract) has no choice here: the numpy backend computes the same bits.
 */
AIDGE_KIT_INLINE float aidge_kit_multiply_add(float a, float b, float c)
{
#if defined(__GNUC__) && ((defined(__arm__) && defined(__ARM_FEATURE_FMA)) || defined(__riscv_flen))
    return __builtin_fmaf(a, b, c);
#else
    return aidge_kit_exact(a * b) + c;
#endif
}
