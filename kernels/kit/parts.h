/* SPDX-License-Identifier: 0BSD */
#include "copy.h"

/* to[i] = table[from[i]] for i < bytes. */
static inline void aidge_kit_table_bytes(uint8_t *to, const uint8_t *from, const uint8_t *table, int32_t bytes)
{
    for (; bytes >= 4; bytes -= 4) {
        to[0] = table[from[0]];
        to[1] = table[from[1]];
        to[2] = table[from[2]];
        to[3] = table[from[3]];
        to += 4;
        from += 4;
    }
    for (; bytes > 0; bytes--) {
        *to++ = table[*from++];
    }
}
