/* SPDX-License-Identifier: 0BSD */
#include "trees/score_logistic.h"

static void aidge_ref_scores_logistic(float *scores, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        scores[i] = aidge_ref_score_logistic(scores[i]);
    }
}
