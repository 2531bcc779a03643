/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "shared/float_model.h"

/* e^(-gamma * |x - vector|^2); p: {gamma, coef0, degree}. */
static float aidge_ref_svm_rbf_float32(const float *x, const float *vector, int32_t features, const float *p)
{
    float sum = 0.0f;
    int32_t i;
    for (i = 0; i < features; i++) {
        const float difference = x[i] - vector[i];
        sum += difference * difference;
    }
    return expf(-p[0] * sum);
}
