/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "inline.h"

/* Batches of matrices [rows][inner] and [inner][columns] over 4 outer axes; steps in elements, 0 repeats. */
typedef struct {
    int32_t dims[4], first_steps[4], second_steps[4];
    int32_t rows, inner, columns;
} aidge_kit_matrices;

/*
 * From one batch of a product of matrices to the next, over 4 axes in row-major order: both operands move by their steps, 0 where
 * they repeat. `place` is {0, 0, 0, 0} at first. Returns 0 behind the last batch. Without a division: not every core has one.
 */
AIDGE_KIT_INLINE int32_t aidge_kit_next_batch(int32_t *place, const int32_t *dims, const int32_t *first_steps,
                                              const int32_t *second_steps, const int8_t **first, const int8_t **second)
{
    int32_t axis;
    for (axis = 3; axis >= 0; axis--) {
        *first += first_steps[axis];
        *second += second_steps[axis];
        place[axis]++;
        if (place[axis] < dims[axis]) {
            return 1;
        }
        *first -= dims[axis] * first_steps[axis];
        *second -= dims[axis] * second_steps[axis];
        place[axis] = 0;
    }
    return 0;
}
