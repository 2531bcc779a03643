/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>

/* Rows of `bytes` move on by `step` bytes: the new bytes come last. The data may be where the output is. */
typedef struct {
    int32_t rows, bytes, step;
} aidge_ref_slide_shape;

static void aidge_ref_slide(const void *data, const void *frames, void *output, const aidge_ref_slide_shape *shape)
{
    const uint8_t *from = (const uint8_t *)data;
    const uint8_t *next = (const uint8_t *)frames;
    uint8_t *to = (uint8_t *)output;
    const int32_t kept = shape->bytes - shape->step;
    int32_t row;
    for (row = 0; row < shape->rows; row++) {
        (void)memmove(to, from + shape->step, (uint32_t)kept);
        (void)memcpy(to + kept, next, (uint32_t)shape->step);
        from += shape->bytes;
        to += shape->bytes;
        next += shape->step;
    }
}
