/* SPDX-License-Identifier: 0BSD */
#include "index.h"

/*
 * Data as batches of `batch` elements; `count` tuples of `depth` indices in each batch name slices of `slice` elements.
 * Index k of a tuple is below sizes[k] and moves steps[k] elements.
 */
typedef struct {
    int32_t batches, batch, count, depth, slice, index_bytes, element_bytes;
    int32_t sizes[6], steps[6];
} aidge_ref_tuples_shape;

/* The first element, in its batch, of the slice that tuple number `tuple` names. */
static inline int32_t aidge_ref_slice_at(const void *indices, int32_t tuple, const aidge_ref_tuples_shape *shape)
{
    int32_t found = 0;
    int32_t k;
    for (k = 0; k < shape->depth; k++) {
        found += aidge_ref_index(indices, shape->index_bytes, tuple * shape->depth + k, shape->sizes[k]) * shape->steps[k];
    }
    return found;
}
