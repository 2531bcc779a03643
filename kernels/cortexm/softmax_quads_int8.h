/* SPDX-License-Identifier: 0BSD */
#include <string.h>

#include "target.h"
#include "kit/softmax.h"

/* What the levels of a row are made with: where the exponential of 0 would stand, the factor of its quotients; half a level and the
 * band around a middle (kit/softmax.h), the bits of a fraction that are 0 in the band alone; the bits of a fraction, the zero point. */
typedef struct {
    const uint32_t *last;
    uint32_t factor, start, mask;
    int32_t shift, zero;
} aidge_cortexm_softmax_quads;

#if !AIDGE_CORTEXM_ASSEMBLY
AIDGE_CORTEXM_C int32_t aidge_cortexm_softmax_sum_c(const int8_t *x, const uint32_t *exponentials, uint64_t *sum, int32_t length)
{
    int32_t largest = -128;
    int32_t i;
    for (i = 0; i < length; i++) {
        largest = x[i] > largest ? x[i] : largest;
    }
    *sum = 0;
    for (i = 0; i < length; i++) {
        *sum += exponentials[255 - largest + x[i]];
    }
    return largest;
}

AIDGE_CORTEXM_C int32_t aidge_cortexm_softmax_levels_c(const int8_t *x, int8_t *y, int32_t count, const aidge_cortexm_softmax_quads *row)
{
    for (; count >= 4; count -= 4) {
        uint32_t levels[4];
        int32_t i;
        for (i = 0; i < 4; i++) {
            levels[i] = (uint32_t)(aidge_kit_product(row->last[x[i]], row->factor) >> 32) + row->start;
            if ((levels[i] & row->mask) == 0u) {
                return count;
            }
        }
        for (i = 0; i < 4; i++) {
            const int32_t stored = (int32_t)(levels[i] >> row->shift) + row->zero;
            *y++ = (int8_t)(stored > 127 ? 127 : stored);
        }
        x += 4;
    }
    return count;
}
#endif
