/* SPDX-License-Identifier: 0BSD */
#include "mean.h"
#include "pool_part.h"

/* The stored mean of values with this sum, which decides it; numbers as in mean.h. */
AIDGE_KIT_INLINE int8_t aidge_kit_mean_of_sum(int32_t sum, const int32_t *numbers, const aidge_kit_part *part)
{
    const int32_t centred = sum - part->all * AIDGE_KIT_MEAN_INPUT_ZERO(numbers);
    const int64_t product = aidge_kit_multiply_s64(centred * AIDGE_KIT_MEAN_FACTOR, numbers[0]);
    return aidge_kit_stored_level((int32_t)((uint64_t)product >> 32) + (int32_t)((uint32_t)product >> 31), numbers);
}
