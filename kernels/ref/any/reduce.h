/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "kit/wide.h"

/* A tensor as `outputs` groups of `count` elements: up to 4 kept and 4 reduced axes, slowest first; steps in elements. */
typedef struct {
    int32_t outputs, count;
    int32_t kept[4], kept_steps[4], reduced[4], reduced_steps[4];
} aidge_ref_reduce_shape;

/* The place of element `index` of these axes; with one axis longer than 1, no division is needed. */
static inline int32_t aidge_ref_axes_at(const int32_t *dims, const int32_t *steps, int32_t index)
{
    int32_t place = 0;
    int32_t axis;
    for (axis = 3; (axis > 0) && (dims[axis - 1] != 1); axis--) {
        place += aidge_kit_modulo(index, dims[axis]) * steps[axis];
        index = aidge_kit_divide(index, dims[axis]);
    }
    return place + index * steps[axis];
}

static inline int32_t aidge_ref_kept_at(const aidge_ref_reduce_shape *shape, int32_t index)
{
    return aidge_ref_axes_at(shape->kept, shape->kept_steps, index);
}

static inline int32_t aidge_ref_reduced_at(const aidge_ref_reduce_shape *shape, int32_t index)
{
    return aidge_ref_axes_at(shape->reduced, shape->reduced_steps, index);
}
