/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "shared/float_model.h"

/* How scores are transformed (post_transform of ai.onnx.ml), for functions that are generated. */

static inline float aidge_ref_score_largest(const float *scores, int32_t count)
{
    float largest = scores[0];
    int32_t i;
    for (i = 1; i < count; i++) {
        largest = scores[i] > largest ? scores[i] : largest;
    }
    return largest;
}

/* 1 / (1 + e^-x), computed from |x| so that nothing overflows. */
static inline float aidge_ref_score_logistic(float score)
{
    const float upper = 1.0f / (1.0f + expf(-fabsf(score)));
    return score < 0.0f ? 1.0f - upper : upper;
}

static inline void aidge_ref_scores_logistic(float *scores, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        scores[i] = aidge_ref_score_logistic(scores[i]);
    }
}

static inline void aidge_ref_scores_softmax(float *scores, int32_t count)
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

/* Softmax in which a score of zero stays zero. */
static inline void aidge_ref_scores_softmax_zero(float *scores, int32_t count)
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

/* The inverse of the normal distribution, by Winitzki's approximation of the inverse error function. */
static inline void aidge_ref_scores_probit(float *scores, int32_t count)
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
