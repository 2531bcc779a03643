/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "dot_float32.h"

/* tanh(gamma * x * vector + coef0); p: {gamma, coef0, degree}. */
static float aidge_ref_svm_sigmoid_float32(const float *x, const float *vector, int32_t features, const float *p)
{
    return tanhf(p[0] * aidge_ref_dot_float32(x, vector, features) + p[1]);
}
