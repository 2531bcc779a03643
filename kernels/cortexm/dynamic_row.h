/* SPDX-License-Identifier: 0BSD */
#include "dynamic.h"

/* A multiple of 4 bytes, as taps of one pixel whose words are neighbours. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_dynamic_neighbours(uint32_t *column, const uint8_t *input, int32_t count, uint32_t zeros,
                                                           uint32_t signs)
{
    const uint8_t *const end = input + count;
    for (; input != end; input += 4) {
        const uint32_t word = aidge_cortexm_load(input) ^ signs;
        *column++ = aidge_cortexm_centred(word, zeros);
        *column++ = aidge_cortexm_centred(word >> 8, zeros);
    }
}
