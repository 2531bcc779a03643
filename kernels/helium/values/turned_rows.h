/* SPDX-License-Identifier: 0BSD */
#include "core/wide_rows.h"

/* The rows that a row of the output sees, in a ring. Sizes in bytes; `left`: of pad before the copied part. */
typedef struct {
    int32_t rows, stride, pad;
    int32_t row_bytes, in_height, in_row_bytes;
    int32_t left, copied;
} aidge_helium_ring_shape;

/* places[n] and places[n + rows] are the same row of scratch; the window begins at places[first]. `number`: of the output's row. */
typedef struct {
    int8_t *places[8];
    int32_t first, number, zero_point;
} aidge_helium_ring_state;

/*
 * For the next row of the output: the rows of the input that the one before has not seen go to scratch. Rows outside of the input
 * hold the zero point. Returns a pointer to each row of the window, from the first to the last.
 */
static int8_t *const *aidge_helium_turn(const int8_t *x, int8_t *scratch, aidge_helium_ring_state *state,
                                        const aidge_helium_ring_shape *shape)
{
    int32_t missing = shape->stride;
    int32_t first = state->first + missing;
    int32_t row = state->number * missing - shape->pad + shape->rows - missing;
    first = first < shape->rows ? first : first - shape->rows;
    if (state->number == 0) {
        first = 0;
        row = -shape->pad;
        for (missing = shape->rows - 1; missing >= 0; missing--) {
            state->places[missing] = scratch;
            state->places[missing + shape->rows] = scratch;
            scratch += shape->row_bytes;
        }
        missing = shape->rows;
    }
    state->first = first;
    state->number++;
    do {
        int8_t *const target = state->places[first + shape->rows - missing] + shape->left;
        if ((row >= 0) && (row < shape->in_height)) {
            aidge_helium_wide_copy(target, x + row * shape->in_row_bytes, shape->copied);
        } else {
            aidge_helium_fill(target, state->zero_point, shape->copied);
        }
        row++;
        missing--;
    } while (missing > 0);
    return state->places + first;
}
