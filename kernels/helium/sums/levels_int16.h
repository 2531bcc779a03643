/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"

#if !AIDGE_HELIUM_ASSEMBLY
/* The stored value of a sum. */
static int16_t aidge_helium_level_int16(int32_t sum, float multiplier, int32_t low, int32_t high, int32_t zero_point)
{
    int32_t level = aidge_kit_scale(sum, multiplier);
    level = level < low - zero_point ? low - zero_point : level;
    level = level > high - zero_point ? high - zero_point : level;
    return (int16_t)(level + zero_point);
}
#endif
