/* SPDX-License-Identifier: 0BSD */
#include "pool_part.h"
#include "wide.h"

/* The mean of values that a file stores as bytes 128 above these, halves upwards; levels: {lowest, highest of the output}. */
AIDGE_KIT_INLINE int8_t aidge_kit_average_halves_up(int32_t sum, const int32_t *levels, const aidge_kit_part *part)
{
    const int32_t level = aidge_kit_divide(sum + 128 * part->all + (part->all >> 1), part->all) - 128;
    return (int8_t)(level < levels[0] ? levels[0] : level > levels[1] ? levels[1] : level);
}
