/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "broadcast.h"

#define AIDGE_KIT_BROADCAST_ROOM 256 /* bytes of scratch for each operand that is written there */

/* A run of an operand, int8: `count` values one behind the other, or with step 0 one of them, `count` times. */
static inline void aidge_kit_broadcast_write(const int8_t *from, int32_t step, int8_t *to, int32_t count)
{
    int32_t left = count;
#if defined(__ARM_FEATURE_UNALIGNED)
    const uint32_t word = (uint8_t)*from * 0x01010101u;
    while (left >= 4) {
        (void)memcpy(to, step == 0 ? (const void *)&word : (const void *)from, 4);
        from += 4 * step;
        to += 4;
        left -= 4;
    }
#endif
    while (left > 0) {
        *to++ = *from;
        from += step;
        left--;
    }
}
