/* SPDX-License-Identifier: 0BSD */
#include "trees/score_largest.h"

/* Softmax in which a score of zero stays zero. */
static void aidge_ref_scores_softmax_zero(float *scores, int32_t count)
{
    const float largest = aidge_ref_score_largest(scores, count);
    const float of_zero = expf(-largest);
    float sum = 0.0f;
    int32_t i;
    for (i = 0; i < count; i++) {
        if (fabsf(scores[i]) <= 1e-7f) {
            scores[i] *= of_zero;
        } else {
            scores[i] = expf(scores[i] - largest);
            sum += scores[i];
        }
    }
    for (i = 0; i < count; i++) {
        scores[i] /= sum;
    }
}
