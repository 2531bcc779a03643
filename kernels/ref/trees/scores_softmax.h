/* SPDX-License-Identifier: 0BSD */
#include "trees/score_largest.h"

static void aidge_ref_scores_softmax(float *scores, int32_t count)
{
    const float largest = aidge_ref_score_largest(scores, count);
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
