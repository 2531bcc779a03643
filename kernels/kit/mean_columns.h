/* SPDX-License-Identifier: 0BSD */
#include "mean.h"

/* The level of values added up by columns, each by itself, then the columns. */
AIDGE_KIT_NOINLINE int32_t aidge_kit_mean_columns(const int8_t *first, const aidge_kit_values *values, int32_t count,
                                   const int32_t *numbers)
{
    aidge_kit_sum sum = 0;
    int32_t column;
    for (column = 0; column < values->columns; column++) {
        const int8_t *top = first + column * values->column_step;
        const aidge_kit_sum own = aidge_kit_add_each(0, top, values->row_step, values->rows, numbers);
        sum = column == 0 ? own : aidge_kit_add(sum, own);
    }
    return aidge_kit_level_of_sum(sum, count, numbers);
}
