/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"
#include "kit/softmax_rows.h"

/* What the levels of a row are made with: where the exponential of 0 would stand, the factor of its quotients; half a level and the
 * band around a middle (kit/softmax.h), the bits of a fraction that are 0 in the band alone; the bits of a fraction, the zero point. */
typedef struct {
    const uint32_t *last;
    uint32_t factor, start, mask;
    int32_t shift, zero;
} aidge_cortexm_softmax_quads;
