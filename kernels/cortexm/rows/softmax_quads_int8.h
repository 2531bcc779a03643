/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"
#include "kit/softmax_rows.h"

/* The constants for the levels of a row: the place that the exponential of 0 would have, the factor of its quotients; half a
 * level plus the band around a middle (kit/softmax.h), the bits of a fraction that are 0 only in the band; the bits of a
 * fraction, the zero point. */
typedef struct {
    const uint32_t *last;
    uint32_t factor, start, mask;
    int32_t shift, zero;
} aidge_cortexm_softmax_quads;
