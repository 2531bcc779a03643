/* SPDX-License-Identifier: 0BSD */
#include "kit/mean.h"
#include "pixel_sums.h"

static inline int32_t aidge_helium_int8(int32_t level)
{
    int32_t result;
    __asm__("ssat %0, #8, %1" : "=r"(result) : "r"(level));
    return result;
}

/* Rounded levels; a level that its sum does not decide becomes 0 in `decided`. */
static inline int32x4_t aidge_helium_levels_of_4(int32x4_t sums, const int32_t *numbers, uint32_t *decided)
{
    const uint32_t first = (uint32_t)numbers[1];
    const uint32x4_t fraction = vreinterpretq_u32_s32(vmulq_n_s32(sums, numbers[0]));
    *decided = (uint32_t)vcmphiq_n_u32(vsubq_n_u32(fraction, first), 0u - 2u * first);
    return vaddq_s32(vmulhq_s32(sums, vdupq_n_s32(numbers[0])), vreinterpretq_s32_u32(vshrq_n_u32(fraction, 31)));
}

/*
 * Means of sums minus zero points, channels 0, 2, 4, 6 and 1, 3, 5, 7, as levels with the zero point; a channel i that its sum
 * does not decide becomes bit 2 * i of `undecided`.
 */
static inline int16x8_t aidge_helium_levels_of_8(int32x4_t even, int32x4_t odd, const int32_t *numbers, uint32_t *undecided)
{
    uint32_t first, second;
    const int32x4_t low = aidge_helium_levels_of_4(even, numbers, &first);
    const int32x4_t high = aidge_helium_levels_of_4(odd, numbers, &second);
    const int16x8_t levels = vqmovntq_s32(vqmovnbq_s32(vuninitializedq_s16(), low), high);
    *undecided = (~first & 0x1111u) | (~second & 0x4444u);
    return vqaddq_n_s16(levels, (int16_t)AIDGE_KIT_MEAN_ZERO(numbers));
}

/* Levels as stored values in the lower bytes. */
static inline int16x8_t aidge_helium_stored(int16x8_t levels, const int32_t *numbers)
{
    (void)numbers;
    return vreinterpretq_s16_s8(vqmovnbq_s16(vuninitializedq_s8(), levels));
}

static inline int16x8_t aidge_helium_stored_clamped(int16x8_t levels, const int32_t *numbers)
{
    levels = vmaxq_s16(levels, vdupq_n_s16((int16_t)AIDGE_KIT_MEAN_LOWEST(numbers)));
    return vminq_s16(levels, vdupq_n_s16((int16_t)AIDGE_KIT_MEAN_HIGHEST(numbers)));
}
