/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>

/* A copy of the bytes, and `count` times the element at value. */
static void aidge_ref_copy_and_fill(const void *input, void *copy, void *filled, const void *value, int32_t bytes, int32_t count,
                                    int32_t element_bytes)
{
    uint8_t *to = (uint8_t *)filled;
    int32_t i;
    (void)memcpy(copy, input, (uint32_t)bytes);
    for (i = 0; i < count; i++) {
        (void)memcpy(to, value, (uint32_t)element_bytes);
        to += element_bytes;
    }
}
