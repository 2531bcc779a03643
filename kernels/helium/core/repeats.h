/* SPDX-License-Identifier: 0BSD */
#include "copies.h"

/*
 * How a tensor repeats in a larger one: along the outer axes, slowest first, with these steps; then `count` times the same
 * `length` elements, or, where it spreads, `count` elements of it, each `length` times.
 */
typedef struct {
    int32_t dims[3], steps[3];
    int32_t count, length, spreads;
} aidge_helium_repeats_shape;

#define AIDGE_HELIUM_REPEATED 256 /* bytes in scratch */

/* Returns the begin of the part for the next outer index; -1 after the last one. index: at first zeros. */
static inline int32_t aidge_helium_next_part(int32_t *index, const aidge_helium_repeats_shape *shape)
{
    int32_t axis, place = 0;
    for (axis = 2; axis >= 0; axis--) {
        index[axis] += 1;
        if (index[axis] < shape->dims[axis]) {
            break;
        }
        index[axis] = 0;
    }
    if (axis < 0) {
        return -1;
    }
    for (axis = 0; axis < 3; axis++) {
        place += index[axis] * shape->steps[axis];
    }
    return place;
}

/* Writes what `pieces` of the part are in the larger tensor. */
static void aidge_helium_repeat(int8_t *to, const int8_t *part, int32_t pieces, const aidge_helium_repeats_shape *shape)
{
    for (; pieces > 0; pieces--) {
        if (shape->spreads != 0) {
            aidge_helium_fill(to, *part, shape->length);
            part++;
        } else {
            aidge_helium_copy(to, part, shape->length);
        }
        to += shape->length;
    }
}
