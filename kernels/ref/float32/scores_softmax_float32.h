/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "largest_float32.h"

/* e^(score - largest) / the sum of these. */
static void aidge_ref_scores_softmax_float32(float *scores, int32_t count)
{
    const float largest = scores[aidge_ref_largest_float32(scores, count)];
    float sum = 0.0f;
    int32_t i;
    for (i = 0; i < count; i++) {
        scores[i] = expf(scores[i] - largest);
        sum += scores[i];
    }
    for (i = 0; i < count; i++) {
        scores[i] /= sum;
    }
}
