/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "kit/wide.h"

/* As many times the element at value as the shape says, at most `count`; zeros behind. */
static void aidge_ref_fill(const int64_t *shape, void *output, const void *value, int32_t rank, int32_t count,
                           int32_t element_bytes)
{
    uint8_t *to = (uint8_t *)output;
    int64_t wanted = 1;
    int32_t i;
    for (i = 0; i < rank; i++) {
        const int64_t size = shape[i] < 0 ? 0 : shape[i] > count ? (int64_t)count + 1 : shape[i];
        wanted = aidge_kit_multiply_s64(wanted, size);
        wanted = wanted > count ? (int64_t)count + 1 : wanted;
    }
    for (i = 0; i < count; i++) {
        if (i < wanted) {
            (void)memcpy(to, value, (uint32_t)element_bytes);
        } else {
            (void)memset(to, 0, (uint32_t)element_bytes);
        }
        to += element_bytes;
    }
}
