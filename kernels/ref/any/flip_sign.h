/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/* The highest bit of each byte changes: 128 taken off or added. output may be input. */
static void aidge_ref_flip_sign(const void *input, void *output, int32_t count)
{
    const uint8_t *from = (const uint8_t *)input;
    uint8_t *to = (uint8_t *)output;
    int32_t i;
    for (i = 0; i < count; i++) {
        to[i] = (uint8_t)(from[i] ^ 0x80u);
    }
}
