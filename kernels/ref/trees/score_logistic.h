/* SPDX-License-Identifier: 0BSD */
#include "trees/forest.h"

/* 1 / (1 + e^-x), computed from |x| so that nothing overflows. */
static float aidge_ref_score_logistic(float score)
{
    const float upper = 1.0f / (1.0f + expf(-fabsf(score)));
    return score < 0.0f ? 1.0f - upper : upper;
}
