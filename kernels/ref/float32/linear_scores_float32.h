/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "dot_float32.h"
#include "trees/scores.h"

/* scores[count] = weights[count][features] * input + intercepts, float32. */
static inline void aidge_ref_linear_scores_float32(const float *input, float *scores, const float *weights,
                                                   const float *intercepts, int32_t features, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        scores[i] = intercepts[i] + aidge_ref_dot_float32(input, weights, features);
        weights += features;
    }
}

/* The place of the largest score, the first of equal ones. */
static inline int32_t aidge_ref_largest_float32(const float *scores, int32_t count)
{
    int32_t best = 0;
    int32_t i;
    for (i = 1; i < count; i++) {
        best = scores[i] > scores[best] ? i : best;
    }
    return best;
}
