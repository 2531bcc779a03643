/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "concat_shape.h"

/* The inputs one after another along an axis, any type. Inputs beyond shape->count are not read. */
static void aidge_ref_concat(const void *a, const void *b, const void *c, const void *d, const void *e, const void *f,
                             const void *g, const void *h, void *output, const aidge_ref_concat_shape *shape)
{
    const void *inputs[8];
    uint8_t *target = (uint8_t *)output;
    int32_t block, i;
    inputs[0] = a;
    inputs[1] = b;
    inputs[2] = c;
    inputs[3] = d;
    inputs[4] = e;
    inputs[5] = f;
    inputs[6] = g;
    inputs[7] = h;
    for (block = 0; block < shape->outer; block++) {
        for (i = 0; i < shape->count; i++) {
            memcpy(target, (const uint8_t *)inputs[i] + block * shape->bytes[i], (uint32_t)shape->bytes[i]);
            target += shape->bytes[i];
        }
    }
}
