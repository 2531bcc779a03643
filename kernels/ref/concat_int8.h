/* SPDX-License-Identifier: 0BSD */
#include "concat_shape.h"

/*
 * The inputs one after another along an axis, int8, each value through the table of its input.
 *
 * tables: [number of tables][256]; choice: [count], the table of each input. Inputs beyond shape->count are not read.
 */
static void aidge_ref_concat_int8(const int8_t *a, const int8_t *b, const int8_t *c, const int8_t *d, const int8_t *e,
                                  const int8_t *f, const int8_t *g, const int8_t *h, int8_t *output, const int8_t *tables,
                                  const int32_t *choice, const aidge_ref_concat_shape *shape)
{
    const int8_t *inputs[8];
    int32_t block, i, k;
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
            const int8_t *source = inputs[i] + block * shape->bytes[i];
            const int8_t *table = tables + 256 * choice[i] + 128;
            for (k = shape->bytes[i]; k > 0; k--) {
                *output++ = table[*source++];
            }
        }
    }
}
