/* SPDX-License-Identifier: 0BSD */
#include "mean.h"

/* The level of values added up row by row, each to the sum. */
AIDGE_KIT_NOINLINE int32_t aidge_kit_mean_turn(const int8_t *first, const aidge_kit_values *values, int32_t count,
                                   const int32_t *numbers)
{
    aidge_kit_sum sum = 0;
    int32_t row;
    for (row = 0; row < values->rows; row++) {
        sum = aidge_kit_add_each(sum, first + row * values->row_step, values->column_step, values->columns, numbers);
    }
    return aidge_kit_level_of_sum(sum, count, numbers);
}
