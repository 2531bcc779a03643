/* SPDX-License-Identifier: 0BSD */
#include "kit/mean.h"
#include "pixel_sums.h"

/* SSAT. */
AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_int8(int32_t level)
{
#if AIDGE_CORTEXM_DSP && defined(__GNUC__)
    int32_t result;
    __asm__("ssat %0, #8, %1" : "=r"(result) : "r"(level));
    return result;
#else
    return level < -128 ? -128 : level > 127 ? 127 : level;
#endif
}
