/* SPDX-License-Identifier: 0BSD */
#include "trees/forest.h"

/* The inverse of the normal distribution, by Winitzki's approximation of the inverse error function. */
static void aidge_ref_scores_probit(float *scores, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        const float x = 2.0f * scores[i] - 1.0f;
        const float logarithm = logf((1.0f - x) * (1.0f + x));
        const float middle = 2.0f / (3.14159f * 0.147f) + 0.5f * logarithm;
        const float root = sqrtf(-middle + sqrtf(middle * middle - 1.0f / 0.147f * logarithm));
        scores[i] = 1.41421356f * (x < 0.0f ? -root : root);
    }
}
