/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "index.h"

/* Data [outer][size][inner_bytes]; `count` indices of index_bytes. */
typedef struct {
    int32_t outer, size, inner_bytes, count, index_bytes;
} aidge_ref_gather_shape;

/* output = the blocks of inner_bytes that the indices name, in each outer block; any type. */
static void aidge_ref_gather(const void *data, const void *indices, void *output, const aidge_ref_gather_shape *shape)
{
    const uint8_t *from = (const uint8_t *)data;
    uint8_t *to = (uint8_t *)output;
    int32_t block, i;
    for (block = 0; block < shape->outer; block++) {
        for (i = 0; i < shape->count; i++) {
            const int32_t index = aidge_ref_index(indices, shape->index_bytes, i, shape->size);
            (void)memcpy(to, from + index * shape->inner_bytes, (uint32_t)shape->inner_bytes);
            to += shape->inner_bytes;
        }
        from += shape->size * shape->inner_bytes;
    }
}
