/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "inline.h"

/* Images of rows x columns x run, `step` elements apart in the source. */
typedef struct {
    int32_t images, step, rows, columns, run;
} aidge_kit_lanes_shape;

/* A row of outputs: shares and pointers of the two input rows that it reads, and the end of the list of columns. */
typedef struct {
    const int8_t *upper, *lower;
    uint32_t above, below;
    const int32_t *end;
    int32_t run;
} aidge_kit_lanes_row;

/* The row numbered so. rows, columns: for each of them {offset, share, offset, share}, offsets in elements. */
AIDGE_KIT_INLINE aidge_kit_lanes_row aidge_kit_lanes_row_of(const int8_t *input, const int32_t *rows, int32_t row,
                                                            const int32_t *columns, const aidge_kit_lanes_shape *shape)
{
    aidge_kit_lanes_row found;
    found.upper = input + rows[4 * row];
    found.lower = input + rows[4 * row + 2];
    found.above = (uint32_t)rows[4 * row + 1];
    found.below = (uint32_t)rows[4 * row + 3];
    found.end = columns + 4 * shape->columns;
    found.run = shape->run;
    return found;
}

/* Pointers to the elements that an output position sees, and their shares. */
AIDGE_KIT_INLINE void aidge_kit_lanes_position(const int8_t **from, uint32_t *shares, const aidge_kit_lanes_row *row,
                                               const int32_t *column)
{
    from[0] = row->upper + column[0];
    from[1] = row->upper + column[2];
    from[2] = row->lower + column[0];
    from[3] = row->lower + column[2];
    shares[0] = row->above * (uint32_t)column[1];
    shares[1] = row->above * (uint32_t)column[3];
    shares[2] = row->below * (uint32_t)column[1];
    shares[3] = row->below * (uint32_t)column[3];
}
