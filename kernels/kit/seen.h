/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "inline.h"

/* How many of `rows` a position sees, an integer of 4 or 8 bytes: the rows up to it, or all if it is the number of no row. */
AIDGE_KIT_INLINE int32_t aidge_kit_seen(const void *position, int32_t bytes, int32_t rows)
{
    int64_t place;
    if (bytes == 8) {
        (void)memcpy(&place, position, 8);
    } else {
        int32_t word;
        (void)memcpy(&word, position, 4);
        place = word;
    }
    return (place >= 0) && (place < rows) ? (int32_t)place + 1 : rows;
}

/* So many results that nothing is added to. */
AIDGE_KIT_INLINE void aidge_kit_clear(float *output, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        output[i] = 0.0f;
    }
}
