/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "inline.h"

#define AIDGE_KIT_SHORT_COPY 32 /* bytes that cost less here than a call */

/* A copy of bytes that do not overlap: a short one in words where these may lie at any address. */
AIDGE_KIT_INLINE void aidge_kit_copy(uint8_t *to, const uint8_t *from, int32_t bytes)
{
#if defined(__GNUC__)
    if (__builtin_constant_p(bytes) && (bytes <= AIDGE_KIT_SHORT_COPY)) {
        (void)memcpy(to, from, (uint32_t)bytes); /* a few instructions */
        return;
    }
#endif
#if defined(__ARM_FEATURE_UNALIGNED)
    if ((bytes >= 4) && (bytes <= AIDGE_KIT_SHORT_COPY)) {
        uint8_t *const last = to + bytes - 4;
        for (; to < last; to += 4) {
            (void)memcpy(to, from, 4);
            from += 4;
        }
        (void)memcpy(last, from - (to - last), 4); /* may overlap the word before */
        return;
    }
#endif
    if (bytes < 4) {
        for (; bytes > 0; bytes--) {
            *to++ = *from++;
        }
        return;
    }
    (void)memcpy(to, from, (uint32_t)bytes);
}

/* bytes / element_bytes times the element at value. */
static inline void aidge_kit_fill_bytes(uint8_t *to, const uint8_t *value, int32_t bytes, int32_t element_bytes)
{
    uint8_t *const end = to + bytes;
    if ((element_bytes == 1) && ((bytes < 4) || (bytes > AIDGE_KIT_SHORT_COPY))) {
        (void)memset(to, *value, (uint32_t)bytes);
    } else if (element_bytes == 1) {
        const uint32_t word = *value * 0x01010101u;
        for (; to < end - 4; to += 4) {
            (void)memcpy(to, &word, 4);
        }
        (void)memcpy(end - 4, &word, 4); /* may overlap the word before */
    } else {
        for (; to < end; to += element_bytes) {
            (void)memcpy(to, value, (uint32_t)element_bytes);
        }
    }
}
