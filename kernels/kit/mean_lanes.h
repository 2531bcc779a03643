/* SPDX-License-Identifier: 0BSD */
#include "mean.h"

/* The level of values column_step apart, every fourth added up by itself, (0 + 2) + (1 + 3), then those left over. */
static int32_t aidge_kit_mean_lanes(const int8_t *first, const aidge_kit_values *values, int32_t count,
                                   const int32_t *numbers)
{
    const int32_t step = values->column_step;
    const int32_t all = values->rows * values->columns;
    const int32_t quarter = all / 4;
    aidge_kit_sum lanes[4];
    aidge_kit_sum sum;
    int32_t lane;
    for (lane = 0; lane < 4; lane++) {
        lanes[lane] = aidge_kit_add_values(0, first + lane * step, 4 * step, quarter, numbers);
    }
    sum = aidge_kit_add(aidge_kit_add(lanes[0], lanes[2]), aidge_kit_add(lanes[1], lanes[3]));
    sum = aidge_kit_add_values(sum, first + 4 * quarter * step, step, all - 4 * quarter, numbers);
    return aidge_kit_level_of_sum(sum, count, numbers);
}
