/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "dot_float32.h"

/* x * vector; p: {gamma, coef0, degree}. */
static float aidge_ref_svm_linear_float32(const float *x, const float *vector, int32_t features, const float *p)
{
    (void)p;
    return aidge_ref_dot_float32(x, vector, features);
}
