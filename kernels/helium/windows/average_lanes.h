/* SPDX-License-Identifier: 0BSD */
#include "kit/average.h"
#include "pixel_sums.h"

/* Stored means of 4 sums. */
static inline int32x4_t aidge_helium_averages(int32x4_t sums, const int32_t *numbers)
{
    const int32x4_t sign = vshrq_n_s32(sums, 31);
    const uint32x4_t magnitude = vaddq_n_u32(vreinterpretq_u32_s32(vabsq_s32(sums)), (uint32_t)numbers[AIDGE_KIT_AVERAGE_HALF]);
    const int32x4_t quotient = vreinterpretq_s32_u32(vmulhq_u32(magnitude, vdupq_n_u32((uint32_t)numbers[0])));
    int32x4_t levels = vsubq_s32(veorq_s32(quotient, sign), sign);
    levels = vmaxq_s32(levels, vdupq_n_s32(numbers[AIDGE_KIT_AVERAGE_LOWEST]));
    return vminq_s32(levels, vdupq_n_s32(numbers[AIDGE_KIT_AVERAGE_HIGHEST]));
}
