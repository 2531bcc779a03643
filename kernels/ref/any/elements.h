/* SPDX-License-Identifier: 0BSD */
#include "index.h"
#include "kit/wide.h"

/* Indices of dims (slowest first) into data with these steps; along `axis`, which has `size` elements, the index counts. */
typedef struct {
    int32_t count, index_bytes, element_bytes, axis, size;
    int32_t dims[6], steps[6];
} aidge_ref_elements_shape;

/* The place in the data of the element that entry `place` of the indices means. */
static inline int32_t aidge_ref_element_at(const void *indices, int32_t place, const aidge_ref_elements_shape *shape)
{
    int32_t rest = place;
    int32_t found = 0;
    int32_t axis;
    for (axis = 5; axis >= 0; axis--) {
        const int32_t index = aidge_kit_modulo(rest, shape->dims[axis]);
        rest = aidge_kit_divide(rest, shape->dims[axis]);
        found += (axis == shape->axis ? aidge_ref_index(indices, shape->index_bytes, place,
                shape->size) : index) * shape->steps[axis];
    }
    return found;
}
