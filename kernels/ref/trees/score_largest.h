/* SPDX-License-Identifier: 0BSD */
#include "trees/forest.h"

static float aidge_ref_score_largest(const float *scores, int32_t count)
{
    float largest = scores[0];
    int32_t i;
    for (i = 1; i < count; i++) {
        largest = scores[i] > largest ? scores[i] : largest;
    }
    return largest;
}
