/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/*
 * Two tensors that broadcast to one: runs of `length` elements, then up to 4 outer axes, the last one fastest.
 * Steps are in elements; a step of 0 repeats the element.
 */
typedef struct {
    int32_t runs, length;
    int32_t first_step, second_step;
    int32_t dims[4], first_steps[4], second_steps[4];
} aidge_kit_broadcast_shape;

/* The begin of the current run in both tensors; all zero at the start. */
typedef struct {
    int32_t index[4];
    int32_t first, second;
} aidge_kit_broadcast_place;

/* To the next run. */
static inline void aidge_kit_broadcast_next(const aidge_kit_broadcast_shape *shape, aidge_kit_broadcast_place *place)
{
    int32_t axis;
    for (axis = 3; axis >= 0; axis--) {
        place->first += shape->first_steps[axis];
        place->second += shape->second_steps[axis];
        place->index[axis] += 1;
        if (place->index[axis] < shape->dims[axis]) {
            return;
        }
        place->first -= shape->first_steps[axis] * shape->dims[axis];
        place->second -= shape->second_steps[axis] * shape->dims[axis];
        place->index[axis] = 0;
    }
}
