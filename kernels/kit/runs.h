/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "copy.h"

/*
 * A target of rows of row_bytes, written from its first to its last byte; the rows' axes are dims, slowest first.
 *
 * A row has segments of {first byte from the row's place in the source, or -1; bytes}; a row's place is the sum of the offsets
 * of its indices (one list after another, as many offsets as each axis is long), or -1 where one of them is. At -1 the target
 * keeps the element of element_bytes with which the first fill_bytes (all, or none) of the target are filled before.
 */
typedef struct {
    int32_t element_bytes, fill_bytes, row_bytes, segments;
    int32_t dims[5];
} aidge_kit_runs_shape;

/* The place of the next rows without their axis, the last one, or -1; 0 behind the last. index: at first zeros. */
static inline int aidge_kit_next_rows(int32_t *index, int32_t *place, const int32_t *offsets, const aidge_kit_runs_shape *shape)
{
    int32_t axis;
    if (index[0] == shape->dims[0]) {
        return 0;
    }
    *place = 0;
    for (axis = 0; axis < 4; axis++) {
        const int32_t offset = offsets[index[axis]];
        *place = (*place < 0) || (offset < 0) ? -1 : *place + offset;
        offsets += shape->dims[axis];
    }
    index[3] += 1;
    for (axis = 3; (axis > 0) && (index[axis] == shape->dims[axis]); axis--) {
        index[axis] = 0;
        index[axis - 1] += 1;
    }
    return 1;
}
