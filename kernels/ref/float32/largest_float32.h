/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "shared/float_model.h"

/* The place of the largest score, the first of equal ones. */
static int32_t aidge_ref_largest_float32(const float *scores, int32_t count)
{
    int32_t best = 0;
    int32_t i;
    for (i = 1; i < count; i++) {
        best = scores[i] > scores[best] ? i : best;
    }
    return best;
}
