/* SPDX-License-Identifier: 0BSD */
#include "copies.h"
#include "kit/runs.h"

AIDGE_KIT_INLINE void aidge_helium_copy_bytes(uint8_t *to, const uint8_t *from, int32_t bytes)
{
#if AIDGE_HELIUM_ASSEMBLY
    if (__builtin_constant_p(bytes) && (bytes <= 8)) {
        memcpy(to, from, (uint32_t)bytes);
        return;
    }
#endif
    aidge_helium_copy((int8_t *)to, (const int8_t *)from, bytes);
}

/* bytes / element_bytes times the element at value. */
static inline void aidge_helium_fill_bytes(uint8_t *to, const uint8_t *value, int32_t bytes, int32_t element_bytes)
{
    if (element_bytes == 1) {
        aidge_helium_fill((int8_t *)to, *value, bytes);
    } else {
        aidge_kit_fill_bytes(to, value, bytes, element_bytes);
    }
}
