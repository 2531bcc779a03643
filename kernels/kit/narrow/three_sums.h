/* SPDX-License-Identifier: 0BSD */
#include "fine.h"

/* The sums of three pixels from their two words. */
AIDGE_KIT_INLINE void aidge_kit_narrow_separate(uint32_t first, uint32_t second, int32_t *sums)
{
    const uint32_t a = ((first & 0x1FFFFFu) ^ 0x100000u) - 0x100000u;
    const uint32_t low = (first - a) >> 10;
    const uint32_t rest = second - low;
    const uint32_t c = ((rest & 0x3FFFFFu) ^ 0x200000u) - 0x200000u;
    const uint32_t high = (rest - c) >> 22;
    sums[0] += (int32_t)a;
    sums[1] += (int32_t)((((high ^ 0x200u) - 0x200u) << 11) + (low >> 11));
    sums[2] += (int32_t)c;
}
