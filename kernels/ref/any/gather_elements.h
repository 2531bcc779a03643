/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "elements.h"

/* output[i, j, ...] = the element of the data at the same place, but at the index along the axis; any type. */
static void aidge_ref_gather_elements(const void *data, const void *indices, void *output, const aidge_ref_elements_shape *shape)
{
    const uint32_t size = (uint32_t)shape->element_bytes;
    const uint8_t *from = (const uint8_t *)data;
    uint8_t *to = (uint8_t *)output;
    int32_t place;
    for (place = 0; place < shape->count; place++) {
        (void)memcpy(to, from + (uint32_t)aidge_ref_element_at(indices, place, shape) * size, size);
        to += size;
    }
}
