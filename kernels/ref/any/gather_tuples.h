/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "tuples.h"

/* output = the slices that the tuples of indices name, batch by batch; any type. */
static void aidge_ref_gather_tuples(const void *data, const void *indices, void *output, const aidge_ref_tuples_shape *shape)
{
    const uint8_t *from = (const uint8_t *)data;
    uint8_t *to = (uint8_t *)output;
    const uint32_t bytes = (uint32_t)(shape->slice * shape->element_bytes);
    int32_t batch, i;
    for (batch = 0; batch < shape->batches; batch++) {
        for (i = 0; i < shape->count; i++) {
            (void)memcpy(to, from + aidge_ref_slice_at(indices, batch * shape->count + i, shape) * shape->element_bytes, bytes);
            to += bytes;
        }
        from += shape->batch * shape->element_bytes;
    }
}
