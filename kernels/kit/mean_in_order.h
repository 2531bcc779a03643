/* SPDX-License-Identifier: 0BSD */
#include "mean.h"
#include "mean_columns.h"
#include "mean_lanes.h"
#include "mean_turn.h"

#define AIDGE_KIT_TURN 0
#define AIDGE_KIT_COLUMNS 1
#define AIDGE_KIT_LANES 2

AIDGE_KIT_INLINE int32_t aidge_kit_level_in_order(const int8_t *first, const aidge_kit_values *values, int32_t count,
                                                  const int32_t *numbers, int32_t order)
{
    if (order == AIDGE_KIT_LANES) {
        return aidge_kit_mean_lanes(first, values, count, numbers);
    }
    return order == AIDGE_KIT_COLUMNS ? aidge_kit_mean_columns(first, values, count, numbers)
                                      : aidge_kit_mean_turn(first, values, count, numbers);
}

AIDGE_KIT_NOINLINE int32_t aidge_kit_mean_in_order(const int8_t *first, const aidge_kit_values *values, int32_t count,
                                                   const int32_t *numbers, int32_t order)
{
    return aidge_kit_level_in_order(first, values, count, numbers, order);
}

/* The stored mean of values over the count; sum: of the values minus zero points. */
AIDGE_KIT_INLINE int8_t aidge_kit_stored_mean(int32_t sum, const int8_t *first, const aidge_kit_values *values, int32_t count,
                                              const int32_t *numbers, int32_t order)
{
    const int64_t product = aidge_kit_product_s32(sum * AIDGE_KIT_MEAN_FACTOR, numbers[0]);
    const uint32_t fraction = (uint32_t)product;
    if (!aidge_kit_is_decided(fraction, numbers)) {
        return aidge_kit_stored_level(aidge_kit_mean_in_order(first, values, count, numbers, order), numbers);
    }
    return aidge_kit_stored_level((int32_t)((uint64_t)product >> 32) + (int32_t)(fraction >> 31), numbers);
}
