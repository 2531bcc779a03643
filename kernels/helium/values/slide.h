/* SPDX-License-Identifier: 0BSD */
#include "core/copies.h"

/* Rows of `bytes` move on by `step` bytes: the new bytes come last. The data may be where the output is. */
typedef struct {
    int32_t rows, bytes, step;
} aidge_helium_slide_shape;

static void aidge_helium_slide(const void *data, const void *frames, void *output, const aidge_helium_slide_shape *shape)
{
    const int8_t *next = (const int8_t *)frames;
    int8_t *end = (int8_t *)output + shape->bytes - shape->step;
    int32_t row;
    aidge_helium_copy((int8_t *)output, (const int8_t *)data + shape->step, shape->rows * shape->bytes - shape->step);
    for (row = 0; row < shape->rows; row++) { /* what comes from the row after it */
        aidge_helium_copy(end, next, shape->step);
        next += shape->step;
        end += shape->bytes;
    }
}
