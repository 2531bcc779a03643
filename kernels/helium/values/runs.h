/* SPDX-License-Identifier: 0BSD */
#include "core/copies.h"
#include "core/mve.h"
#include "kit/runs.h"

AIDGE_KIT_INLINE void aidge_helium_copy_bytes(uint8_t *to, const uint8_t *from, int32_t bytes)
{
    if (__builtin_constant_p(bytes) && (bytes <= 8)) {
        (void)memcpy(to, from, (uint32_t)bytes);
        return;
    }
    aidge_helium_copy((int8_t *)to, (const int8_t *)from, bytes);
}

/* The same element of four bytes, at addresses that are multiples of four; of two bytes, at multiples of two. */
static inline void aidge_helium_fill_words(uint8_t *to, const uint8_t *value, int32_t count)
{
    uint32_t word;
    (void)memcpy(&word, value, sizeof word);
    for (; count > 0; count -= 4) {
        vstrwq_p_u32((uint32_t *)(void *)to, vdupq_n_u32(word), vctp32q((uint32_t)count));
        to += 16;
    }
}

static inline void aidge_helium_fill_halfwords(uint8_t *to, const uint8_t *value, int32_t count)
{
    uint16_t halfword;
    (void)memcpy(&halfword, value, sizeof halfword);
    for (; count > 0; count -= 8) {
        vstrhq_p_u16((uint16_t *)(void *)to, vdupq_n_u16(halfword), vctp16q((uint32_t)count));
        to += 16;
    }
}

/* bytes / element_bytes times the element at value. */
static inline void aidge_helium_fill_bytes(uint8_t *to, const uint8_t *value, int32_t bytes, int32_t element_bytes)
{
    if (element_bytes == 1) {
        aidge_helium_fill((int8_t *)to, *value, bytes);
    } else if (element_bytes == 4) {
        aidge_helium_fill_words(to, value, bytes / 4);
    } else if (element_bytes == 2) {
        aidge_helium_fill_halfwords(to, value, bytes / 2);
    } else {
        aidge_kit_fill_bytes(to, value, bytes, element_bytes);
    }
}
