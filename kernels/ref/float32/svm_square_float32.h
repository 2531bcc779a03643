/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "dot_float32.h"

/* (gamma * x * vector + coef0)^2; p: {gamma, coef0, degree}. */
static float aidge_ref_svm_square_float32(const float *x, const float *vector, int32_t features, const float *p)
{
    const float inner = p[0] * aidge_ref_dot_float32(x, vector, features) + p[1];
    return inner * inner;
}
