/* SPDX-License-Identifier: 0BSD */
#include "mean.h"

/* The sum of two lanes that lie 2 * step apart, each of every fourth value. */
AIDGE_KIT_INLINE aidge_kit_sum aidge_kit_two_lanes(const int8_t *first, int32_t step, int32_t quarter, const int32_t *numbers)
{
    const aidge_kit_sum lane = aidge_kit_add_values(0, first, 4 * step, quarter, numbers);
    return aidge_kit_add(lane, aidge_kit_add_values(0, first + 2 * step, 4 * step, quarter, numbers));
}

/* The level of values column_step apart: every fourth added up by itself, (0 + 2) + (1 + 3), then the values left over. */
AIDGE_KIT_NOINLINE int32_t aidge_kit_mean_lanes(const int8_t *first, const aidge_kit_values *values, int32_t count,
                                   const int32_t *numbers)
{
    const int32_t step = values->column_step;
    const int32_t all = values->rows * values->columns;
    const int32_t quarter = all / 4;
    aidge_kit_sum sum = aidge_kit_two_lanes(first, step, quarter, numbers);
    sum = aidge_kit_add(sum, aidge_kit_two_lanes(first + step, step, quarter, numbers));
    sum = aidge_kit_add_values(sum, first + 4 * quarter * step, step, all - 4 * quarter, numbers);
    return aidge_kit_level_of_sum(sum, count, numbers);
}
